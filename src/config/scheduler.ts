import { z } from 'zod';
import { databaseSetting } from './database-schema.ts';
import { duration } from './duration.ts';
import { secretReference } from './secret-reference.ts';

/** Where the ledger of ticks is kept: in a file for one machine, in PostgreSQL for several. */
const ledger = z
  .strictObject({ file: z.string().min(1).optional(), database: databaseSetting.optional() })
  .refine(
    ({ file, database }) => file === undefined || database === undefined,
    'has both a file and a database: keep one',
  );

const at = z.enum(['info', 'warning', 'error']).default('warning');
const webhook = { url: secretReference, signingSecret: secretReference.optional(), at };

/** Somebody to tell: a webhook, generic or as Slack understands it, or people by e-mail. */
const recipient = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('webhook'), ...webhook }),
  z.strictObject({ kind: z.literal('slack'), ...webhook }),
  z.strictObject({
    kind: z.literal('email'),
    /** Holds the `smtps://` or `smtp://` URL of the server, its credentials in it. */
    server: secretReference,
    from: z.string().min(3),
    to: z.array(z.string().min(3)).min(1),
    /** Sends in clear text where the server offers nothing else. */
    allowPlain: z.boolean().default(false),
    at,
  }),
]);

/** Somebody to tell, by the kind of way. */
export type RecipientSettings = z.output<typeof recipient>;

/** The `scheduler` section: how `jobs start` works. */
export const schedulerSchema = z
  .strictObject({
    ledger: ledger.optional(),
    /** The port of the health and metrics pages, on the loopback address. */
    healthPort: z.number().int().min(0).max(65_535).default(9464),
    /** The address they are on; anything but loopback is for a container whose network is its own. */
    healthAddress: z.string().min(1).default('127.0.0.1'),
    /** For how long a claim holds without being renewed. */
    lease: duration.default(60),
    /** How long runs in progress may take to end when the scheduler stops. */
    grace: duration.default(60),
    /** Who is told what happened, by a name. `at` is how grave it must be. */
    notify: z.record(z.string().min(1), recipient).default({}),
    /** For how many days the history is kept. */
    keepDays: z.number().int().positive().default(400),
  })
  .prefault({});

/** The `scheduler` section, defaults filled in. */
export type SchedulerSettings = z.output<typeof schedulerSchema>;

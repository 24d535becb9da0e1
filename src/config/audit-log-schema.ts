import { z } from 'zod';
import { exportFormats } from '../domain/export-format.ts';
import { databaseSetting } from './database-schema.ts';
import { duration } from './duration.ts';
import { secretReference } from './secret-reference.ts';

const address = z.string().superRefine((text, { addIssue }) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'udp:') {
    addIssue('must not be udp:// here: nobody tells whether a datagram arrived');
  } else if (url === undefined || !['tcp:', 'tls:', 'https:', 'http:'].includes(url.protocol)) {
    addIssue('must be tls://HOST:PORT, tcp://HOST:PORT, https://… or http://…');
  } else if (url.username !== '' || url.password !== '') {
    addIssue('must not hold a user name or password: use token');
  }
});

/** What has to take each intent before it is acted on. */
const required = z
  .strictObject({
    to: address.optional(),
    /** A file that is appended to, instead of an address. */
    file: z.string().min(1).optional(),
    format: z.enum(exportFormats).default('jsonl'),
    caFile: z.string().min(1).optional(),
    token: secretReference.optional(),
    timeout: duration.default(5),
  })
  .transform(({ to, file, ...rest }, { addIssue }) => {
    const place = to ?? file;
    if (place !== undefined && (to === undefined || file === undefined)) return { to: place, ...rest };
    addIssue(place === undefined ? 'has neither `to` nor a file' : 'has both `to` and a file: keep one');
    return z.NEVER;
  });

/** The `auditLog` section: where the log is kept, in a file or in a database, and what it asks for. */
export const auditLogSchema = z
  .strictObject({
    file: z.string().min(1).optional(),
    database: databaseSetting.optional(),
    /** Where the key is that signs checkpoints. */
    key: z
      .strictObject({ file: z.string().min(1) })
      .transform(({ file }) => file)
      .optional(),
    /** Whether a change has to say why. */
    requireReason: z.boolean().optional(),
    /** Whether a change has to name a ticket. */
    requireTicket: z.boolean().optional(),
    required: required.optional(),
  })
  .transform(({ file, database, ...rest }, { addIssue }) => {
    if (file !== undefined && database === undefined) return { file, database: undefined, ...rest };
    if (database !== undefined && file === undefined) return { database, file: undefined, ...rest };
    addIssue('has both a file and a database: keep one');
    return z.NEVER;
  });

/** The `auditLog` section, defaults filled in. */
export type AuditLogSettings = z.output<typeof auditLogSchema>;

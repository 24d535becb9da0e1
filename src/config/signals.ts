import { type ConditionMember, canHave, conditionMembers } from '@tokenctl/common/signals/deciding-event.ts';
import { signalActions, signalKinds } from '@tokenctl/common/signals/signal-event.ts';
import { z } from 'zod';
import { nearestName } from '../domain/nearest-name.ts';
import {
  duration,
  plainName,
  publishedKeys,
  secretReference,
  statePlace,
  trustedUrl,
} from './value-schemas.ts';

const oneOrMore = <Value extends z.ZodType>(value: Value) =>
  z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(value).min(1)).optional();

/** CAEP allows further types of credentials, so only a misspelled one is refused. */
const credentialType = z.string().superRefine((text, { addIssue }) => {
  const known = conditionMembers.credential_type;
  const near = known.some((each) => each === text) ? undefined : nearestName(text, known);
  if (near !== undefined) addIssue(`is not a known credential type; did you mean "${near}"?`);
});

/** An action, or one with conditions: `{ action: revoke, when: { initiating_entity: admin } }`. */
const mapping = z.preprocess(
  (given) => (typeof given === 'string' ? { action: given } : given),
  z.strictObject({
    action: z.enum(signalActions),
    when: z
      .strictObject({
        initiating_entity: oneOrMore(z.enum(conditionMembers.initiating_entity)),
        credential_type: oneOrMore(credentialType),
        change_type: oneOrMore(z.enum(conditionMembers.change_type)),
        change_direction: oneOrMore(z.enum(conditionMembers.change_direction)),
        current_status: oneOrMore(z.enum(conditionMembers.current_status)),
        current_level: oneOrMore(z.enum(conditionMembers.current_level)),
        principal: oneOrMore(z.enum(conditionMembers.principal)),
      })
      .default({}),
  }),
);

/** The action for each kind of event. Missing kinds keep their defaults. */
const actions = z
  .partialRecord(z.enum(signalKinds), mapping)
  .superRefine((mappings, { addIssue }) => {
    for (const kind of signalKinds) {
      const names = Object.keys(mappings[kind]?.when ?? {}) as ConditionMember[];
      for (const name of names.filter((each) => !canHave(kind, each)))
        addIssue({ code: 'custom', path: [kind, 'when', name], message: `never occurs in an event ${kind}` });
    }
  })
  .default({});

const transmitterName = plainName('a transmitter');

const audiences = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((value) => (typeof value === 'string' ? [value] : value));

/** An identity provider, or another sender of events. */
const transmitter = z.strictObject({
  /** The `iss` of its tokens. */
  issuer: z.string().min(1),
  /** The URL or file of its keys: a JWK Set, or certificates or public keys in PEM. */
  jwks: publishedKeys,
  /** The stream's `aud` of its security events, as shown by `signals connect`. */
  audience: audiences.optional(),
  /** Accepts events at /signals/NAME with the bearer `token`. `url` is the receiver's URL, for `signals connect`. */
  push: z.strictObject({ token: secretReference.optional(), url: trustedUrl.optional() }).optional(),
  /** Where the job signals-poll polls for events, and with which token. */
  poll: z.strictObject({ url: trustedUrl.optional(), token: secretReference.optional() }).optional(),
  /** The client that requests tokens for `poll` and `management` if these have none (RFC 6749 §4.4). */
  client: z
    .strictObject({
      tokenUrl: trustedUrl,
      clientId: z.string().min(1),
      clientSecret: secretReference.optional(),
      /** Instead of a secret: signs assertions (RFC 7523). */
      privateKey: z.strictObject({ file: z.string().min(1) }).optional(),
      keyId: z.string().min(1).optional(),
      scope: z.string().min(1).optional(),
    })
    .refine(
      ({ clientSecret, privateKey }) => (clientSecret === undefined) !== (privateKey === undefined),
      'requires either a clientSecret or a privateKey',
    )
    .optional(),
  /**
   * Lets `signals connect`, `status` and `disconnect` manage its stream, with the token of one of the
   * transmitter's clients. The token is sent to the issuer's host, or to this one.
   */
  management: z
    .strictObject({
      token: secretReference.optional(),
      host: z
        .string()
        .regex(/^[^\s/@]+$/, 'must be a host without https://')
        .toLowerCase()
        .optional(),
    })
    .optional(),
  /** Accepts its calls of /global-token-revocation. `audience` is that of the call's token. */
  revocation: z.strictObject({ audience: audiences }).optional(),
  /** Accepts logout tokens at /backchannel-logout. `audience` is the client id; `withoutExpiry` allows no `exp`. */
  logout: z.strictObject({ audience: audiences, withoutExpiry: z.boolean().default(false) }).optional(),
  /** Other issuers of subjects that it may refer to. */
  subjectIssuers: z.array(z.string().min(1)).default([]),
  /** The mail domains of its users; empty for any. */
  domains: z.array(z.string().min(1).toLowerCase()).default([]),
  /** The own tenants, as in the subjects of its events. */
  tenants: z.array(z.string().min(1)).default([]),
  /** The members of complex subjects that it declares critical, as shown by `signals connect`. */
  criticalMembers: z.array(z.string().min(1)).default([]),
  /** The social accounts of its users in the controller. */
  accounts: z
    .strictObject({ provider: z.string().min(1), uid: z.string().min(1).default('{sub}') })
    .optional(),
  /** The maximum age of an event: unacknowledged events are resent. */
  maxAge: duration({ min: '1m', max: '30d' }).default(7 * 86_400),
  actions,
});

/** What is wrong with the delivery settings of a transmitter. */
function deliveryProblems({ push, poll, audience, management, client }: z.output<typeof transmitter>) {
  const isDelivered = push !== undefined || poll !== undefined;
  // Before the stream exists, `signals connect` determines its audience and URL.
  const isManaged = management !== undefined;
  return [
    push !== undefined && poll !== undefined && 'has both push and poll: remove one',
    !isManaged && isDelivered && audience === undefined && 'has push or poll but no audience',
    client === undefined &&
      poll !== undefined &&
      poll.token === undefined &&
      'has poll without a token and no client',
    client === undefined &&
      isManaged &&
      management.token === undefined &&
      'has management without a token and no client',
    !isManaged && poll !== undefined && poll.url === undefined && 'has poll without its url',
  ];
}

/** The `signals` section: security events of identity providers. Its schema is built only if there is one. */
export const signalsSchema = z.lazy(() =>
  z
    .strictObject({
      port: z.number().int().min(0).max(65_535).default(9465),
      /** The address to listen on. An address other than loopback is for a container with its own network. */
      address: z.string().min(1).default('127.0.0.1'),
      /** Where events are recorded before their sender gets a response. By default a file in the state folder. */
      queue: statePlace.optional(),
      /** The contexts in which users are searched and acted on. By default the current one. */
      contexts: z.array(z.string().min(1)).min(1).optional(),
      /** The maximum number of users that events affect per hour. Events about further users stay pending. */
      usersPerHour: z.number().int().min(1).max(1_000_000).default(20),
      /** The maximum number of waiting events. Senders of further ones are asked to retry. */
      maxWaiting: z.number().int().min(10).max(1_000_000).default(20_000),
      /** Users that are never affected, each a name or a pattern. */
      except: z.array(z.string().min(1)).default([]),
      /** The action for a local account that an event matches. */
      localUsers: z.enum(['hold', 'act']).default('hold'),
      actions,
      transmitters: z.record(transmitterName, transmitter).default({}),
      keepDays: z
        .number()
        .int()
        .min(31, 'must be at least 31, longer than the maximum age of an event')
        .max(36_500)
        .default(400),
    })
    .superRefine(({ transmitters }, { addIssue }) => {
      const issuers = new Map<string, string>();
      for (const [name, settings] of Object.entries(transmitters)) {
        const path = ['transmitters', name];
        const other = issuers.get(settings.issuer);
        const problems = [
          other !== undefined && `has the same issuer as ${other}`,
          ...deliveryProblems(settings),
        ];
        for (const message of problems) if (message !== false) addIssue({ code: 'custom', path, message });
        issuers.set(settings.issuer, name);
      }
    }),
);

export type SignalsSettings = z.output<typeof signalsSchema>;

export type TransmitterSettings = SignalsSettings['transmitters'][string];

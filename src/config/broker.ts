import { z } from 'zod';
import { isPlain } from '../domain/broker/claim-patterns.ts';
import { ruleProblem } from '../domain/broker/rules.ts';
import { nearestName } from '../domain/nearest-name.ts';
import { duration, plainName, publishedKeys, statePlace, trustedUrl } from './value-schemas.ts';

/** An issuer that signs identities. */
const issuer = z
  .strictObject({
    /** The exact `iss` of its tokens. */
    url: trustedUrl,
    /** The URL or file of its keys. By default from its discovery document. */
    jwks: publishedKeys.optional(),
    /** The authorities of its certificate, in PEM. */
    caFile: z.string().min(1).optional(),
    /** How long after its `iat` a token is accepted. */
    maxAge: duration({ min: '1m', max: '24h' }).default(600),
  })
  .refine(({ url }) => !/[?#]/.test(url), {
    path: ['url'],
    error: 'must have neither a query nor a fragment',
  });

const pattern = z.union(
  [
    z
      .string()
      .max(256, 'is too long')
      .refine(isPlain, 'must be text in composed form (NFC), without control characters')
      .refine((text) => !text.includes('***'), 'has ***: write * within a part, or ** for several parts'),
    z.number().int(),
    z.boolean(),
  ],
  { error: 'must be a text, a whole number or a boolean, as the claim is' },
);

const rule = z.strictObject({
  issuer: z.string().min(1),
  /** Claims by name, or by a JSON pointer such as /kubernetes.io/namespace. Each must match. */
  claims: z
    .record(z.string().min(1), pattern)
    .refine((claims) => Object.keys(claims).length > 0, 'must have at least one claim'),
  context: z.string().min(1),
  /** The owner of the tokens over a database. Over REST, the account of the context owns them. */
  user: z.string().min(1).optional(),
  scope: z.enum(['read', 'write']).default('write'),
  lifetime: duration({ min: '1m', max: '1h' }).default(900),
  /** The maximum number of live tokens, and of tokens per hour. */
  live: z.number().int().min(1).max(10_000).default(20),
  hourly: z.number().int().min(1).max(100_000).default(120),
});

/** The `broker` section: tokens for pipelines that have an identity. */
export const brokerSchema = z.lazy(() =>
  z
    .strictObject({
      port: z.number().int().min(0).max(65_535).default(9466),
      /** The address to listen on. An address other than loopback is for a container with its own network. */
      address: z.string().min(1).default('127.0.0.1'),
      /** The only accepted `aud` of identities: the broker's URL as pipelines reach it. */
      audience: z.string().min(1),
      /** The store of used identities. By default a file in the state folder. */
      store: statePlace.optional(),
      issuers: z.record(plainName('an issuer'), issuer),
      rules: z.record(plainName('a rule'), rule).default({}),
    })
    .superRefine(({ issuers, rules }, { addIssue }) => {
      const urls = new Map<string, string>();
      for (const [key, { url }] of Object.entries(issuers)) {
        const other = urls.get(url);
        if (other !== undefined)
          addIssue({ code: 'custom', path: ['issuers', key], message: `has the same url as ${other}` });
        urls.set(url, key);
      }
      for (const [key, { issuer: of, claims }] of Object.entries(rules)) {
        const settings = Object.hasOwn(issuers, of) ? issuers[of] : undefined;
        const near = nearestName(of, Object.keys(issuers));
        const hint = near === undefined ? '' : `; did you mean "${near}"?`;
        const [at, message] =
          settings === undefined
            ? ['issuer', `there is no issuer "${of}"${hint}`]
            : ['claims', ruleProblem(settings.url, claims)];
        if (message !== null) addIssue({ code: 'custom', path: ['rules', key, at], message });
      }
    }),
);

export type BrokerSettings = z.output<typeof brokerSchema>;

import { z } from 'zod';
import { isPlain } from '../domain/broker/claim-patterns.ts';
import { ruleProblem } from '../domain/broker/rules.ts';
import { nearestName } from '../domain/nearest-name.ts';
import { duration, plainName, publishedKeys, statePlace, trustedUrl } from './value-schemas.ts';

/** Who signs identities. */
const issuer = z
  .strictObject({
    /** The `iss` of its tokens, to the character. */
    url: trustedUrl,
    /** Where its keys are, or a file with them; by its discovery document where not given. */
    jwks: publishedKeys.optional(),
    /** The authorities of its certificate, in PEM. */
    caFile: z.string().min(1).optional(),
    /** How long after its `iat` a token is taken. */
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

/** Which identities get which tokens. */
const rule = z.strictObject({
  issuer: z.string().min(1),
  /** Claims by name, or by a JSON pointer such as /kubernetes.io/namespace: each has to match. */
  claims: z
    .record(z.string().min(1), pattern)
    .refine((claims) => Object.keys(claims).length > 0, 'must have at least one claim'),
  context: z.string().min(1),
  /** The owner of the tokens over a database; over REST it is the account of the context. */
  user: z.string().min(1).optional(),
  scope: z.enum(['read', 'write']).default('write'),
  lifetime: duration({ min: '1m', max: '1h' }).default(900),
  /** How many of its tokens may live at a time, and how many it gives within an hour. */
  live: z.number().int().min(1).max(10_000).default(20),
  hourly: z.number().int().min(1).max(100_000).default(120),
});

/** The `broker` section: tokens for pipelines that have an identity. */
export const brokerSchema = z.lazy(() =>
  z
    .strictObject({
      port: z.number().int().min(0).max(65_535).default(9466),
      /** The address of the port; anything but loopback is for a container whose network is its own. */
      address: z.string().min(1).default('127.0.0.1'),
      /** The `aud` that identities have to have, and no other: the address of the broker as pipelines reach it. */
      audience: z.string().min(1),
      /** Where it is kept which identities were used; a file in the state folder where not given. */
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

/** The `broker` section, defaults filled in. */
export type BrokerSettings = z.output<typeof brokerSchema>;

import { z } from 'zod';
import { percent, secretReference } from './value-schemas.ts';

const address = z
  .url({ protocol: /^https?$/, error: 'must be a URL that starts with https://' })
  .refine((text) => {
    const { username, password, search, hash } = new URL(text);
    return username === '' && password === '' && search === '' && hash === '';
  }, 'must be a base URL, without a user name, a query or a fragment');

/** Which users of the controller a directory speaks for, and how they are matched. */
const rules = () => ({
  /** The backends of the controller whose accounts are of this directory, such as `saml` or `oidc`. */
  accounts: z.array(z.string().min(1)).default([]),
  loginName: z.string().includes('{username}', { error: 'must contain {username}' }).default('{username}'),
  byEmail: z.boolean().default(false),
  unmatched: z.boolean().default(false),
  except: z.array(z.string().min(1)).default([]),
  stopBelowPercent: percent.default(10),
  stopAbovePercent: percent.default(10),
  /** PEM of the authority that signed the certificate of the source. */
  caFile: z.string().min(1).optional(),
});

const client = {
  clientId: z.string().min(1),
  clientSecret: secretReference,
};

/** The `directories` section: who says which users have left. Its schema is built when a configuration has one. */
export const directoriesSchema = z.lazy(() =>
  z.record(
    z
      .string()
      .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'cannot name a directory: use letters, digits, dots and dashes'),
    z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('scim'),
        /** The base address: what comes before `/Users`. */
        url: address,
        /** The bearer token. */
        token: secretReference,
        paging: z.enum(['auto', 'index', 'cursor']).default('auto'),
        ...rules(),
      }),
      z.strictObject({
        kind: z.literal('entra'),
        tenant: z.string().regex(/^[\w.-]+$/, 'is not a tenant: use its ID or its domain'),
        ...client,
        /** Other addresses than those of the worldwide cloud. */
        url: address.default('https://graph.microsoft.com/v1.0'),
        loginUrl: address.default('https://login.microsoftonline.com'),
        ...rules(),
      }),
      z
        .strictObject({
          kind: z.literal('okta'),
          url: address,
          /** An API token, or a service app with a private key. */
          token: secretReference.optional(),
          clientId: z.string().min(1).optional(),
          privateKey: z.strictObject({ file: z.string().min(1) }).optional(),
          keyId: z.string().min(1).optional(),
          ...rules(),
        })
        .refine(
          ({ token, clientId, privateKey }) =>
            token === undefined ? clientId !== undefined && privateKey !== undefined : clientId === undefined,
          'needs either a token, or a clientId with a privateKey',
        ),
      z.strictObject({
        kind: z.literal('google'),
        /** The JSON key of the service account. */
        serviceAccount: z.strictObject({ file: z.string().min(1) }),
        /** The administrator in whose name the service account reads. */
        administrator: z.string().min(3),
        customer: z.string().min(1).optional(),
        url: address.default('https://admin.googleapis.com'),
        ...rules(),
      }),
      z.strictObject({
        kind: z.literal('keycloak'),
        url: address,
        realm: z.string().min(1),
        ...client,
        ...rules(),
      }),
    ]),
  ),
);

/** The `directories` section, defaults filled in. */
export type DirectorySettings = z.output<typeof directoriesSchema>[string];

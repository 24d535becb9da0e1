import { z } from 'zod';
import { normalizedName } from '../domain/distinguished-name.ts';
import { percent, secretReference } from './value-schemas.ts';

/** The words for a value of the wrong form; one that is missing is said to be so. */
const unless =
  (wrong: string | undefined) =>
  ({ input }: { input?: unknown }): string | undefined =>
    input === undefined ? 'is missing' : wrong;

const address = z
  .url({ protocol: /^https?$/, error: unless('must be a URL that starts with https://') })
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

const ldapAddress = z
  .url({ protocol: /^ldaps?$/, error: unless('must be a URL that starts with ldaps:// or ldap://') })
  .refine((text) => {
    const { username, password, pathname, search, hash } = new URL(text);
    return username + password + search + hash === '' && (pathname === '' || pathname === '/');
  }, 'must be a URL with only a host and a port');

const entryName = z
  .string()
  .min(1)
  .refine(
    (text) => normalizedName(text) !== null,
    'is not the name of an entry, such as ou=people,dc=example,dc=org',
  );

const attribute = z.string().regex(/^[A-Za-z][\w-]*$/, 'is not the name of an attribute');

const several = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).min(1));

/** An LDAP directory; the defaults differ between Active Directory and the others. */
const ldap = <Kind extends string>(
  kind: Kind,
  defaults: { readonly filter: string; readonly id: string; readonly logins: readonly string[] },
) =>
  z.strictObject({
    kind: z.literal(kind),
    /** The servers; the next one is asked if one cannot be reached. */
    url: several(ldapAddress),
    /** Whether a connection to `ldap://` is encrypted before the bind. */
    startTls: z.boolean().default(false),
    /** The account that reads: it needs no other right. */
    bindDn: z.string().min(1),
    bindPassword: secretReference,
    /** Where the users are, each with everything below. */
    base: several(entryName),
    /** Which entries are users (RFC 4515). */
    filter: z.string().min(3).default(defaults.filter),
    /** Which of them may not sign in any more, besides what the server's own attributes say. */
    disabledFilter: z.string().min(3).optional(),
    /** The groups of which a user must be in one, directly or by a group within it. */
    groups: several(entryName).optional(),
    idAttribute: attribute.default(defaults.id),
    loginAttribute: several(attribute).default([...defaults.logins]),
    mailAttribute: attribute.default('mail'),
    ...rules(),
  });

const KINDS = ['ldap', 'active-directory', 'scim', 'entra', 'okta', 'google', 'keycloak'];

function wrongKind({ input }: { input?: unknown }): string {
  if (typeof input !== 'object' || input === null) return 'must be a mapping';
  return `${'kind' in input ? 'must be' : 'is missing: it is'} one of: ${KINDS.join(', ')}`;
}

const client = { clientId: z.string().min(1), clientSecret: secretReference };

/** The `directories` section: who says which users have left. Its schema is built when a configuration has one. */
export const directoriesSchema = z.lazy(() =>
  z.record(
    z
      .string()
      .regex(
        /^[A-Za-z0-9][\w.-]{0,63}$/,
        'is not a valid directory name: use letters, digits, dots and dashes',
      ),
    z.discriminatedUnion(
      'kind',
      [
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
              token === undefined
                ? clientId !== undefined && privateKey !== undefined
                : clientId === undefined,
            'requires either a token, or a clientId with a privateKey',
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
        ldap('ldap', { filter: '(objectClass=person)', id: 'entryUUID', logins: ['uid'] }),
        ldap('active-directory', {
          filter: '(&(objectCategory=person)(objectClass=user))',
          id: 'objectGUID',
          logins: ['sAMAccountName', 'userPrincipalName'],
        }),
      ],
      { error: wrongKind },
    ),
  ),
);

/** The `directories` section, defaults filled in. */
export type DirectorySettings = z.output<typeof directoriesSchema>[string];

/** Those of an LDAP directory. */
export type LdapSettings = Extract<DirectorySettings, { kind: 'ldap' | 'active-directory' }>;

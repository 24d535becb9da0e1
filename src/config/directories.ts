import { z } from 'zod';
import { normalizedName } from '../domain/distinguished-name.ts';
import { percent, secretReference } from './value-schemas.ts';

/** The error text for an invalid value. A missing value is reported as missing. */
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

/** Which of the controller's users a directory is authoritative for, and how they are matched. */
const rules = () => ({
  /** The controller's backends whose accounts belong to this directory, such as `saml` or `oidc`. */
  accounts: z.array(z.string().min(1)).default([]),
  loginName: z.string().includes('{username}', { error: 'must contain {username}' }).default('{username}'),
  byEmail: z.boolean().default(false),
  unmatched: z.boolean().default(false),
  except: z.array(z.string().min(1)).default([]),
  stopBelowPercent: percent.default(10),
  stopAbovePercent: percent.default(10),
  /** The authority of the source's certificate, in PEM. */
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

/** An LDAP directory. The defaults differ between Active Directory and others. */
const ldap = <Kind extends string>(
  kind: Kind,
  defaults: { readonly filter: string; readonly id: string; readonly logins: readonly string[] },
) =>
  z.strictObject({
    kind: z.literal(kind),
    /** The servers. If one is unreachable, the next one is used. */
    url: several(ldapAddress),
    /** Whether a connection to `ldap://` is encrypted before the bind. */
    startTls: z.boolean().default(false),
    /** The account for reading. It needs no other right. */
    bindDn: z.string().min(1),
    bindPassword: secretReference,
    /** The subtrees that contain the users. */
    base: several(entryName),
    /** Which entries are users (RFC 4515). */
    filter: z.string().min(3).default(defaults.filter),
    /** Which users are disabled, in addition to the server's own attributes. */
    disabledFilter: z.string().min(3).optional(),
    /** A user must be in one of these groups, directly or through a nested group. */
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

/** The `directories` section: the sources that show who has left. Its schema is built only if there is one. */
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
          /** The base URL, before `/Users`. */
          url: address,
          token: secretReference,
          paging: z.enum(['auto', 'index', 'cursor']).default('auto'),
          ...rules(),
        }),
        z.strictObject({
          kind: z.literal('entra'),
          tenant: z.string().regex(/^[\w.-]+$/, 'is not a tenant: use its ID or its domain'),
          ...client,
          /** For clouds other than the worldwide one. */
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
          /** The service account's JSON key. */
          serviceAccount: z.strictObject({ file: z.string().min(1) }),
          /** The administrator that the service account impersonates for reading. */
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

export type DirectorySettings = z.output<typeof directoriesSchema>[string];

export type LdapSettings = Extract<DirectorySettings, { kind: 'ldap' | 'active-directory' }>;

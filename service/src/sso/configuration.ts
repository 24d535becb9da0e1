import { createHash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { ServiceContext } from '../context.ts';
import { ssoSettings } from '../settings/settings.ts';
import type { OrganizationMap, SamlIdp, SamlSecurity, TeamMap, UserFlags } from '../settings/sso-schemas.ts';
import { BACKENDS, type Backend, LABELS, PREFIXES } from './backends.ts';

/** Google's issuer. Only accounts of other issuers have their issuer in the uid. */
export const GOOGLE = 'https://accounts.google.com';
/** GitHub's URL. Only accounts of GitHub Enterprise have their URL in the uid. */
export const GITHUB = 'https://github.com';

/** Google, or another OpenID provider instead. */
export type GoogleConfiguration = NonNullable<ReturnType<typeof google>>;
/** Microsoft Entra ID. */
export type AzureConfiguration = NonNullable<ReturnType<typeof azure>>;
/** Any OpenID provider: Keycloak, Okta, … */
export type OidcConfiguration = NonNullable<ReturnType<typeof oidc>>;
export type GithubConfiguration = NonNullable<ReturnType<typeof github>>;
export type SamlConfiguration = NonNullable<ReturnType<typeof saml>>;

export type BackendConfiguration =
  | GoogleConfiguration
  | AzureConfiguration
  | OidcConfiguration
  | GithubConfiguration
  | SamlConfiguration;

/** How accounts are created for a backend's users, and which roles they get. */
export type UserRules = ReturnType<Awaited<ReturnType<typeof ssoConfiguration>>['rules']>;

export async function ssoConfiguration(
  service: Pick<ServiceContext, 'fixedSettings' | 'secrets'>,
  database: Queryable,
) {
  const values = await ssoSettings(service, database);
  const of = (backend: Backend) => (name: string) => values.get(`${PREFIXES[backend]}_${name}`);
  const read = { 'google-oauth2': google, 'azuread-oauth2': azure, oidc, github, saml };
  return {
    /** The configured backends, in the order of their buttons. */
    backends: BACKENDS.flatMap(
      (backend): readonly BackendConfiguration[] | BackendConfiguration => read[backend](of(backend)) ?? [],
    ),
    /** The name on a backend's button. SAML has a label for each identity provider instead. */
    label: (backend: Backend) => text(of(backend), 'LABEL') || LABELS[backend],
    /** The backends whose secrets cannot be decrypted with the service's key. */
    undecryptable: BACKENDS.filter((backend) =>
      ['SECRET', 'SP_PRIVATE_KEY'].some((name) => of(backend)(name) === null),
    ),
    /** Whether a back-channel logout of a backend also revokes the user's tokens. */
    logoutRevokes: (backend: Backend) => of(backend)('LOGOUT_REVOKES_TOKENS') === true,
    rules: (backend: Backend) => {
      const value = of(backend);
      return {
        organizations: (value('ORGANIZATION_MAP') ??
          values.get('SOCIAL_AUTH_ORGANIZATION_MAP')) as OrganizationMap | null,
        teams: (value('TEAM_MAP') ?? values.get('SOCIAL_AUTH_TEAM_MAP')) as TeamMap | null,
        flags: value('USER_FLAGS_BY_ATTR') as UserFlags,
        /** The fields taken from the provider. Null means all; an empty list means that no accounts are created. */
        fields: values.get('SOCIAL_AUTH_USER_FIELDS') as readonly string[] | null,
        usernameIsEmail: values.get('SOCIAL_AUTH_USERNAME_IS_FULL_EMAIL') === true,
      };
    },
  };
}

/**
 * A SHA-256 digest of a configuration, in hex: a login counts as proof only for the configuration that it
 * used. Labels, and values that only the logout or the import uses, may change.
 */
export function configurationDigest(configuration: BackendConfiguration): string {
  const compared =
    configuration.backend === 'saml'
      ? { ...configuration, idps: Object.fromEntries(Object.entries(configuration.idps).map(withoutLabels)) }
      : configuration;
  return createHash('sha256').update(JSON.stringify(compared)).digest('hex');
}

function withoutLabels([name, idp]: [string, SamlIdp]): [string, Partial<SamlIdp>] {
  const { label: _label, logout_url: _logout, metadata_url: _metadata, ...others } = idp;
  return [name, others];
}

type Values = (name: string) => unknown;

function text(value: Values, name: string): string {
  const found = value(name);
  return typeof found === 'string' ? found : '';
}

function client(value: Values) {
  const clientId = text(value, 'KEY');
  const clientSecret = text(value, 'SECRET');
  return clientId === '' || clientSecret === '' ? null : { clientId, clientSecret };
}

function google(value: Values) {
  const credentials = client(value);
  if (credentials === null) return null;
  return {
    backend: 'google-oauth2' as const,
    ...credentials,
    issuer: text(value, 'ISSUER'),
    domains: value('WHITELISTED_DOMAINS') as readonly string[],
    extra: value('AUTH_EXTRA_ARGUMENTS') as Record<string, string>,
  };
}

function azure(value: Values) {
  const credentials = client(value);
  const tenant = text(value, 'TENANT_ID');
  if (credentials === null || tenant === '') return null;
  return {
    backend: 'azuread-oauth2' as const,
    ...credentials,
    issuer: `${text(value, 'AUTHORITY_HOST')}/${encodeURIComponent(tenant)}/v2.0`,
    /** Whether users of several tenants can log in through this issuer. */
    severalTenants: ['common', 'organizations', 'consumers'].includes(tenant.toLowerCase()),
    tenants: value('WHITELISTED_TENANTS') as readonly string[],
    extra: value('AUTH_EXTRA_ARGUMENTS') as Record<string, string>,
  };
}

function oidc(value: Values) {
  const credentials = client(value);
  const issuer = text(value, 'OIDC_ENDPOINT');
  return credentials === null || issuer === '' ? null : { backend: 'oidc' as const, ...credentials, issuer };
}

function github(value: Values) {
  const credentials = client(value);
  if (credentials === null) return null;
  return {
    backend: 'github' as const,
    ...credentials,
    url: text(value, 'URL'),
    apiUrl: text(value, 'API_URL'),
    organization: text(value, 'ORG_NAME'),
    team: text(value, 'TEAM_ID'),
  };
}

function saml(value: Values) {
  const entityId = text(value, 'SP_ENTITY_ID');
  const idps = value('ENABLED_IDPS') as Record<string, SamlIdp>;
  if (entityId === '' || Object.keys(idps).length === 0) return null;
  // Null means that the key cannot be decrypted.
  if (value('SP_PRIVATE_KEY') === null) return null;
  return {
    backend: 'saml' as const,
    entityId,
    certificate: text(value, 'SP_PUBLIC_CERT'),
    privateKey: text(value, 'SP_PRIVATE_KEY'),
    security: value('SECURITY_CONFIG') as SamlSecurity,
    idps,
  };
}

/** A button on the login page. */
export interface LoginProvider {
  readonly backend: Backend;
  /** The name of the SAML identity provider; null for other backends. */
  readonly idp: string | null;
  readonly label: string;
  /** The path that starts the login, without the `next` parameter. */
  readonly path: string;
}

/** The configured providers, in the order of their buttons. */
export async function loginProviders(service: ServiceContext): Promise<readonly LoginProvider[]> {
  const { backends, label } = await ssoConfiguration(service, service.database);
  return backends.flatMap((configuration): readonly LoginProvider[] => {
    const { backend } = configuration;
    const path = `/sso/login/${backend}/`;
    if (configuration.backend !== 'saml') return [{ backend, idp: null, label: label(backend), path }];
    // jsonb does not preserve the order of keys.
    return Object.entries(configuration.idps)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([idp, settings]) => ({
        backend,
        idp,
        label: settings.label ?? idp,
        path: `${path}?idp=${encodeURIComponent(idp)}`,
      }));
  });
}

import { z } from 'zod';
import { type Backend, LABELS, PREFIXES } from '../sso/backends.ts';
import {
  checkAddress,
  checkCertificate,
  checkedBy,
  checkIssuer,
  checkLabel,
  checkLine,
  checkNames,
  checkPrivateKey,
  type SettingDefinition,
} from './checks.ts';
import {
  enabledIdps,
  ORGANIZATION_EXAMPLE,
  organizationMap,
  securityConfig,
  TEAM_EXAMPLE,
  teamMap,
  userFlags,
} from './sso-schemas.ts';

/** A setting of one backend, by the end of its name. */
type Part = Omit<SettingDefinition, 'key' | 'category'>;

function ofBackend(backend: Backend, name: string, part: Part): SettingDefinition {
  return { key: `${PREFIXES[backend]}_${name}`, category: backend, ...part };
}

/** A line of text, empty unless it is set. */
function line(label: string, helpText: string): Part {
  return { type: 'string', label, helpText, defaultValue: '', check: checkLine };
}

/** A text that is stored encrypted. */
function secret(label: string, helpText: string): Part {
  return { ...line(label, helpText), secret: true };
}

function address(label: string, options: { readonly helpText: string; readonly defaultValue: string }): Part {
  return { type: 'string', label, ...options, check: checkAddress };
}

/** A list of names, empty unless it is set. */
function names(label: string, helpText: string): Part {
  return { type: 'list', label, helpText, defaultValue: [], child: 'strings', check: checkNames };
}

/** Parameters that are sent along with a request for authorization. */
function extraArguments(): Part {
  return {
    type: 'nested object',
    label: 'Extra parameters',
    helpText: 'Additional parameters of the authorization request, by name.',
    defaultValue: {},
    placeholder: { prompt: 'select_account' },
    check: checkedBy(z.record(z.string().regex(/^[a-z_]{1,64}$/), z.string().max(256))),
  };
}

function label(backend: Backend): SettingDefinition {
  return ofBackend(backend, 'LABEL', {
    ...line('Label', 'The name on the button of the login page.'),
    defaultValue: LABELS[backend],
    check: checkLabel,
  });
}

/** The address that the provider sends users back to: it is derived, and registered with the provider. */
function callbackUrlSetting(backend: Backend): SettingDefinition {
  return ofBackend(backend, 'CALLBACK_URL', {
    type: 'string',
    label: 'Callback URL',
    helpText: `The redirect URI to register with ${LABELS[backend]}.`,
    defaultValue: '',
    readOnly: true,
  });
}

/** The addresses that an OpenID provider is to send logouts and security events to, and what a logout does. */
function eventSettings(backend: Backend): readonly SettingDefinition[] {
  const url = (name: string, label: string, helpText: string) =>
    ofBackend(backend, name, { type: 'string', label, helpText, defaultValue: '', readOnly: true });
  const provider = LABELS[backend];
  return [
    url(
      'BACKCHANNEL_LOGOUT_URL',
      'Back-channel logout URL',
      `The back-channel logout URI to register with ${provider}, or with the provider in its place.`,
    ),
    url(
      'EVENTS_URL',
      'Security events URL',
      'Where the provider pushes security events (RFC 8935), such as account-disabled.',
    ),
    url(
      'TOKEN_REVOCATION_URL',
      'Global token revocation URL',
      'Where the provider asks for the end of all sessions and tokens of a user.',
    ),
    ofBackend(backend, 'LOGOUT_REVOKES_TOKENS', {
      type: 'boolean',
      label: 'Back-channel logout revokes tokens',
      helpText:
        'Whether a back-channel logout also revokes the tokens of the user, not only the sessions. Every logout of a user at ' +
        'the provider then ends the tokens.',
      defaultValue: false,
    }),
  ];
}

/** How attributes of a backend's users become roles and flags here. */
function mappings(backend: Backend): readonly SettingDefinition[] {
  const map = (check: SettingDefinition['check'], placeholder: unknown) => ({
    type: 'nested object' as const,
    defaultValue: null,
    nullable: true as const,
    child: 'map' as const,
    placeholder,
    ...(check && { check }),
  });
  return [
    ofBackend(backend, 'ORGANIZATION_MAP', {
      ...map(checkedBy(organizationMap), ORGANIZATION_EXAMPLE),
      label: 'Organizations',
      helpText: `Grants roles in organizations to users of ${LABELS[backend]}. Overrides SOCIAL_AUTH_ORGANIZATION_MAP.`,
    }),
    ofBackend(backend, 'TEAM_MAP', {
      ...map(checkedBy(teamMap), TEAM_EXAMPLE),
      label: 'Teams',
      helpText: `Makes users of ${LABELS[backend]} members of teams. Overrides SOCIAL_AUTH_TEAM_MAP.`,
    }),
    ofBackend(backend, 'USER_FLAGS_BY_ATTR', {
      type: 'nested object',
      label: 'Superusers and auditors',
      helpText: 'Which values of which attribute or claim make a user a superuser or a system auditor.',
      defaultValue: {},
      placeholder: { is_superuser_attr: 'groups', is_superuser_value: ['automation-admins'] },
      check: checkedBy(userFlags),
    }),
  ];
}

/** The settings of single sign-on for all providers, in the order of the controller. */
export const SHARED_SSO_DEFINITIONS: readonly SettingDefinition[] = [
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_ORGANIZATION_MAP',
    type: 'nested object',
    label: 'Organizations of external users',
    helpText:
      'Grants roles in organizations at each login through an identity provider. The map of a provider ' +
      'overrides this one.',
    defaultValue: null,
    nullable: true,
    child: 'map',
    placeholder: ORGANIZATION_EXAMPLE,
    check: checkedBy(organizationMap),
  },
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_TEAM_MAP',
    type: 'nested object',
    label: 'Teams of external users',
    helpText:
      'Maps users to teams: they become members of the team and of its organization at each login through an identity provider.',
    defaultValue: null,
    nullable: true,
    child: 'map',
    placeholder: TEAM_EXAMPLE,
    check: checkedBy(teamMap),
  },
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_USER_FIELDS',
    type: 'list',
    label: 'Fields taken from an identity provider',
    helpText:
      'Which user fields come from the provider: username, email, first_name, last_name; all of them ' +
      'unless it is set. With an empty list, only users with an existing account can log in.',
    defaultValue: null,
    nullable: true,
    child: 'strings',
    placeholder: ['username', 'first_name', 'last_name'],
    check: checkedBy(z.array(z.enum(['username', 'email', 'first_name', 'last_name'])).max(4)),
  },
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_USERNAME_IS_FULL_EMAIL',
    type: 'boolean',
    label: 'Email address as username',
    helpText:
      'Whether new external users get their full email address as username, not only the part before the @.',
    defaultValue: false,
  },
];

const google = (name: string, part: Parameters<typeof ofBackend>[2]) =>
  ofBackend('google-oauth2', name, part);
const azure = (name: string, part: Parameters<typeof ofBackend>[2]) =>
  ofBackend('azuread-oauth2', name, part);
const github = (name: string, part: Parameters<typeof ofBackend>[2]) => ofBackend('github', name, part);
const saml = (name: string, part: Parameters<typeof ofBackend>[2]) => ofBackend('saml', name, part);

const GOOGLE: readonly SettingDefinition[] = [
  callbackUrlSetting('google-oauth2'),
  label('google-oauth2'),
  google('KEY', line('Client ID', 'The client ID of the web application registered with Google.')),
  google('SECRET', secret('Client secret', 'The client secret that goes with it.')),
  google(
    'WHITELISTED_DOMAINS',
    names('Allowed domains', 'Only accounts of these Google Workspace domains; all accounts if empty.'),
  ),
  google('AUTH_EXTRA_ARGUMENTS', extraArguments()),
  google('ISSUER', {
    ...address('Issuer', {
      helpText: 'The issuer of the ID tokens. Its configuration is discovered from this URL.',
      defaultValue: 'https://accounts.google.com',
    }),
    check: checkIssuer,
  }),
  ...eventSettings('google-oauth2'),
  ...mappings('google-oauth2'),
];

const AZURE: readonly SettingDefinition[] = [
  callbackUrlSetting('azuread-oauth2'),
  label('azuread-oauth2'),
  azure('KEY', line('Application ID', 'The application (client) ID of the registration in Microsoft Entra.')),
  azure('SECRET', secret('Client secret', 'The value of a client secret of the registration.')),
  azure(
    'TENANT_ID',
    line(
      'Tenant',
      'The directory (tenant) ID whose users may log in. `organizations` or `common` for users of several ' +
        'tenants; list them in the allowed tenants then.',
    ),
  ),
  azure(
    'WHITELISTED_TENANTS',
    names('Allowed tenants', 'Only users of the tenants with these IDs; all users of TENANT_ID if empty.'),
  ),
  azure('AUTH_EXTRA_ARGUMENTS', extraArguments()),
  azure(
    'AUTHORITY_HOST',
    address('Authority', {
      helpText: 'The address of the cloud; the issuer is this, the tenant and /v2.0.',
      defaultValue: 'https://login.microsoftonline.com',
    }),
  ),
  ...eventSettings('azuread-oauth2'),
  ...mappings('azuread-oauth2'),
];

const GITHUB: readonly SettingDefinition[] = [
  callbackUrlSetting('github'),
  label('github'),
  github('KEY', line('Client ID', 'The client ID of the OAuth app registered with GitHub.')),
  github('SECRET', secret('Client secret', 'A client secret of the OAuth app.')),
  github('ORG_NAME', line('Organization', 'Only members of this organization; all users if empty.')),
  github('TEAM_ID', line('Team', 'Only members of the team with this number; see /user/teams of the API.')),
  github(
    'URL',
    address('URL', {
      helpText: 'URL of GitHub, or of GitHub Enterprise.',
      defaultValue: 'https://github.com',
    }),
  ),
  github(
    'API_URL',
    address('API URL', {
      helpText: 'URL of the GitHub API. That of GitHub Enterprise ends in /api/v3.',
      defaultValue: 'https://api.github.com',
    }),
  ),
  ...mappings('github'),
];

const SAML: readonly SettingDefinition[] = [
  callbackUrlSetting('saml'),
  saml('METADATA_URL', {
    type: 'string',
    label: 'Metadata URL',
    helpText: 'URL of the metadata of this service, for identity providers.',
    defaultValue: '',
    readOnly: true,
  }),
  saml(
    'SP_ENTITY_ID',
    line('Entity ID', 'The entity ID of this service at identity providers, usually its URL.'),
  ),
  saml('SP_PUBLIC_CERT', {
    ...line('Certificate', 'The certificate of the private key, in PEM. It is part of the metadata.'),
    check: checkCertificate,
  }),
  saml('SP_PRIVATE_KEY', {
    ...secret('Private key', 'Signs requests and decrypts assertions; in PEM, without a passphrase.'),
    check: checkPrivateKey,
  }),
  saml('SECURITY_CONFIG', {
    type: 'nested object',
    label: 'Message security',
    helpText:
      'authnRequestsSigned: whether requests are signed; requestedAuthnContext: false, or the contexts asked for; ' +
      'rejectDeprecatedAlgorithm: false to accept signatures with SHA-1.',
    defaultValue: { requestedAuthnContext: false },
    check: checkedBy(securityConfig),
  }),
  saml('ENABLED_IDPS', {
    type: 'nested object',
    label: 'Identity providers',
    helpText:
      'By a short name that stays: entity_id, url, x509cert (one or several) and logout_url, or metadata_url or metadata ' +
      '(XML) to import them; label; name_id_format (persistent, email, none); the attributes attr_user_permanent_id, ' +
      'attr_username, attr_email, attr_first_name, attr_last_name; allow_idp_initiated.',
    defaultValue: {},
    placeholder: {
      corporate: {
        entity_id: 'https://idp.example.org/saml',
        url: 'https://idp.example.org/saml/sso',
        x509cert: 'MIIDdzCCAl…',
        attr_email: 'mail',
      },
    },
    check: checkedBy(enabledIdps),
  }),
  ...mappings('saml'),
];

/** The settings of single sign-on, backend by backend. */
export const SSO_DEFINITIONS: readonly SettingDefinition[] = [...GOOGLE, ...AZURE, ...GITHUB, ...SAML];

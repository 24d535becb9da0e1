import { z } from 'zod';
import { BACKENDS, type Backend, LABELS, PREFIXES } from '../sso/backends.ts';
import {
  type Checked,
  checkAddress,
  checkBoolean,
  checkCertificate,
  checkedBy,
  checkIssuer,
  checkLabel,
  checkLine,
  checkNames,
  checkPrivateKey,
  definitions,
  type SettingDefinition,
  type SettingPart,
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

type Parts = Readonly<Record<string, SettingPart>>;

/** A line of text; empty by default. */
function line(label: string, helpText: string, more: Partial<SettingPart> = {}): SettingPart {
  return { type: 'string', label, helpText, defaultValue: '', check: checkLine, ...more };
}

/** A read-only value: it is derived, and must be registered with the provider. */
function derived(label: string, helpText: string): SettingPart {
  return { type: 'string', label, helpText, defaultValue: '', readOnly: true };
}

function flag(label: string, helpText: string): SettingPart {
  return { type: 'boolean', label, helpText, defaultValue: false };
}

/** A list of names; empty by default. */
function names(label: string, helpText: string): SettingPart {
  return { type: 'list', label, helpText, defaultValue: [], child: 'strings', check: checkNames };
}

/** An object with a schema; empty by default. */
function object(
  [label, helpText]: readonly [string, string],
  schema: z.ZodType,
  more: Partial<SettingPart> = {},
): SettingPart {
  return { type: 'nested object', label, helpText, defaultValue: {}, check: checkedBy(schema), ...more };
}

const MAP = { defaultValue: null, nullable: true, child: 'map' } as const;

function organizations(label: string, helpText: string): SettingPart {
  return object([label, helpText], organizationMap, { ...MAP, placeholder: ORGANIZATION_EXAMPLE });
}

function teams(label: string, helpText: string): SettingPart {
  return object([label, helpText], teamMap, { ...MAP, placeholder: TEAM_EXAMPLE });
}

function callbackUrl(backend: Backend): Parts {
  const helpText = `The redirect URI to register with ${LABELS[backend]}.`;
  return { CALLBACK_URL: derived('Callback URL', helpText) };
}

/** An OAuth2 client: its callback, the text of its button, and its credentials. */
function client(backend: Backend, key: SettingPart, secretHelp: string): Parts {
  return {
    ...callbackUrl(backend),
    LABEL: line('Label', 'The label of the login page button.', {
      defaultValue: LABELS[backend],
      check: checkLabel,
    }),
    KEY: key,
    SECRET: line('Client secret', secretHelp, { secret: true }),
  };
}

/** Additional parameters of the authorization request. */
const EXTRA_ARGUMENTS: SettingPart = object(
  ['Extra parameters', 'Additional parameters of the authorization request, by name.'],
  z.record(z.string().regex(/^[a-z_]{1,64}$/), z.string().max(256)),
  { placeholder: { prompt: 'select_account' } },
);

/** Where an OpenID provider must send logouts and security events, and what a logout does. */
function events(backend: Backend): Parts {
  return {
    BACKCHANNEL_LOGOUT_URL: derived(
      'Back-channel logout URL',
      `The back-channel logout URI to register with ${LABELS[backend]}, or with the provider instead.`,
    ),
    EVENTS_URL: derived(
      'Security events URL',
      'Where the provider pushes security events (RFC 8935), such as account-disabled.',
    ),
    TOKEN_REVOCATION_URL: derived(
      'Global token revocation URL',
      "Where the provider requests the end of all of a user's sessions and tokens.",
    ),
    LOGOUT_REVOKES_TOKENS: flag(
      'Back-channel logout revokes tokens',
      "Whether a back-channel logout also revokes the user's tokens, not only the sessions. Every logout of a user at " +
        'the provider then ends the tokens.',
    ),
  };
}

/** How attributes of a backend's users become roles and flags. */
function mappings(backend: Backend): Parts {
  return {
    ORGANIZATION_MAP: organizations(
      'Organizations',
      `Grants roles in organizations to users from ${LABELS[backend]}, instead of "Organizations of external users".`,
    ),
    TEAM_MAP: teams(
      'Teams',
      `Makes users from ${LABELS[backend]} members of teams, instead of "Teams of external users".`,
    ),
    USER_FLAGS_BY_ATTR: object(
      [
        'Superusers and auditors',
        'Which values of which attribute or claim make a user a superuser or a system auditor.',
      ],
      userFlags,
      { placeholder: { is_superuser_attr: 'groups', is_superuser_value: ['automation-admins'] } },
    ),
  };
}

/** The settings of single sign-on for all providers, in the controller's order. */
export const SHARED_SSO_DEFINITIONS: readonly SettingDefinition[] = definitions('authentication', {
  SOCIAL_AUTH_ORGANIZATION_MAP: organizations(
    'Organizations of external users',
    "Grants roles in organizations at each login through an identity provider. A provider's map " +
      'overrides this one.',
  ),
  SOCIAL_AUTH_TEAM_MAP: teams(
    'Teams of external users',
    'Maps users to teams: they become members of the team and of its organization at each login through an identity provider.',
  ),
  SOCIAL_AUTH_USER_FIELDS: {
    ...names(
      'Fields taken from an identity provider',
      'Which user fields come from the provider: username, email, first_name, last_name; all of them ' +
        'unless it is set. With an empty list, only users with an existing account can log in.',
    ),
    defaultValue: null,
    nullable: true,
    placeholder: ['username', 'first_name', 'last_name'],
    check: checkedBy(z.array(z.enum(['username', 'email', 'first_name', 'last_name'])).max(4)),
  },
  SOCIAL_AUTH_USERNAME_IS_FULL_EMAIL: flag(
    'Email address as username',
    'Whether new external users get their full email address as username, not only the part before the @.',
  ),
});

const GOOGLE: Parts = {
  ...client(
    'google-oauth2',
    line('Client ID', 'The client ID of the web application registered with Google.'),
    'The client secret for this client ID.',
  ),
  WHITELISTED_DOMAINS: names(
    'Allowed domains',
    'Only accounts in these Google Workspace domains. All accounts if empty.',
  ),
  AUTH_EXTRA_ARGUMENTS: EXTRA_ARGUMENTS,
  ISSUER: line('Issuer', 'The issuer of the ID tokens. Its configuration is discovered from this URL.', {
    defaultValue: 'https://accounts.google.com',
    check: checkIssuer,
  }),
  ...events('google-oauth2'),
};

const AZURE: Parts = {
  ...client(
    'azuread-oauth2',
    line('Application ID', 'The application (client) ID of the registration in Microsoft Entra.'),
    'The value of a client secret of the registration.',
  ),
  TENANT_ID: line(
    'Tenant',
    'The directory (tenant) ID whose users may log in. "organizations" or "common" for users of several ' +
      'tenants; in that case, list them in the allowed tenants.',
  ),
  WHITELISTED_TENANTS: names(
    'Allowed tenants',
    'Only users of the tenants with these IDs. All users of the tenant above if empty.',
  ),
  AUTH_EXTRA_ARGUMENTS: EXTRA_ARGUMENTS,
  AUTHORITY_HOST: line(
    'Authority',
    'The address of the cloud. The issuer is this address, the tenant and /v2.0.',
    { defaultValue: 'https://login.microsoftonline.com', check: checkAddress },
  ),
  ...events('azuread-oauth2'),
};

/** A provider whose certificate is not verified could be anyone. */
function checkVerified(value: unknown): Checked {
  const checked = checkBoolean(value);
  if ('problem' in checked || checked.value === true) return checked;
  const authority = "Add its CA to the service's NODE_EXTRA_CA_CERTS.";
  return { problem: [`The provider's certificate is always verified. ${authority}`] };
}

const OIDC: Parts = {
  ...client(
    'oidc',
    {
      ...line('Client ID', 'The client ID that the provider gave this service.'),
      defaultValue: null,
      nullable: true,
    },
    'The client secret for this client ID.',
  ),
  OIDC_ENDPOINT: line(
    'Issuer',
    "The provider's address without /.well-known/openid-configuration: https://keycloak.example.org/realms/staff.",
    { check: checkIssuer },
  ),
  VERIFY_SSL: {
    ...flag('Verify the certificate', "The provider's certificate is always verified."),
    defaultValue: true,
    check: checkVerified,
  },
  ...events('oidc'),
};

const GITHUB: Parts = {
  ...client(
    'github',
    line('Client ID', 'The client ID of the OAuth app registered with GitHub.'),
    'A client secret of the OAuth app.',
  ),
  ORG_NAME: line('Organization', 'Only members of this organization. All users if empty.'),
  TEAM_ID: line('Team', 'Only members of the team with this ID. See /user/teams of the API.'),
  URL: line('URL', 'URL of GitHub, or of GitHub Enterprise.', {
    defaultValue: 'https://github.com',
    check: checkAddress,
  }),
  API_URL: line('API URL', 'URL of the GitHub API. For GitHub Enterprise, it ends in /api/v3.', {
    defaultValue: 'https://api.github.com',
    check: checkAddress,
  }),
};

const SAML: Parts = {
  ...callbackUrl('saml'),
  METADATA_URL: derived('Metadata URL', "URL of this service's metadata, for identity providers."),
  SP_ENTITY_ID: line('Entity ID', 'The entity ID of this service at identity providers, usually its URL.'),
  SP_PUBLIC_CERT: line(
    'Certificate',
    'The certificate of the private key, in PEM. It is part of the metadata.',
    { check: checkCertificate },
  ),
  SP_PRIVATE_KEY: line(
    'Private key',
    'Signs requests and decrypts assertions; in PEM, without a passphrase.',
    { secret: true, check: checkPrivateKey },
  ),
  SECURITY_CONFIG: object(
    [
      'Message security',
      'authnRequestsSigned: whether requests are signed; requestedAuthnContext: false, or the contexts asked for; ' +
        'rejectDeprecatedAlgorithm: false to accept signatures with SHA-1.',
    ],
    securityConfig,
    { defaultValue: { requestedAuthnContext: false } },
  ),
  ENABLED_IDPS: object(
    [
      'Identity providers',
      'By a short, permanent name: entity_id, url, x509cert (one or several) and logout_url, or metadata_url or metadata ' +
        '(XML) to import them; label; name_id_format (persistent, email, none); the attributes attr_user_permanent_id, ' +
        'attr_username, attr_email, attr_first_name, attr_last_name; allow_idp_initiated.',
    ],
    enabledIdps,
    {
      placeholder: {
        corporate: {
          entity_id: 'https://idp.example.org/saml',
          url: 'https://idp.example.org/saml/sso',
          x509cert: 'MIIDdzCCAl…',
          attr_email: 'mail',
        },
      },
    },
  ),
};

const OF_BACKENDS = {
  'google-oauth2': GOOGLE,
  'azuread-oauth2': AZURE,
  oidc: OIDC,
  github: GITHUB,
  saml: SAML,
};

export const SSO_DEFINITIONS: readonly SettingDefinition[] = BACKENDS.flatMap((backend) =>
  definitions(backend, { ...OF_BACKENDS[backend], ...mappings(backend) }, `${PREFIXES[backend]}_`),
);

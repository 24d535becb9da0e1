import { checkCertificate, checkedBy, checkIssuer, checkPrivateKey } from './checks.ts';
import type { SettingDefinition } from './definitions.ts';
import {
  address,
  callbackUrl,
  extraArguments,
  line,
  mappings,
  names,
  ofBackend,
  secret,
} from './provider-definitions.ts';
import { enabledIdps, securityConfig } from './sso-schemas.ts';

const google = (name: string, part: Parameters<typeof ofBackend>[2]) =>
  ofBackend('google-oauth2', name, part);
const azure = (name: string, part: Parameters<typeof ofBackend>[2]) =>
  ofBackend('azuread-oauth2', name, part);
const github = (name: string, part: Parameters<typeof ofBackend>[2]) => ofBackend('github', name, part);
const saml = (name: string, part: Parameters<typeof ofBackend>[2]) => ofBackend('saml', name, part);

const GOOGLE: readonly SettingDefinition[] = [
  callbackUrl('google-oauth2'),
  google('KEY', line('Client ID', 'The client ID of the web application registered with Google.')),
  google('SECRET', secret('Client secret', 'The client secret that goes with it.')),
  google(
    'WHITELISTED_DOMAINS',
    names('Allowed domains', 'Only accounts of these Google Workspace domains; everybody where it is empty.'),
  ),
  google('AUTH_EXTRA_ARGUMENTS', extraArguments()),
  google('ISSUER', {
    ...address('Issuer', {
      helpText: 'The issuer of the id tokens, under which its configuration is discovered.',
      defaultValue: 'https://accounts.google.com',
    }),
    check: checkIssuer,
  }),
  ...mappings('google-oauth2'),
];

const AZURE: readonly SettingDefinition[] = [
  callbackUrl('azuread-oauth2'),
  azure('KEY', line('Application ID', 'The application (client) ID of the registration in Microsoft Entra.')),
  azure('SECRET', secret('Client secret', 'The value of a client secret of the registration.')),
  azure(
    'TENANT_ID',
    line(
      'Tenant',
      'The directory (tenant) ID whose users may log in. `organizations` or `common` for users of several ' +
        'tenants: name them in the allowed tenants then.',
    ),
  ),
  azure(
    'WHITELISTED_TENANTS',
    names('Allowed tenants', 'Only users of the tenants with these IDs; all of TENANT_ID where it is empty.'),
  ),
  azure('AUTH_EXTRA_ARGUMENTS', extraArguments()),
  azure(
    'AUTHORITY_HOST',
    address('Authority', {
      helpText: 'The address of the cloud; the issuer is this, the tenant and /v2.0.',
      defaultValue: 'https://login.microsoftonline.com',
    }),
  ),
  ...mappings('azuread-oauth2'),
];

const GITHUB: readonly SettingDefinition[] = [
  callbackUrl('github'),
  github('KEY', line('Client ID', 'The client ID of the OAuth app registered with GitHub.')),
  github('SECRET', secret('Client secret', 'A client secret of the OAuth app.')),
  github('ORG_NAME', line('Organization', 'Only members of this organization; everybody where it is empty.')),
  github('TEAM_ID', line('Team', 'Only members of the team with this number; see /user/teams of the API.')),
  github(
    'URL',
    address('URL', {
      helpText: 'Where GitHub is; that of GitHub Enterprise is its own.',
      defaultValue: 'https://github.com',
    }),
  ),
  github(
    'API_URL',
    address('API URL', {
      helpText: 'Where the API of GitHub is; that of GitHub Enterprise ends in /api/v3.',
      defaultValue: 'https://api.github.com',
    }),
  ),
  ...mappings('github'),
];

const SAML: readonly SettingDefinition[] = [
  callbackUrl('saml'),
  saml('METADATA_URL', {
    type: 'string',
    label: 'Metadata URL',
    helpText: 'Where identity providers find the metadata of this service.',
    defaultValue: '',
    readOnly: true,
  }),
  saml('SP_ENTITY_ID', line('Entity ID', 'What identity providers know this service by, usually its URL.')),
  saml('SP_PUBLIC_CERT', {
    ...line('Certificate', 'The certificate of the key below, in PEM; it is part of the metadata.'),
    check: checkCertificate,
  }),
  saml('SP_PRIVATE_KEY', {
    ...secret('Private key', 'Signs requests and decrypts assertions; in PEM, without a passphrase.'),
    check: checkPrivateKey,
  }),
  saml('SECURITY_CONFIG', {
    type: 'nested object',
    label: 'Protection of messages',
    helpText:
      'authnRequestsSigned: whether requests are signed; requestedAuthnContext: false, or the contexts asked for.',
    defaultValue: { requestedAuthnContext: false },
    check: checkedBy(securityConfig),
  }),
  saml('ENABLED_IDPS', {
    type: 'nested object',
    label: 'Identity providers',
    helpText:
      'By a short name that stays: entity_id, url, x509cert (one or several), and the attributes ' +
      'attr_user_permanent_id, attr_username, attr_email, attr_first_name, attr_last_name; allow_idp_initiated.',
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

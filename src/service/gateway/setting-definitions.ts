import type { SettingDefinition } from '../settings/definitions.ts';

/** The groups of a gateway's settings. */
export type Section = 'configuration' | 'local_login' | 'oauth2_provider' | 'proxy';

/** How one setting of a gateway is described, checked and presented. */
export interface GatewaySetting
  extends Pick<SettingDefinition, 'label' | 'helpText' | 'minimum' | 'maximum' | 'readOnly'> {
  readonly section: Section;
  readonly name: string;
  readonly type: 'integer' | 'boolean' | 'string';
  readonly defaultValue: number | boolean | string;
}

const shortest = (what: 'length' | 'digits' | 'upper' | 'special', characters: string): GatewaySetting => ({
  section: 'local_login',
  name: `password_min_${what}`,
  type: 'integer',
  label: `Fewest ${characters} in a local password`,
  helpText: `A password set from now on has at least this many ${characters}. 0 asks for none.`,
  defaultValue: 0,
  minimum: 0,
  maximum: 100,
});

/** What the service has no use for: shown as a gateway has it, and read-only. */
const unused = (
  setting: Pick<GatewaySetting, 'section' | 'name' | 'type' | 'label' | 'defaultValue'>,
): GatewaySetting => ({ ...setting, helpText: 'Stays as it is here.', readOnly: true });

/**
 * The settings of the gateway dialect, with a gateway's sections, names and defaults. The tables' step of the
 * migrations makes their rows and says which setting of the service each is.
 */
export const GATEWAY_SETTINGS: readonly GatewaySetting[] = [
  {
    section: 'configuration',
    name: 'SESSION_COOKIE_AGE',
    type: 'integer',
    label: 'Session cookie age',
    helpText: 'A user who sends no request for this many seconds has to log in again.',
    defaultValue: 900,
    minimum: 60,
    maximum: 30_000_000_000,
  },
  unused({
    section: 'configuration',
    name: 'DEFAULT_PAGE_SIZE',
    type: 'integer',
    label: 'Default page size',
    defaultValue: 50,
  }),
  unused({
    section: 'configuration',
    name: 'MAX_PAGE_SIZE',
    type: 'integer',
    label: 'Largest page size',
    defaultValue: 200,
  }),
  shortest('length', 'characters'),
  shortest('digits', 'digits'),
  shortest('upper', 'upper-case letters'),
  shortest('special', 'special characters'),
  {
    section: 'local_login',
    name: 'LOGIN_REDIRECT_OVERRIDE',
    type: 'string',
    label: 'Where to log in instead',
    helpText: 'A URL, which is only stored: nothing here sends users there.',
    defaultValue: '',
  },
  {
    section: 'oauth2_provider',
    name: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
    type: 'boolean',
    label: 'Let external users create tokens',
    helpText: 'Whether users of an identity provider may create tokens. Turning it off leaves existing ones.',
    defaultValue: false,
  },
  {
    section: 'proxy',
    name: 'gateway_basic_auth_enabled',
    type: 'boolean',
    label: 'Basic authentication',
    helpText: 'Whether the API accepts a user name and password with each request.',
    defaultValue: true,
  },
  unused({
    section: 'proxy',
    name: 'gateway_access_token_expiration',
    type: 'integer',
    label: 'Life of the tokens between gateway and services',
    defaultValue: 600,
  }),
  unused({
    section: 'proxy',
    name: 'gateway_token_name',
    type: 'string',
    label: 'Header of the tokens between gateway and services',
    defaultValue: 'X-DAB-JW-TOKEN',
  }),
];

/** The sections in their order, and `all`. */
export const SECTIONS: readonly ('all' | Section)[] = [
  'all',
  ...new Set(GATEWAY_SETTINGS.map(({ section }) => section)),
];

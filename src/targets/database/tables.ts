import type { Layout } from './layout.ts';

/**
 * The tables that mean the same in every layout, and in what little they differ otherwise. All of it is SQL
 * of constant parts: what a query is made of never comes from anywhere else.
 */
export interface Tables {
  readonly accessTokens: 'main_oauth2accesstoken' | 'dab_oauth2_provider_oauth2accesstoken';
  readonly refreshTokens: 'oauth2_provider_refreshtoken' | 'dab_oauth2_provider_oauth2refreshtoken';
  readonly applications: 'main_oauth2application' | 'dab_oauth2_provider_oauth2application';
  readonly users: 'auth_user' | 'aap_gateway_api_user';
  /** What says whose a session is; sessions themselves are in `django_session` everywhere. */
  readonly memberships: 'main_usersessionmembership' | 'aap_gateway_api_usersessionmembership';
  readonly settings: 'conf_setting' | 'aap_gateway_api_preference';
  readonly activity: 'main_activitystream' | 'dab_activitystream_entry';
  /** Whether a token's column holds its SHA-256 (hex), or the token as it is. */
  readonly hashed: boolean;
  /** The columns of a new access token that say when it was made. */
  readonly tokenStamps: readonly ('created' | 'updated' | 'modified')[];
  /** The column of a refresh token that says when it was last changed. */
  readonly refreshStamp: 'updated' | 'modified';
  /** What is set along with a user, as the end of a SET clause. */
  readonly userStamp: '' | ', modified = now()';
}

const CONTROLLER: Tables = {
  accessTokens: 'main_oauth2accesstoken',
  refreshTokens: 'oauth2_provider_refreshtoken',
  applications: 'main_oauth2application',
  users: 'auth_user',
  memberships: 'main_usersessionmembership',
  settings: 'conf_setting',
  activity: 'main_activitystream',
  hashed: false,
  tokenStamps: ['created', 'updated', 'modified'],
  refreshStamp: 'updated',
  userStamp: '',
};

/** The tables of each layout. */
export const TABLES: Readonly<Record<Layout, Tables>> = {
  controller: CONTROLLER,
  service: { ...CONTROLLER, hashed: true },
  gateway: {
    accessTokens: 'dab_oauth2_provider_oauth2accesstoken',
    refreshTokens: 'dab_oauth2_provider_oauth2refreshtoken',
    applications: 'dab_oauth2_provider_oauth2application',
    users: 'aap_gateway_api_user',
    memberships: 'aap_gateway_api_usersessionmembership',
    settings: 'aap_gateway_api_preference',
    activity: 'dab_activitystream_entry',
    hashed: true,
    tokenStamps: ['created', 'modified'],
    refreshStamp: 'modified',
    userStamp: ', modified = now()',
  },
};

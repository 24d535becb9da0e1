import type { RightsPurpose } from '../../operations/ports/target-description.ts';
import type { Layout } from './layout.ts';

/** A right on a table that the queries need; without columns it is one on the whole table. */
export interface Need {
  readonly table: string;
  readonly privilege: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
  readonly columns?: readonly string[];
}

const ACTIVITY = 'main_activitystream';
const LINK = 'main_activitystream_o_auth2_access_token';
const ACCESS = 'main_oauth2accesstoken';
const REFRESH = 'oauth2_provider_refreshtoken';

const read = (table: string, ...columns: string[]): Need => ({ table, privilege: 'SELECT', columns });

const READ: readonly Need[] = [
  read('auth_user', 'id', 'username', 'password', 'is_superuser', 'is_active', 'last_login'),
  read('main_profile', 'user_id', 'ldap_dn'),
  read('social_auth_usersocialauth', 'user_id'),
  read('sso_userenterpriseauth', 'user_id'),
  read('main_oauth2application', 'id', 'name', 'client_type', 'authorization_grant_type', 'created'),
  read(
    ACCESS,
    ...[
      'id',
      'token',
      'expires',
      'scope',
      'created',
      'description',
      'last_used',
      'application_id',
      'user_id',
    ],
    'source_refresh_token_id',
  ),
  read(REFRESH, 'id', 'token', 'access_token_id', 'application_id', 'user_id', 'created', 'revoked'),
  read('conf_setting', 'id', 'key', 'value', 'user_id'),
  read('django_session', 'session_key', 'expire_date'),
  read('main_usersessionmembership', 'session_id', 'user_id', 'created'),
  read(ACTIVITY, 'id', 'timestamp', 'operation', 'changes', 'object1', 'actor_id'),
  read(LINK, 'activitystream_id', 'oauth2accesstoken_id'),
];

const NOTE: Need = {
  table: ACTIVITY,
  privilege: 'INSERT',
  columns: [
    ...['operation', 'timestamp', 'changes', 'object_relationship_type', 'object1', 'object2'],
    ...['action_node', 'setting'],
  ],
};

/** Rows are locked before they go, which takes the right to update a column, whichever. */
const REVOKE: readonly Need[] = [
  { table: ACCESS, privilege: 'UPDATE', columns: ['source_refresh_token_id'] },
  { table: ACCESS, privilege: 'DELETE' },
  { table: REFRESH, privilege: 'SELECT', columns: ['updated'] },
  { table: REFRESH, privilege: 'UPDATE', columns: ['access_token_id', 'revoked', 'updated'] },
  { table: LINK, privilege: 'DELETE' },
  NOTE,
];

/** What each purpose needs; all but `read` besides what `read` needs. */
export const NEEDS: Readonly<Record<RightsPurpose, readonly Need[]>> = {
  read: READ,
  revoke: REVOKE,
  sessions: [
    { table: 'django_session', privilege: 'UPDATE', columns: ['expire_date'] },
    { table: 'django_session', privilege: 'DELETE' },
    { table: 'main_usersessionmembership', privilege: 'DELETE' },
  ],
  settings: [
    { table: 'conf_setting', privilege: 'INSERT', columns: ['created', 'modified', 'key', 'value'] },
    // On the whole table: it is locked against others who write.
    { table: 'conf_setting', privilege: 'UPDATE' },
    NOTE,
  ],
  create: [
    {
      table: ACCESS,
      privilege: 'INSERT',
      columns: ['token', 'expires', 'scope', 'created', 'updated', 'modified', 'description', 'user_id'],
    },
    NOTE,
    { table: LINK, privilege: 'INSERT', columns: ['activitystream_id', 'oauth2accesstoken_id'] },
  ],
  cleanup: [...REVOKE, { table: REFRESH, privilege: 'DELETE' }],
  users: [{ table: 'auth_user', privilege: 'UPDATE', columns: ['is_active'] }, NOTE],
};

/** The service's table of roles, which a controller's database lacks. */
const SERVICE_READ: readonly Need[] = [read('service_role', 'user_id', 'role')];

/** What a purpose needs in a layout. */
export function needsOf(purpose: RightsPurpose, layout: Layout): readonly Need[] {
  return purpose === 'read' && layout === 'service' ? [...READ, ...SERVICE_READ] : NEEDS[purpose];
}

/** The tables that the queries use in a layout, each with the columns they name. */
export function tablesOf(layout: Layout): ReadonlyMap<string, readonly string[]> {
  const tables = new Map<string, readonly string[]>();
  for (const purpose of Object.keys(NEEDS) as RightsPurpose[]) {
    for (const { table, columns = [] } of needsOf(purpose, layout)) {
      tables.set(table, [...new Set([...(tables.get(table) ?? []), ...columns])]);
    }
  }
  return tables;
}

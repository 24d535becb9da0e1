import type { Migration } from '@tokenctl/common/db/migrate.ts';

/** Indexes alone suffice to read the ids of a list, and the latest activity first. */
export const listIndexes: Migration = {
  number: 17,
  name: 'list-indexes',
  sql: `
CREATE INDEX ON main_group_hosts (host_id, group_id);
DROP INDEX main_group_hosts_host_id_idx;
CREATE INDEX ON service_role (organization_id, role, user_id);
DROP INDEX service_role_organization_id_idx;
CREATE INDEX ON auth_user (id) WHERE is_superuser;
CREATE INDEX ON main_activitystream (timestamp);
CREATE INDEX ON service_role_grant (role_id, user_id);
DROP INDEX service_role_grant_role_id_idx;
`,
};

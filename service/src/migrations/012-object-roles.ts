import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * Roles of objects for users and teams. Roles of organizations and teams that have their own columns and tables are
 * not included. Each object gets its roles when it is created. As on the controller, each role has an id.
 */
export const objectRoles: Migration = {
  number: 12,
  name: 'object roles',
  sql: `
CREATE TABLE service_object_role (
  id integer PRIMARY KEY DEFAULT nextval('service_role_id'),
  resource_type varchar(32) NOT NULL,
  resource_id integer NOT NULL,
  role varchar(32) NOT NULL,
  UNIQUE (resource_type, resource_id, role)
);
CREATE TABLE service_role_grant (
  role_id integer NOT NULL REFERENCES service_object_role (id) ON DELETE CASCADE,
  user_id integer REFERENCES auth_user (id) ON DELETE CASCADE,
  team_id integer REFERENCES main_team (id) ON DELETE CASCADE,
  CHECK ((user_id IS NULL) <> (team_id IS NULL)),
  UNIQUE (user_id, role_id),
  UNIQUE (team_id, role_id)
);
CREATE INDEX ON service_role_grant (role_id);

CREATE FUNCTION service_add_roles() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO service_object_role (resource_type, resource_id, role)
  SELECT TG_ARGV[0], NEW.id, r.role FROM unnest(string_to_array(TG_ARGV[1], ' ')) WITH ORDINALITY r (role, n)
  ORDER BY r.n; RETURN NULL; END $$;
CREATE FUNCTION service_remove_roles() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM service_object_role
  WHERE resource_type = TG_ARGV[0] AND resource_id = OLD.id; RETURN NULL; END $$;
${[
  [
    'main_organization',
    'organization',
    'execute project_admin inventory_admin credential_admin workflow_admin notification_admin job_template_admin execution_environment_admin read approval',
  ],
  ['main_team', 'team', 'read'],
  ['service_project', 'project', 'admin use update read'],
  ['main_inventory', 'inventory', 'admin update adhoc use read'],
  ['main_credential', 'credential', 'admin use read'],
  ['service_job_template', 'job_template', 'admin execute read'],
]
  .map(
    ([table, type, roles]) => `
INSERT INTO service_object_role (resource_type, resource_id, role)
  SELECT '${type}', x.id, r.role FROM ${table} x,
    unnest(string_to_array('${roles}', ' ')) WITH ORDINALITY r (role, n) ORDER BY x.id, r.n;
CREATE TRIGGER service_add_roles AFTER INSERT ON ${table}
  FOR EACH ROW EXECUTE FUNCTION service_add_roles('${type}', '${roles}');
CREATE TRIGGER service_remove_roles AFTER DELETE ON ${table}
  FOR EACH ROW EXECUTE FUNCTION service_remove_roles('${type}');`,
  )
  .join('\n')}
`,
};

import pg from 'pg';
import type { SimulatedController, SimulatedObject } from './controller.ts';
import type { Numbers, RealRows, Row } from './real-rows.ts';

/** Which columns of tables a kind's fields are in. */
const STORES: Readonly<Record<SimulatedObject['kind'], readonly string[]>> = {
  user: ['auth_user'],
  job_template: ['main_unifiedjobtemplate:job_template', 'main_jobtemplate'],
  project: ['main_unifiedjobtemplate:project', 'main_project'],
  host: ['main_host'],
  inventory: ['main_inventory'],
  o_auth2_application: ['main_oauth2application'],
  o_auth2_access_token: ['main_oauth2accesstoken'],
};

/** Puts what is there at the end of a history, and its entries, into the tables. */
export async function writeRows(
  client: pg.Client,
  real: RealRows,
  { controller, numbers }: { controller: SimulatedController; numbers: Numbers },
): Promise<void> {
  const tables = new Map<string, Row[]>();
  const add = (table: string, row: Row) => tables.set(table, [...(tables.get(table) ?? []), row]);
  for (const object of controller.objects.values()) {
    for (const store of STORES[object.kind]) {
      const [table = store] = store.split(':');
      add(table, { ...real.rows.get(store), ...columnsOf(object, real.rows.get(store) ?? {}) });
    }
  }
  for (const [key, { id, value }] of controller.settings)
    add('conf_setting', { ...real.rows.get('conf_setting'), id, key, value });
  for (const { id, field, about } of controller.roles) {
    const model = about.kind.replaceAll('_', '');
    const type = real.contentTypes.get(model);
    add('main_rbac_roles', {
      ...{ id, role_field: field, implicit_parents: '[]', content_type_id: type, object_id: about.id },
    });
  }
  for (const { id, role, user } of controller.members.values())
    add('main_rbac_roles_members', { id, role_id: role, user_id: user });
  for (const { id, at, role, user, by } of controller.assignments.values()) {
    const type = real.contentTypes.get(role.about.kind.replaceAll('_', ''));
    add('dab_rbac_roleuserassignment', {
      ...{ id, created: at, user_id: user, created_by_id: by, content_type_id: type },
      ...{ object_id: String(role.about.id), role_definition_id: real.definitions.get(role.definition) },
    });
  }
  for (const { id, template, credential } of controller.linked.values())
    add('main_unifiedjobtemplate_credentials', {
      id,
      unifiedjobtemplate_id: template,
      credential_id: credential,
    });
  for (const entry of controller.entries) {
    const { id, at, operation, actor, actorName, changes, object1, object2, relationship, setting } = entry;
    const isThere = actor !== null && controller.objects.has(`user:${actor}`);
    add('main_activitystream', {
      ...{ id, operation, timestamp: at, changes: JSON.stringify(changes), object1, object2, setting },
      ...{
        object_relationship_type: relationship,
        action_node: 'awx-peer',
        actor_id: isThere ? actor : null,
      },
      deleted_actor:
        actor === null ? null : { id: actor, username: actorName, last_name: '', first_name: '' },
    });
    for (const [kind, linked] of entry.links)
      add(`main_activitystream_${kind}`, {
        ...{
          id: numbers.next(),
          activitystream_id: id,
          [`${kind.replaceAll('_', '')}_id`.replace('oauth2', 'oauth2')]: linked,
        },
      });
  }
  const statements = [...tables].map(
    ([table, rows]) =>
      `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, ${pg.escapeLiteral(JSON.stringify(rows))})`,
  );
  // Sent as one, they are one transaction, at whose end the foreign keys are looked at.
  const forgotten = 'DELETE FROM conf_setting WHERE id > 100000';
  const emptied = controller.isEmptied ? ['TRUNCATE main_activitystream CASCADE'] : [];
  const given = `SELECT setval(pg_get_serial_sequence('main_activitystream', 'id'), ${numbers.lastEntry})`;
  await client.query([forgotten, ...emptied, ...statements, given].join(';\n'));
}

function columnsOf({ id, kind, fields }: SimulatedObject, row: Row): Row {
  const columns: Record<string, unknown> =
    'unifiedjobtemplate_ptr_id' in row ? { unifiedjobtemplate_ptr_id: id } : { id };
  for (const [field, value] of Object.entries(fields)) {
    if (field in row) columns[field] = value;
    else if (`${field}_id` in row) columns[`${field}_id`] = value;
  }
  if (kind === 'o_auth2_application') columns['client_id'] = `client-${id}`;
  if (kind === 'o_auth2_access_token') columns['token'] = `token-${id}`;
  // The roles of the row that this one is made by are another object's.
  return {
    ...Object.fromEntries(Object.keys(row).flatMap((name) => (/_role_id$/.test(name) ? [[name, null]] : []))),
    ...columns,
  };
}

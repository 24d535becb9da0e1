import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOtherChangeLeft, remains } from '../../../src/domain/investigation/investigation.ts';
import { openDatabaseEvidence } from '../../../src/targets/database/evidence/evidence.ts';
import { loadRealCase, type RealCase } from '../../support/real-stream.ts';
import { describeEach, loadRealTables, type Peer, REAL_PEERS } from '../../support/real-tables.ts';

const PEERS: readonly Peer[] = ['awx-24.6.1', 'awx-23.5.1', 'awx-21.14.0', 'awx-devel'];

describeEach(kinds(PEERS.filter((peer) => REAL_PEERS.includes(peer))))('a move in %s', (peer) => {
  let real: RealCase;
  beforeEach(async () => {
    real = await loadRealCase(peer);
  });
  afterEach(async () => await real.close());

  const scalar = async (sql: string, values: readonly unknown[] = []) =>
    (await real.database.query<{ value: number }>(sql, [...values]))[0]?.value ?? 0;

  /** Gives a user a role of an organization by the tables of roles that this version has. */
  async function appoint(username: string, organization: number): Promise<void> {
    const user = real.id[username];
    await real.database.execute(
      `INSERT INTO main_rbac_roles_members (role_id, user_id)
       SELECT admin_role_id, $1 FROM main_organization WHERE id = $2`,
      [user, organization],
    );
  }

  /** bob moves an object, as the tables and the entry have it. */
  async function move(kind: string, field: string, places: readonly [string, string]) {
    const table = `main_${kind.replaceAll('_', '')}`;
    const isTemplate = ['project', 'job_template', 'workflow_job_template'].includes(kind);
    const key = isTemplate ? 'unifiedjobtemplate_ptr_id' : 'id';
    const id = await scalar(`SELECT min(${key})::int AS value FROM ${table}`);
    const holder = isTemplate && field === 'organization' ? 'main_unifiedjobtemplate' : table;
    await real.database.execute(
      `UPDATE ${holder} SET ${field}_id = $1 WHERE ${holder === table ? key : 'id'} = $2`,
      [Number(places[1].split('-').at(-1)), id],
    );
    await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation: 'update', object1: kind },
      ...{ changes: { [field]: places }, links: { [kind]: id } },
    });
    return id;
  }

  const gained = async (key: string) => {
    const item = (await real.investigate('bob')).items.find(({ id }) => id === key);
    return { item, finding: item?.findings.find(({ rule }) => rule === 'moved') };
  };

  it.each(kinds(['project', 'inventory', 'credential', 'team']))(
    'of a %s names who has a role where it is now, and remains',
    async (kind) => {
      await appoint('carol', 2);
      await appoint('gone', 1);
      if (kind === 'team')
        await real.database.execute(
          `INSERT INTO main_team (created, modified, name, description, organization_id) VALUES (now(), now(), 'ops', '', 1)`,
        );
      const id = await move(kind, 'organization', ['Default-1', 'Eng-2']);
      const { item, finding } = await gained(`${kind}:${id}`);
      expect(finding).toMatchObject({ severity: 'high' });
      expect(finding?.message).toMatch(/ organization Eng \(2\).*carol \(admin_role\)/);
      expect(finding?.message).not.toContain('gone');
      if (item === undefined) throw new Error('no item');
      expect([remains(item), isOtherChangeLeft(item), item.state]).toEqual([true, false, 'there']);
      // The roles of an object are computed by the controller: no SQL moves it back.
      const { keep } = await real.plan('bob');
      expect(keep.find((each) => each.item.id === item.id)).toMatchObject({ reason: 'by_hand' });
    },
  );

  it('of a host to another inventory names the administrators of the organization of that', {
    tags: ['long'],
  }, async () => {
    await appoint('carol', 2);
    await real.database.execute(
      `INSERT INTO main_inventory SELECT (jsonb_populate_record(i, jsonb_build_object('id', 900, 'name', 'other', 'organization_id', 2,
         'admin_role_id', NULL, 'adhoc_role_id', NULL, 'update_role_id', NULL, 'use_role_id', NULL, 'read_role_id', NULL))).*
       FROM main_inventory i WHERE id = 1`,
    );
    const id = await move('host', 'inventory', ['Demo Inventory-1', 'other-900']);
    const { item, finding } = await gained(`host:${id}`);
    expect(finding?.message).toMatch(/ inventory other \(900\).*carol \(admin_role\)/);
    expect(item).toMatchObject({ risk: 'high', state: 'there', group: 'code_later' });
  });

  it('by a team, and by the newer tables of roles', { tags: ['long'] }, async () => {
    await real.database.execute(
      `INSERT INTO main_team (id, created, modified, name, description, organization_id, member_role_id)
       SELECT 900, now(), now(), 'ops', '', 2, use_role_id FROM main_credential ORDER BY id LIMIT 1`,
    );
    await real.database.execute(
      `INSERT INTO main_rbac_roles_members (role_id, user_id) SELECT member_role_id, $1 FROM main_team WHERE id = 900`,
      [real.id['carol']],
    );
    await real.database.execute(
      `INSERT INTO main_rbac_roles_parents (from_role_id, to_role_id)
       SELECT o.project_admin_role_id, t.member_role_id FROM main_team t JOIN main_organization o ON o.id = 2 WHERE t.id = 900`,
    );
    const hasNewer = await scalar(
      "SELECT count(*)::int AS value FROM pg_tables WHERE tablename = 'dab_rbac_roleuserassignment'",
    );
    if (hasNewer > 0)
      await real.database.execute(
        `INSERT INTO dab_rbac_roleuserassignment (created, content_type_id, object_id, role_definition_id, user_id)
         SELECT now(), c.id, '2', d.id, $1 FROM django_content_type c, dab_rbac_roledefinition d
         WHERE c.model = 'organization' AND d.name = 'Organization Admin'`,
        [real.id['offb']],
      );
    const id = await move('project', 'organization', ['Default-1', 'Eng-2']);
    const { finding } = await gained(`project:${id}`);
    expect(finding?.message).toContain('carol (project_admin_role)');
    if (hasNewer > 0) expect(finding?.message).toContain('offb (admin_role)');
  });

  /** An entry that an object has a role by another one, as the controller writes it. */
  async function inherit(
    operation: 'associate' | 'disassociate',
    object: readonly [kind: string, id: number],
    of: readonly [kind: string, id: number, role: number, field: string],
  ) {
    const [[object1, id], [object2, about, role, field]] = [object, of];
    const model = object2 === 'team' ? 'organization.Team' : 'organization.Organization';
    await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation, object1, object2 },
      relationship: `awx.main.models.${model}.${field}`,
      changes: {
        ...{ object1, object1_pk: id, object2, object2_pk: role, action: operation },
        relationship: 'awx.main.models.rbac.Role_parents',
      },
      links: { [object1]: id, [object2]: about, role },
    });
  }

  it('is one item, and not one for each role that the former organization gave', async () => {
    const id = await move('project', 'organization', ['Default-1', 'Eng-2']);
    const template = await scalar(
      'SELECT min(unifiedjobtemplate_ptr_id)::int AS value FROM main_jobtemplate',
    );
    for (const field of ['auditor_role', 'project_admin_role']) {
      const role = await scalar(`SELECT ${field}_id AS value FROM main_organization WHERE id = 1`);
      await inherit('disassociate', ['project', id], ['organization', 1, role, field]);
      await inherit('disassociate', ['job_template', template], ['organization', 1, role, field]);
    }
    const { items } = await real.investigate('bob');
    expect(items.filter(({ role }) => role !== null)).toEqual([]);
    expect(items.some((item) => item.id === `project:${id}`)).toBe(true);
  });

  it('names access that a credential gives to a team, and whether it still does', {
    tags: ['long'],
  }, async () => {
    await real.database.execute(
      `INSERT INTO main_team (id, created, modified, name, description, organization_id)
       VALUES (900, now(), now(), 'ops', '', 1)`,
    );
    const role = await scalar(
      `INSERT INTO main_rbac_roles (role_field, implicit_parents, content_type_id, object_id)
       SELECT 'admin_role', '[]', id, 900 FROM django_content_type WHERE model = 'team' AND app_label = 'main'
       RETURNING id AS value`,
    );
    const credential = await scalar('SELECT min(id)::int AS value FROM main_credential');
    await real.database.execute(
      `INSERT INTO main_rbac_roles_parents (from_role_id, to_role_id)
       SELECT r.id, $2 FROM main_rbac_roles r JOIN django_content_type c ON c.id = r.content_type_id
       WHERE c.model = 'credential' AND r.object_id = $1 AND r.role_field = 'admin_role'`,
      [credential, role],
    );
    await inherit('associate', ['credential', credential], ['team', 900, role, 'admin_role']);
    const found = async () =>
      (await real.investigate('bob')).items.find(({ role: of }) => of?.id === role && of.field !== null);
    expect(await found()).toMatchObject({
      ...{ risk: 'high', state: 'there', group: 'ways_in' },
      summary: expect.stringMatching(
        /^gave access to credential .* to holders of admin_role on team ops \(900\)$/,
      ),
    });
    await real.database.execute('DELETE FROM main_rbac_roles_parents WHERE to_role_id = $1', [role]);
    expect(await found()).toMatchObject({ state: 'gone' });
  });

  it('is over once it was moved back', async () => {
    await appoint('carol', 2);
    const id = await move('project', 'organization', ['Default-1', 'Eng-2']);
    await move('project', 'organization', ['Eng-2', 'Default-1']);
    const { item } = await gained(`project:${id}`);
    expect(item).toMatchObject({ state: 'undone' });
  });
});

describe.runIf(REAL_PEERS.includes('gateway-newest'))('the roles of gateway-newest', () => {
  it('have holders, by themselves and by teams', async () => {
    const real = await loadRealTables('gateway-newest');
    const evidence = await openDatabaseEvidence({ connection: new Secret(real.url) });
    try {
      const assign = (kind: 'user' | 'team', holder: number, definition: string, object: string) =>
        real.database.execute(
          `INSERT INTO dab_rbac_role${kind}assignment (created, content_type_id, object_id, role_definition_id, ${kind}_id)
           SELECT now(), c.id, '7', d.id, $1 FROM django_content_type c, dab_rbac_roledefinition d
           WHERE c.model = $2 AND d.name = $3`,
          [holder, object, definition],
        );
      await assign('user', real.filling.users['alice'] ?? 0, 'Organization Admin', 'organization');
      await real.database.execute(
        `INSERT INTO aap_gateway_api_team (id, created, modified, name, description, organization_id)
         VALUES (7, now(), now(), 'seven', '', 1)`,
      );
      await assign('user', real.filling.users['bob'] ?? 0, 'Team Member', 'team');
      await assign('team', 7, 'Organization Member', 'organization');
      const holders = await evidence.roleHolders({ kind: 'organization', id: 7 });
      expect(holders?.map(({ holder, role }) => `${holder} ${role}`).sort()).toEqual([
        'alice admin_role',
        'bob member_role',
      ]);
    } finally {
      await evidence.close();
      await real.close();
    }
  });
});

import assert from 'node:assert/strict';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER } from '../needs.ts';
import { asUser, makeUser } from '../own-objects.ts';
import { expectAsSaid, expectClosed, type Report } from '../reports.ts';
import { expectStatus } from '../requests.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';

/** What a user may do: whether as a superuser, and in how many roles of either kind (null where there is only one). */
async function heldBy(it: Installation, id: number) {
  const { body } = expectStatus(await it.request(`users/${id}/`, it.admin), 200);
  const roles = expectStatus(await it.request(`users/${id}/roles/`, it.admin), 200).body;
  // Not among the roles of the user.
  const path = `role_user_assignments/?user__id=${id}&role_definition__name=Organization%20Project%20Admin`;
  const assigned = await it.request(path, it.admin);
  return {
    superuser: body['is_superuser'],
    roles: Number(roles['count']),
    assigned: assigned.status === 200 ? Number(assigned.body['count']) : null,
  };
}

/** Gives a user a role in the run's organization, and one of the newer kind where there are such. */
async function giveRoles(it: Installation, id: number): Promise<void> {
  const { body } = expectStatus(await it.request(`organizations/${it.organization}/`, it.admin), 200);
  const { object_roles: roles } = body['summary_fields'] as {
    object_roles: { auditor_role: { id: number } };
  };
  const path = `users/${id}/roles/`;
  expectStatus(await it.request(path, it.admin, { body: { id: roles.auditor_role.id } }), 204);
  const named = 'role_definitions/?name=Organization%20Project%20Admin';
  const definitions = await it.request(named, it.admin);
  const [definition] = (definitions.body['results'] ?? []) as readonly { id: number }[];
  if (definition === undefined) return;
  const given = { user: id, role_definition: definition.id, object_id: it.organization };
  expectStatus(await it.request('role_user_assignments/', it.admin, { body: given }), 201);
}

/** The ways in that a new password and a revocation close over REST. */
const BY_REST = ['personal', 'application', 'basic', 'login', 'password'] as const;

/** Passwords, roles and applications, which only the REST API changes. */
export const localAccess: AcceptanceSuite = {
  name: 'Offboarding over REST',
  needs: [CONTROLLER],
  scenarios: [
    {
      name: 'a new password ends every way in that is said to be closed',
      run: async (it) => {
        const { account, access } = await scene(it, 'renewed');
        const offboard = ['users', 'offboard', account.name, '--reset-password', '--yes'];
        const { code, body } = await homeOf(it).json<Report>(...offboard);
        assert.equal(code, 5);
        expectClosed(it, body, ...BY_REST);
        await expectAsSaid(it, access, body);
      },
    },
    {
      name: 'taken roles and ended applications leave a former superuser nothing that is said to be closed',
      run: async (it) => {
        const { account, access } = await scene(it, 'leaving', { is_superuser: true });
        const { code, body, stderr } = await homeOf(it).json<Report>(
          ...['users', 'offboard', account.name, '--reset-password', '--strip-roles'],
          ...['--end-applications', '--yes'],
        );
        assert.equal(code, 5, stderr);
        expectClosed(it, body, ...BY_REST);
        assert.equal(body.accessPaths.find(({ path }) => path === 'roles')?.state, 'closed');
        await expectAsSaid(it, access, body);
        const { superuser, roles, assigned } = await heldBy(it, account.id);
        assert.deepEqual([superuser, roles, assigned ?? 0], [false, 0, 0]);
      },
    },
    {
      name: 'lifting a lockdown gives the roles back, and not the password',
      run: async (it) => {
        const account = await makeUser(it, 'locked', { is_superuser: true });
        await giveRoles(it, account.id);
        const before = await heldBy(it, account.id);
        assert.ok(before.superuser === true && before.roles > 0);
        const { json, run } = homeOf(it);
        const locked = await json<Report>(
          ...['incident', 'lockdown', '--user', account.name, '--reset-password', '--strip-roles', '--yes'],
        );
        assert.equal(locked.code, 5, locked.stderr);
        const { superuser, roles, assigned } = await heldBy(it, account.id);
        assert.deepEqual([superuser, roles, assigned ?? 0], [false, 0, 0]);
        assert.equal((await run('incident', 'lift', locked.body.incident ?? '', '--yes')).code, 0);
        assert.deepEqual(await heldBy(it, account.id), before);
        expectStatus(await it.request('me/', asUser(account)), 401);
      },
    },
  ],
};

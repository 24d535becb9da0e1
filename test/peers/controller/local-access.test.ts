import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { grant, makeAccess, makeUser, openWays, passwordGrant, tryAccess } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

interface Paths {
  readonly accessPaths: readonly {
    readonly path: string;
    readonly state: string;
    readonly basis: string;
    readonly covered: boolean;
  }[];
}

function states({ accessPaths }: Paths) {
  const covered = accessPaths.filter((each) => each.covered);
  return Object.fromEntries(covered.map(({ path, state, basis }) => [path, `${state}: ${basis}`]));
}

async function heldBy(peer: Peer, id: number) {
  const token = peer.fill.admintoken;
  const { body } = await peer.request(`${peer.api}users/${id}/`, { token });
  const roles = await peer.request(`${peer.api}users/${id}/roles/`, { token });
  // Not among the roles of the user.
  const path = `${peer.api}role_user_assignments/?user__id=${id}&role_definition__name=Organization%20Project%20Admin`;
  const assigned = await peer.request(path, { token });
  return { superuser: body['is_superuser'], roles: roles.body['count'], assigned: assigned.body['count'] };
}

/** The file of the controller's SECRET_KEY, in a folder. */
function keyFile(peer: Peer, folder: string): string {
  const settings = readFileSync(join(peer.folder, 'etc/settings.py'), 'utf8');
  const path = join(folder, 'SECRET_KEY');
  writeFileSync(path, `${/SECRET_KEY = '([^']*)'/.exec(settings)?.[1]}\n`, { mode: 0o600 });
  return path;
}

describePeer('awx', 'ending local access over REST', (peer) => {
  test('a reset password and taken roles end every way in but a code from before', async () => {
    const id = await makeUser(peer(), 'leaving', { is_superuser: true });
    const access = await makeAccess(peer(), 'leaving');
    const { json } = homeOf(peer());
    const done = await json<Paths>(
      ...['users', 'offboard', 'leaving', '--reset-password', '--strip-roles', '--end-applications', '--yes'],
    );
    expect(done.code).toBe(5);
    expect(states(done.body)).toEqual({
      access_tokens: 'closed: checked',
      authorization_codes: 'not_checked: not_checked',
      refresh_tokens: 'closed: known',
      sessions: 'closed: known',
      passwords: 'closed: checked',
      roles: 'closed: checked',
    });
    expect(openWays(await tryAccess(peer(), access))).toEqual(['code']);
    expect(await heldBy(peer(), id)).toEqual({ superuser: false, roles: 0, assigned: 0 });
  });

  test('lifting a lockdown gives the roles back, and not the password', async () => {
    const id = await makeUser(peer(), 'locked', { is_superuser: true });
    const token = peer().fill.admintoken;
    const named = 'summary_fields.resource_name';
    const roles = await peer().request(`${peer().api}organizations/`, { token });
    const [organization] = roles.body['results'] as {
      id: number;
      summary_fields: { object_roles: { auditor_role: { id: number } } };
    }[];
    const role = organization?.summary_fields.object_roles.auditor_role.id;
    expect([named, typeof role]).toEqual([named, 'number']);
    await peer().request(`${peer().api}users/${id}/roles/`, { token }, { body: { id: role } });
    const definitions = `${peer().api}role_definitions/?name=Organization%20Project%20Admin`;
    const [definition] = (await peer().request(definitions, { token })).body['results'] as { id: number }[];
    const given = { user: id, role_definition: definition?.id, object_id: organization?.id };
    const assigned = await peer().request(`${peer().api}role_user_assignments/`, { token }, { body: given });
    expect(assigned.status).toBe(201);
    const before = await heldBy(peer(), id);
    const { json, run } = homeOf(peer());
    const locked = await json<Paths & { incident: string }>(
      ...['incident', 'lockdown', '--user', 'locked', '--reset-password', '--strip-roles', '--yes'],
    );
    expect(states(locked.body)).toMatchObject({ passwords: 'closed: checked', roles: 'closed: checked' });
    expect(await heldBy(peer(), id)).toEqual({ superuser: false, roles: 0, assigned: 0 });
    expect(await run('incident', 'lift', locked.body.incident, '--yes')).toMatchObject({ code: 0 });
    expect([before, await heldBy(peer(), id)]).toEqual([before, before]);
    expect(before).toEqual({ superuser: true, roles: 1, assigned: 1 });
    expect(await peer().request(`${peer().api}me/`, { user: 'locked' })).toMatchObject({ status: 401 });
  });

  test('the password of an external account stays, and is not claimed to be closed', async () => {
    const { json } = homeOf(peer());
    const done = await json<Paths>('users', 'offboard', 'socialite', '--reset-password', '--yes');
    expect(states(done.body)).toMatchObject({
      passwords: 'not_checked: not_checked',
      users: 'open: checked',
    });
    expect(await peer().request(`${peer().api}me/`, { user: 'socialite' })).toMatchObject({ status: 200 });
  });
});

describePeer('awx', 'applications', (peer) => {
  const refreshed = (secret: string) =>
    peer().request(`${peer().oauth}token/`, null, {
      form: {
        ...{ grant_type: 'password', username: 'alice', password: 'alicepw', scope: 'read' },
        ...{ client_id: peer().fill.applications['AppPwConf']?.client_id ?? '', client_secret: secret },
      },
    });

  test('a new secret is encrypted as the controller does, replaces the old one, and leaves tokens', async () => {
    const home = homeOf(peer());
    const old = peer().fill.applications['AppPwConf']?.client_secret ?? '';
    const { body } = await passwordGrant(peer(), 'alice', 'AppPwConf');
    const output = join(home.folder, 'new.secret');
    const rotate = ['applications', 'rotate-secret', 'AppPwConf', '--output', output, '--yes'];
    expect(await home.run(...rotate)).toMatchObject({ code: 4 });
    const wrong = join(home.folder, 'wrong');
    writeFileSync(wrong, 'another key\n', { mode: 0o600 });
    expect(await home.run(...rotate, '--context', 'db', '--secret-key', wrong)).toMatchObject({ code: 2 });
    expect((await refreshed(old)).status).toBe(200);
    const key = keyFile(peer(), home.folder);
    const done = await home.run(...rotate, '--context', 'db', '--secret-key', key);
    const secret = readFileSync(output, 'utf8').trim();
    expect([done.code, done.stdout.includes(secret), done.stderr.includes(secret)]).toEqual([
      0,
      false,
      false,
    ]);
    expect([(await refreshed(old)).status, (await refreshed(secret)).status]).toEqual([401, 200]);
    const token = String(body['access_token']);
    expect(await peer().request(`${peer().api}me/`, { token })).toMatchObject({ status: 200 });
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    expect((await grant(peer(), 'AppPwConf', refresh)).status).toBe(401);
  });

  test.each(['rest', 'db'])(
    'deleting one over %s ends its tokens, and the controller goes on',
    async (context) => {
      const name = `gone-${context}`;
      const token = peer().fill.admintoken;
      const organization = 2;
      const form = { client_type: 'public', authorization_grant_type: 'password' };
      const made = await peer().request(
        `${peer().api}applications/`,
        { token },
        { body: { name, organization, ...form } },
      );
      const pair = await peer().request(`${peer().oauth}token/`, null, {
        form: {
          ...{ grant_type: 'password', username: 'alice', password: 'alicepw', scope: 'write' },
          client_id: String(made.body['client_id']),
        },
      });
      const issued = { token: String(pair.body['access_token']) };
      expect(await peer().request(`${peer().api}me/`, issued)).toMatchObject({ status: 200 });
      const { json } = homeOf(peer(), { current: context === 'db' ? 'db' : 'rest' });
      expect(await json('applications', 'delete', name, '--yes')).toMatchObject({
        code: 0,
        body: { result: 'done', left: { application: false, accessTokens: 0 } },
      });
      expect(await peer().request(`${peer().api}me/`, issued)).toMatchObject({ status: 401 });
      const stream = `${peer().api}activity_stream/?object1=o_auth2_application&order_by=-id`;
      const { body } = await peer().request(stream, { token });
      const [entry] = body['results'] as { operation: string; changes: { name: string } }[];
      expect([entry?.operation, entry?.changes.name]).toEqual(['delete', name]);
    },
  );
});

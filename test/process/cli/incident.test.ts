import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, basic, bearer, Client } from '@tokenctl/service/testing/service.ts';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { configure } from '../../support/drafts.ts';
import { databaseEstate, FIRST_ENTRY } from './database-estate.ts';
import { estate } from './estate.ts';
import { tokenctl } from './program.ts';

describe('in a database', () => {
  const db = databaseEstate();

  /** A home, and what its commands print as JSON. */
  function place() {
    const home = db.home();
    const json = async (...args: readonly string[]) =>
      JSON.parse((await home.run([...args, '--json'])).stdout);
    return { ...home, json };
  }

  // The first: of users that other tests put into the table, nothing says who made them.
  test('roles at the service are found in its database with the ids that REST gives them, and taken', async () => {
    const { folder, json, run } = place();
    const [url, password] = [join(folder, 'controller.database'), join(folder, 'password')];
    writeFileSync(password, ADMIN.password, { mode: 0o600 });
    const login = `url: "${db.service()}", username: ${ADMIN.username}, password: { file: "${password}" }`;
    configure(folder, `contexts:\n  db: { database: { file: "${url}" } }\n  rest: { ${login} }\n`);
    const admin = new Client(db.service(), basic(ADMIN.username, ADMIN.password));
    const thief = { username: 'thief', password: 'correct-horse-battery', is_superuser: true };
    await admin.post('/api/v2/users/', thief);
    const made = await new Client(db.service(), basic(thief.username, thief.password)).post(
      '/api/v2/tokens/',
      { scope: 'write' },
    );
    const stolen = new Client(db.service(), bearer(made.json.token));
    const { id } = (await stolen.post('/api/v2/users/', { ...thief, username: 'mole', is_superuser: false }))
      .json;
    const team = (await stolen.post('/api/v2/teams/', { name: 'gang', organization: 1 })).json.id;
    const adminOf = async (path: string) => {
      const { results } = (await admin.get(`/api/v2/${path}/1/object_roles/`)).json;
      return (results as readonly { id?: number; name?: string }[]).find(({ name }) => name === 'Admin')?.id;
    };
    // The entry of the first names the role, those of the others do not.
    await stolen.post(`/api/v2/users/${id}/roles/`, { id: await adminOf('organizations') });
    await stolen.post(`/api/v2/roles/${await adminOf('job_templates')}/users/`, { id });
    await stolen.post(`/api/v2/teams/${team}/users/`, { id });
    await stolen.post(`/api/v2/roles/${await adminOf('job_templates')}/teams/`, { id: team });
    const saved = join(folder, 'saved');
    const found = async (context: string, ...more: readonly string[]) => {
      const args = ['--context', context, '--user', 'thief', '--since', '1h', ...more];
      const { items } = await json('incident', 'investigate', ...args);
      return items.map((item: { id: string; state: string }) => [item.id, item.state]).toSorted();
    };
    const over = await found('rest', '--out', saved);
    expect(over).toHaveLength(7);
    expect(await found('db')).toEqual(over);
    const clean = ['incident', 'clean', '--context', 'db', '--from', saved, '--irreversible'];
    const { code, stdout } = await run([...clean, '--yes']);
    expect([code, stdout]).toEqual([5, expect.stringContaining('Cleaned: 5 of 5 items.')]);
    // What the controller computes for a team, and what it deletes with one.
    const left = stdout.slice(stdout.lastIndexOf('Needs manual action: 2 items.'));
    expect(left).toMatch(
      /granted admin_role on job template .*\n.*add --rest-context NAME\.\n +Send .*: POST /,
    );
    expect((await admin.get(`/api/v2/users/${id}/roles/`)).json.count).toBe(0);
    const all = await run([...clean, '--rest-context', 'rest', '--yes']);
    expect([all.code, all.stdout]).toEqual([0, expect.stringContaining('Cleaned: 2 of 2 items.')]);
    const states = (await found('db')).map(([, state]: string[]) => state);
    expect(new Set(states)).toEqual(new Set(['gone', 'undone']));
  });

  test('a lockdown of a user is planned, done, seen, and lifted', async () => {
    const home = place();
    const { name } = await db.addUser();
    const dry = await home.run(['incident', 'lockdown', '--user', name, '--deactivate', '--dry-run']);
    expect(dry).toMatchObject({ code: 0 });
    expect(dry.stdout).toContain(`Deactivate 1 user: ${name}.`);
    expect(dry.stdout).toContain('Dry run. Nothing was changed.');
    const done = await home.run([
      'incident',
      'lockdown',
      '--user',
      name,
      '--deactivate',
      '--yes',
      '--reason',
      'stolen',
    ]);
    expect(done).toMatchObject({ code: 0 });
    const incident = /\b(inc-[0-9a-f]{8})\b/.exec(done.stdout)?.[1] ?? 'no incident is named';
    expect(done.stdout).toMatch(/closed +Refresh tokens/);
    const status = await home.run(['incident', 'status', '--check']);
    expect(status).toMatchObject({ code: 0 });
    expect(status.stdout).toContain(`${incident}: the access of ${name}`);
    expect(status.stdout).toContain('In effect.');
    await db.database().execute('UPDATE auth_user SET is_active = true WHERE username = $1', [name]);
    const drift = await home.run(['incident', 'status', '--check']);
    expect(drift).toMatchObject({ code: 3 });
    expect(drift.stdout).toContain(`ACTIVE: ${name}`);
    const again = await home.run(['incident', 'lockdown', '--user', name, '--deactivate', '--yes']);
    expect(again.stdout).toContain(incident);
    expect(await home.run(['incident', 'lift', incident, '--yes'])).toMatchObject({ code: 0 });
    const twice = await home.run(['incident', 'lift', incident, '--yes']);
    expect(twice).toMatchObject({ code: 0 });
    expect(twice.stdout).toContain('Nothing to do');
    expect((await home.run(['incident', 'status'])).stdout).toContain('No lockdown at');
  });

  test('a lockdown by a token is of its owner, and one without a stream to follow names ends with 5', async () => {
    const home = place();
    const { name, personal } = await db.addUser();
    const given = ['incident', 'lockdown', '--user', 'alice', '--token', String(personal.id)];
    const dry = await home.run([...given, '--dry-run']);
    expect(dry.stdout).toContain(`Would lock down the access of ${name}, as a new incident.\n`);
    expect(dry.stdout).toContain(`Token ${personal.id} belongs to ${name} `);
    await db.database().execute('TRUNCATE main_activitystream CASCADE');
    for (const begin of ['Locked down', 'Already locked down']) {
      const done = await home.run(['incident', 'lockdown', '--user', name, '--yes']);
      expect(done).toMatchObject({ code: 5, stdout: expect.stringContaining(begin) });
      expect(done.stdout).toContain('Not read: whether another user had one of the names');
    }
    const left = await home.run(['users', 'offboard', name, '--yes']);
    expect(left).toMatchObject({ code: 5, stderr: expect.stringContaining('Not read: ') });
    await db.database().execute('TRUNCATE main_activitystream RESTART IDENTITY CASCADE');
    await db.database().execute(FIRST_ENTRY);
  });

  test('is lifted without giving the account back, which a later lift does', { tags: ['long'] }, async () => {
    const home = place();
    const { name } = await db.addUser();
    const isActive = async () =>
      (await db.database().query('SELECT is_active FROM auth_user WHERE username = $1', [name]))[0];
    const lockdown = ['incident', 'lockdown', '--user', name, '--deactivate', '--basic-auth-off'];
    const { incident } = await home.json(...lockdown, '--yes');
    const lift = ['incident', 'lift', incident];
    const dry = await home.run([...lift, '--keep-deactivated', '--dry-run']);
    expect(dry.stdout).toContain(`${name} stays deactivated.`);
    expect(dry.stdout).not.toContain('Activate');
    expect((await home.run([...lift, '--keep-deactivated', '--yes'])).stdout).toContain(
      `Lifted: ${incident}.`,
    );
    expect(await isActive()).toEqual({ is_active: false });
    const again = await home.run([...lift, '--yes']);
    expect(again.stdout).toMatch(/was lifted at .* Nothing to do\./);
    const [, back = ''] = /To restore this access later: tokenctl (.*)/.exec(again.stdout) ?? [];
    expect((await home.run(['incident', 'status', '--all'])).stdout).toContain(`${name} stays deactivated.`);
    expect(await isActive()).toEqual({ is_active: false });
    // The command that is printed can be pasted as it is.
    const given = await home.run([...back.split(' '), '--yes']);
    expect(given.stdout).toContain(`Will restore what the lift of ${incident} left`);
    expect(given.stdout).toContain(`Restored what was left by the lift: ${incident}.`);
    expect(await isActive()).toEqual({ is_active: true });
    const late = await home.run([...lift, '--keep-deactivated', '--yes']);
    expect(late.stdout).toContain('It is too late for --keep-deactivated');
  });

  test('without an id the only open incident is lifted, and of several none', {
    tags: ['long'],
  }, async () => {
    const home = place();
    const [one, other] = [await db.addUser(), await db.addUser()];
    expect(await home.run(['incident', 'lift', '--yes'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No incidents to lift.'),
    });
    const lock = async ({ name }: { name: string }) =>
      (await home.json('incident', 'lockdown', '--user', name, '--deactivate', '--yes')).incident as string;
    const ids = [await lock(one), await lock(other)];
    const several = await home.run(['incident', 'lift', '--yes']);
    expect([several.code, several.stderr]).toEqual([2, expect.stringContaining(ids.join(', '))]);
    await home.run(['incident', 'lift', ids[0] ?? '', '--yes']);
    const dry = await home.json('incident', 'lift', '--dry-run');
    expect(dry.plans).toMatchObject([{ incident: { id: ids[1] } }]);
    expect(await home.json('incident', 'lift', '--yes')).toMatchObject({
      reports: [{ incident: ids[1], result: 'lifted' }],
    });
  });

  test('the snapshot is for its owner only, and stands in the log by its hash', {
    tags: ['long'],
  }, async () => {
    const home = place();
    const { name } = await db.addUser();
    await home.run(['incident', 'lockdown', '--user', name, '--yes']);
    const folder = join(home.folder, '.local/state/tokenctl/incidents');
    const [file = ''] = readdirSync(folder);
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    const sha256 = await import('node:crypto').then(({ createHash }) =>
      createHash('sha256')
        .update(readFileSync(join(folder, file)))
        .digest('hex'),
    );
    expect(readFileSync(join(home.folder, '.local/state/tokenctl/audit.jsonl'), 'utf8')).toContain(sha256);
  });

  test('a lockdown for a while is due when that is over, unless it is extended', {
    tags: ['long'],
  }, async () => {
    const home = place();
    const { name } = await db.addUser();
    const { incident } = await home.json('incident', 'lockdown', '--user', name, '--for', '1m', '--yes');
    expect(await home.json('incident', 'lift', '--due', '--yes')).toEqual({
      dryRun: false,
      plans: [],
      reports: [],
    });
    const dry = await home.json('incident', 'extend', incident, '--unlimited', '--dry-run');
    expect(dry).toEqual({ dryRun: true, incident, until: null });
    const { until } = await home.json('incident', 'extend', incident, '--for', '2h');
    const [status] = (await home.json('incident', 'status')).incidents;
    expect(status).toMatchObject({ id: incident, until, isOverdue: false });
    expect((await home.run(['incident', 'extend', incident])).code).toBe(2);
    await home.run(['incident', 'lift', incident, '--yes']);
  });

  test('whoever runs the next command is told of a lockdown that is over, and nothing is changed by that', {
    tags: ['long'],
  }, async () => {
    const home = place();
    const { name } = await db.addUser();
    const { incident } = await home.json('incident', 'lockdown', '--user', name, '--for', '1m', '--yes');
    const path = join(home.folder, '.local/state/tokenctl/audit.jsonl');
    const log = openFileLog({ path, clock: { now: () => new Date() } });
    const [first] = readFileSync(path, 'utf8').split('\n');
    const { run, actor, target } = JSON.parse(first ?? '');
    const data = { incident, until: '2026-01-01T00:00:00.000Z' };
    await log.append({ kind: 'note', operation: 'incident.extend', run, actor, target, data });
    const { size } = await log.head();
    const told = `Past the end time but not lifted: ${incident} `;
    for (const args of [
      ['status'],
      ['status', '--json'],
      ['timeline', '--user', name],
      ['lift', incident, '--dry-run'],
      ['lockdown', '--user', name, '--dry-run'],
    ]) {
      const { stderr } = await home.run(['incident', ...args]);
      expect(stderr).toContain(told);
      expect(stderr).toContain('tokenctl incident lift --due');
    }
    expect(await log.head()).toMatchObject({ size });
    expect((await home.run(['incident', 'status', '--check'])).code).toBe(3);
    const extended = await home.run(['incident', 'extend', incident, '--for', '1h']);
    expect(extended).toMatchObject({ code: 0, stderr: '' });
    await log.append({ kind: 'note', operation: 'incident.extend', run, actor, target, data });
    const other = await home.json('incident', 'lockdown', '--user', (await db.addUser()).name, '--yes');
    expect((await home.run(['incident', 'lift', other.incident, '--yes'])).stderr).toContain(told);
    const lifted = await home.run(['incident', 'lift', '--due', '--yes']);
    expect(lifted).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Past the end time') });
    expect(await home.run(['incident', 'status'])).toMatchObject({
      stdout: expect.stringContaining('No lockdown at'),
      stderr: '',
    });
  });

  test('what is locked down at another address is not forgotten', { tags: ['long'] }, async () => {
    const home = place();
    const { name } = await db.addUser();
    const { incident } = await home.json('incident', 'lockdown', '--user', name, '--yes');
    const path = join(home.folder, '.local/state/tokenctl/audit.jsonl');
    const moved = join(home.folder, 'elsewhere.jsonl');
    const elsewhere = openFileLog({ path: moved, clock: { now: () => new Date() } });
    for (const line of readFileSync(path, 'utf8').trimEnd().split('\n')) {
      const { kind, operation, run, actor, data, closes } = JSON.parse(line);
      const target = { context: 'production', address: 'https://controller.example.org' };
      await elsewhere.append({ kind, operation, run, actor, target, data, ...(closes && { closes }) });
    }
    const { stdout, code } = await home.run(['incident', 'status', '--check', '--log-file', moved]);
    expect(code).toBe(0);
    expect(stdout).toContain('No lockdown at');
    expect(stdout).toContain('1 more incident at another address, as last recorded:');
    expect(stdout).toMatch(
      new RegExp(
        `${incident}: the access of ${name}, at https://controller.example.org \\(context production\\)`,
      ),
    );
    const json = await home.json('incident', 'status', '--log-file', moved);
    expect(json).toMatchObject({ incidents: [], elsewhere: [{ id: incident, state: 'locked' }] });
    await home.run(['incident', 'lift', incident, '--yes']);
  });

  test('a user is offboarded, and nothing of theirs is left', async () => {
    const home = place();
    const { name } = await db.addUser();
    const done = await home.run(['users', 'offboard', name, '--yes', '--ticket', 'HR-1']);
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toContain(`All access of ${name} has ended.`);
    const again = await home.json('users', 'offboard', name, '--yes');
    expect(again).toMatchObject({ dryRun: false, plan: { deactivate: [], revocation: { tokenIds: [] } } });
  });

  test('leaked values are found by hash, revoked, and shown nowhere', async () => {
    const home = place();
    const { name } = await db.addUser();
    const access = 'LEAKEDabcdefABCDEF012345678901';
    const refresh = 'LEAKEDabcdefABCDEF012345678902';
    await db.database().execute(
      `WITH t AS (INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
         SELECT encode(sha256($1::bytea), 'hex'), now() + interval '1 day', 'write', u.id FROM auth_user u WHERE u.username = $3)
       INSERT INTO oauth2_provider_refreshtoken (token, user_id, application_id)
         SELECT encode(sha256($2::bytea), 'hex'), u.id, a.id FROM auth_user u, main_oauth2application a
         WHERE u.username = $3 AND a.name = 'chatops'`,
      [Buffer.from(access), Buffer.from(refresh), name],
    );
    const file = join(home.folder, 'scan.txt');
    writeFileSync(
      file,
      `x\nCONTROLLER_OAUTH_TOKEN=${access}\nrefresh_token: "${refresh}"\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\n`,
    );
    const found = await home.run(['tokens', 'find', '--leaked', file]);
    expect(found).toMatchObject({ code: 0 });
    expect(found.stdout).toMatch(/LIVE {2}access token \d+, of user-.*, line 2/);
    // Its access token was deleted: the service refuses it.
    expect(found.stdout).toMatch(/orphaned {2}refresh token \d+, of user-.*, line 3/);
    const input = readFileSync(file, 'utf8');
    const revoked = await home.run(['tokens', 'find', '--leaked', '-', '--revoke', '--yes', '--json'], {
      input,
    });
    expect(revoked).toMatchObject({ code: 0 });
    expect(JSON.parse(revoked.stdout)).toMatchObject({
      values: 3,
      found: [{ live: true }, { live: false, state: 'orphaned' }],
      revocation: { revoked: 1, refreshTokens: { revoked: 1 }, verified: true },
    });
    const after = await home.run(['tokens', 'find', '--leaked', file, '--revoke', '--yes']);
    expect(after.stdout).toMatch(/dead {2}refresh token/);
    const log = readFileSync(join(home.folder, '.local/state/tokenctl/audit.jsonl'), 'utf8');
    for (const text of [log, found.stdout, revoked.stdout, revoked.stderr, after.stdout]) {
      expect(text).not.toContain('LEAKED');
    }
  });

  test.each(['text', 'markdown', 'html'])('a timeline as %s', async (format) => {
    const home = place();
    const { name } = await db.addUser();
    await home.run(['tokens', 'revoke', '--user', name, '--yes', '--reason', 'a | b <i>']);
    const { stdout, code } = await home.run(['incident', 'timeline', '--user', name, '--format', format]);
    expect(code).toBe(0);
    expect(stdout).toContain(name);
    expect(stdout).toContain('began tokens revoke');
    if (format !== 'text') expect(stdout).not.toContain('<i>');
  });

  test('without a selection, with two, or with a flag that means nothing, nothing is tried', async () => {
    const home = place();
    for (const args of [
      [],
      ['--all', '--user', 'admin'],
      ['--application', 'chatops', '--deactivate'],
      ['--user', 'admin', '--keep-active', 'admin'],
    ]) {
      expect((await home.run(['incident', 'lockdown', ...args, '--yes'])).code).toBe(2);
    }
    expect((await home.run(['incident', 'lift', 'inc-1', '--due', '--yes'])).code).toBe(2);
    expect((await home.run(['incident', 'lift', 'inc-00000000', '--yes'])).code).toBe(2);
    expect((await home.run(['incident', 'timeline'])).code).toBe(2);
  });
});

describe('over REST', () => {
  const at = estate({ users: 5, tokens: 20 });

  test('with a password a lockdown of everything is refused, and says the way out', async () => {
    const { code, stderr } = await at.home().run(['incident', 'lockdown', '--all', '--yes']);
    expect(code).toBe(2);
    expect(stderr).toContain('--rescue-token FILE');
    const dry = await at.home().run(['incident', 'lockdown', '--all', '--dry-run']);
    expect([dry.code, dry.stdout]).toEqual([
      2,
      expect.stringContaining('Set AUTH_BASIC_ENABLED from on to off.'),
    ]);
  });

  test('with a password a lockdown creates a rescue token first, keeps it and goes on with it', async () => {
    const home = at.home();
    const file = join(home.folder, 'rescue.token');
    const lockdown = ['incident', 'lockdown', '--all', '--rescue-token', file];
    const dry = await home.run([...lockdown, '--dry-run']);
    expect([dry.code, dry.stdout.split('\n')[0]]).toEqual([
      0,
      `First, a token with scope write for admin is created in ${file} and used from then on.`,
    ]);
    const { code, stdout } = await home.run([...lockdown, '--yes', '--json']);
    expect(code).toBe(5);
    const done = JSON.parse(stdout);
    expect(done).toMatchObject({ result: 'locked', rescueToken: { tokenId: expect.any(Number), file } });
    expect(done.kept).toEqual([done.rescueToken.tokenId]);
    await home.run(['context', 'add', 'test', '--replace', '--url', at.url(), '--token-file', file]);
    const left = JSON.parse((await home.run(['tokens', 'list', '--json'])).stdout);
    expect(left).toMatchObject([{ id: done.rescueToken.tokenId }]);
    expect(await home.run(['incident', 'lift', '--yes'])).toMatchObject({ code: 0 });
  });

  test('a lockdown says what it cannot do, and by what that is done', async () => {
    const home = at.home();
    const { stdout } = await home.run(['incident', 'lockdown', '--all', '--no-basic-auth-off', '--dry-run']);
    expect(stdout).toContain('use `sessions expire` there');
    // The service has no such program.
    expect(stdout).not.toContain('awx-manage');
    expect(stdout).toContain('--deactivate');
  });

  test('what an intruder left behind is found, ended and reported', { tags: ['long'] }, async () => {
    const home = at.home();
    const send = (user: string, path: string, body: object) =>
      fetch(`${at.url()}/api/v2/${path}`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(user)}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then(async (response) => (await response.json()) as { readonly id: number });
    const login = 'mallory:correct-horse-battery';
    const [username, secret] = login.split(':');
    const admin = `${ADMIN.username}:${ADMIN.password}`;
    const { id } = await send(admin, 'users/', { username, password: secret, is_superuser: true });
    await send(login, `users/${id}/personal_tokens/`, { scope: 'write' });
    const client = { client_type: 'public', authorization_grant_type: 'password', organization: 1 };
    await send(login, 'applications/', { name: 'evil|app](https://example.org)', ...client });

    const [found, after] = [join(home.folder, 'found.json'), join(home.folder, 'after.json')];
    const investigate = ['incident', 'investigate', '--user', 'mallory', '--since', '1d', '--out'];
    const first = await home.run([...investigate, found, '--json']);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const items = JSON.parse(first.stdout).items.map(({ id, state }: { id: string; state: string }) => [
      id.replace(/:.*/, ''),
      state,
    ]);
    expect(items).toEqual([
      ['o_auth2_access_token', 'there'],
      ['o_auth2_application', 'there'],
    ]);
    const [, { object, remedy }] = JSON.parse(first.stdout).items;
    const command = `tokenctl applications delete --context test --id ${object.id} 'evil|app](https://example.org)'`;
    expect(remedy).toEqual({ kind: 'command', text: command });
    const pasted = [...command.split(' ').slice(1, 7), object.name, '--dry-run'];
    expect((await home.run(pasted)).stdout).toContain('Would delete the application evil|app');
    // Of a stream that was cut off since: what it does not name is not clean.
    const saved = JSON.parse(readFileSync(found, 'utf8'));
    const lost = { ...saved.items[0], id: 'o_auth2_access_token:99', entries: [999_999] };
    const cut = join(home.folder, 'cut.json');
    writeFileSync(cut, JSON.stringify({ ...saved, items: [lost] }));
    const unsure = await home.run(['incident', 'clean', '--from', cut, '--yes']);
    expect(unsure.code).toBe(5);
    expect(unsure.stdout).toMatch(/Needs manual action: 1 item\.\n.*\n +Not checked: .* does not include it/);

    // What cannot be undone is not confirmed by --yes alone; author and time of each item are in the plan.
    const kept = await home.run(['incident', 'clean', '--from', found, '--yes']);
    expect(kept.code).toBe(5);
    expect(kept.stdout).toMatch(/^Cleans only actions since /);
    expect(kept.stdout).toMatch(
      /Needs manual action: 2 items\.\n.*access token.*: by mallory, 20\d\d-.*\n.*--irreversible/,
    );
    const clean = await home.run(['incident', 'clean', '--from', found, '--yes', '--irreversible']);
    expect([clean.code, clean.stdout]).toEqual([0, expect.stringContaining('Cleaned: 2 of 2 items.')]);
    expect(clean.stdout).toMatch(
      /Will clean 2 items, 2 of them permanently, after a second confirmation:\n.*: by mallory, 20/,
    );
    expect((await home.run([...investigate, after])).stdout).toContain('Remaining access: 0.');

    const locked = await home.run(['incident', 'lockdown', '--user', 'mallory', '--yes', '--json']);
    const { incident } = JSON.parse(locked.stdout);
    const files = ['--from', found, '--from', after];
    const { stdout } = await home.run(['incident', 'report', incident, ...files]);
    expect(stdout).toContain('Nothing is known to remain.');
    expect(stdout).toMatch(/created the application evil\\\|app\\\]\(.*: gone/);
    const output = join(home.folder, 'report.html');
    const html = ['incident', 'report', incident, ...files, '--format', 'html', '--output', output];
    expect((await home.run(html)).code).toBe(0);
    const page = readFileSync(output, 'utf8');
    expect([page.slice(0, 15), page.includes('<svg'), statSync(output).mode & 0o777]).toEqual([
      '<!doctype html>',
      true,
      0o600,
    ]);
    expect(await home.run(html)).toMatchObject({ code: 2, stderr: expect.stringContaining('--replace') });
    expect((await home.run([...html, '--replace'])).code).toBe(0);
    expect(await home.run(['incident', 'lift', '--yes'])).toMatchObject({ code: 0 });
  });

  test('what a cleaning restores in part is left for manual action, and not to run again', {
    tags: ['long'],
  }, async () => {
    const home = at.home();
    const as = (user: string, method: string, path: string, body: object) =>
      fetch(`${at.url()}/api/v2/${path}`, {
        method,
        headers: { authorization: `Basic ${btoa(user)}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then(async (response) => (await response.json()) as { readonly id: number });
    const admin = `${ADMIN.username}:${ADMIN.password}`;
    const password = 'correct-horse-battery';
    await as(admin, 'POST', 'users/', { username: 'trudy', password, is_superuser: true });
    const { id } = await as(admin, 'POST', 'users/', {
      username: 'victim',
      password,
      email: 'v@example.org',
    });
    await as(`trudy:${password}`, 'PATCH', `users/${id}/`, {
      email: 't@example.org',
      password: `new-${password}`,
    });
    const saved = join(home.folder, 'trudy.json');
    const investigate = ['incident', 'investigate', '--user', 'trudy', '--out'];
    const unbounded = join(home.folder, 'unbounded.json');
    expect((await home.run([...investigate, unbounded])).stdout).toContain(
      'The start of the incident was not specified',
    );
    const refused = await home.run(['incident', 'clean', '--from', unbounded, '--yes']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Add --since WHEN.')]);
    // What was done before the theft is left alone.
    const none = await home.run([
      'incident',
      'clean',
      '--from',
      unbounded,
      '--since',
      new Date().toISOString(),
      '--yes',
    ]);
    expect([none.code, none.stdout]).toEqual([0, expect.stringContaining('Skipped: 1 item in the file')]);
    expect((await home.run([...investigate, saved, '--since', '1d'])).code).toBe(0);
    // What came after the file, and a mark with a wrong id, are said.
    await as(`trudy:${password}`, 'POST', 'users/', { username: 'late', password });
    const locked = JSON.parse(
      (await home.run(['incident', 'lockdown', '--user', 'trudy', '--yes', '--json'])).stdout,
    );
    const incident: string = locked.incident;
    const mark = ['incident', 'mark', incident, '--item', 'user:999999', '--reason', 'legitimate'];
    expect((await home.run(mark)).code).toBe(0);
    const dry = await home.run([
      'incident',
      'clean',
      ...['--from', saved, '--incident', incident, '--dry-run'],
    ]);
    expect(dry.stdout).toContain('Not in the file, and skipped: 1 item that remains.');
    expect(dry.stdout).toContain('Marked, but not found by this investigation: user:999999.');
    // The next investigation has the marks of the incident, and names the command that comes next.
    const marked = ['incident', 'mark', incident, '--item', `user:${id}`, '--reason', 'on shift'];
    expect((await home.run(marked)).code).toBe(0);
    const again = join(home.folder, 'again.json');
    const next = await home.run([
      'incident',
      'investigate',
      ...['--incident', incident, '--since', '1d', '--out', again],
    ]);
    expect(next.stdout).toContain('plus 1 with a decision');
    expect(next.stdout).toMatch(/\[user:\d+\]: legitimate, by .*: "on shift"/);
    expect(next.stdout).toContain(
      `To see what a cleanup would do: tokenctl incident clean --context test --from ${again} --dry-run`,
    );
    expect((await home.run([...marked.slice(0, 5), '--undo'])).code).toBe(0);
    const { code, stdout, stderr } = await home.run(['incident', 'clean', '--from', saved, '--yes']);
    expect(stdout).toMatch(/^ +done +Restore email of user victim/m);
    expect(stdout).toContain('Partly cleaned: 0 of 1 item. 1 in part. ');
    expect(stderr).toBe('Error: 1 item left for manual action.\nFollow the instructions in these lines.\n');
    expect(code).toBe(5);

    const [, run = ''] = /--undo (\S+)/.exec(stdout) ?? [];
    expect((await home.run(['incident', 'clean', '--undo', run, '--yes'])).stdout).toContain(
      'Undone: 1 of 1',
    );
    const report = await home.run(['incident', 'report', incident, '--from', saved, '--json']);
    expect(JSON.parse(report.stdout)).toMatchObject({ cleaned: [], undone: [{ item: `user:${id}` }] });
    const without = await home.run(['incident', 'clean', '--incident', incident, '--dry-run']);
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('The start of the incident')]);
    expect(await home.run(['incident', 'lift', '--yes'])).toMatchObject({ code: 0 });
  });

  test('offboarding oneself is refused', async () => {
    expect((await at.home().run(['users', 'offboard', 'admin', '--yes'])).code).toBe(2);
  });
});

test('runbooks are printed as they come with the program', async () => {
  const { stdout } = await tokenctl(['incident', 'runbook']);
  const rows = stdout.split('\n\n')[0]?.split('\n') ?? [];
  const names = rows.map((row) => row.replace(/ .*/, ''));
  expect(names).toHaveLength(5);
  expect(rows[0]).toMatch(/^stolen-token +A token or a laptop was stolen$/);
  for (const name of names) {
    const printed = await tokenctl(['incident', 'runbook', name]);
    expect(printed.code).toBe(0);
    expect(printed.stdout).toContain('tokenctl ');
  }
  expect((await tokenctl(['incident', 'runbook', 'nothing'])).code).toBe(2);
});

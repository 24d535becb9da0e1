import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openOn } from '@tokenctl/testing/databases.ts';
import { until } from '@tokenctl/testing/until.ts';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { testConsole } from '../../support/console.ts';
import { scimAnswer } from '../../support/directory-providers.ts';
import { providerServer } from '../../support/provider-server.ts';
import { databaseEstate, FIRST_ENTRY } from './database-estate.ts';
import { startTokenctl } from './program.ts';

const db = databaseEstate();
/** Of the service's first superuser. */
const PASSWORD = 'correct horse';

/** The activity stream of a controller is never empty: it begins before the last 30 days. */
beforeAll(async () => {
  await db.database().execute(
    `INSERT INTO main_activitystream (operation, timestamp, changes, object1, object2, object_relationship_type, action_node)
     VALUES ('create', now() - interval '1 year', '{}', 'user', '', '', '')`,
  );
});

/** A user with tokens, whose identity provider is the first letter of the id there. */
async function external(uid: string): Promise<string> {
  const { name } = await db.addUser();
  await db.database().execute(
    `INSERT INTO social_auth_usersocialauth (provider, uid, user_id)
     SELECT $1, $2, id FROM auth_user WHERE username = $3`,
    [uid.slice(0, 1), uid, name],
  );
  return name;
}

const person = (id: string, active = true) => ({ id, userName: `${id}@example.org`, active });

/** A home whose configuration has a SCIM directory of these users, which can be replaced. */
async function place(first: readonly object[], rules: object = {}) {
  const home = db.home();
  let [users, all] = [first, first];
  const server = await providerServer((asked) => scimAnswer(asked, users, { all }));
  writeFileSync(join(home.folder, 'scim-token'), 'hidden-scim-token\n', { mode: 0o600 });
  const file = join(home.folder, '.config/tokenctl/tokenctl.yaml');
  const staff = {
    kind: 'scim',
    url: `${server.url.href}scim`,
    token: { file: join(home.folder, 'scim-token') },
    accounts: [first.map((each) => String(Object.values(each)[0]))[0]?.slice(0, 1) ?? 'x'],
    ...rules,
  };
  const add = (more: object) =>
    writeFileSync(
      file,
      readFileSync(file, 'utf8') +
        Object.entries(more)
          .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
          .join(''),
    );
  add({ directories: { staff } });
  const gone = (...args: readonly string[]) => home.run(['users', 'offboard', '--gone', 'staff', ...args]);
  const isActive = async (name: string) =>
    (
      await db
        .database()
        .query<{ is_active: boolean }>('SELECT is_active FROM auth_user WHERE username = $1', [name])
    )[0]?.is_active;
  const answer = (now: readonly object[], ofAll = now) => {
    [users, all] = [now, ofAll];
  };
  return {
    ...home,
    add,
    gone,
    answer,
    isActive,
    server,
    log: () => readFileSync(join(home.folder, '.local/state/tokenctl/audit.jsonl'), 'utf8'),
  };
}

const LENIENT = { stopAbovePercent: 100, stopBelowPercent: 90 };

test('audits and the settings say what directories last answered, and go on without a log', {
  tags: ['long'],
}, async () => {
  const [left, there, elsewhere] = [await external('s1'), await external('s2'), await external('z1')];
  const at = await place([person('s2'), person('s3')], { ...LENIENT, except: ['nobody'] });
  at.add({ policy: { 'owner-left': { enabled: true }, 'provider-not-asked': { enabled: true, days: 1 } } });
  const audit = async () => {
    const { stdout } = await at.run([
      'tokens',
      'audit',
      '--json',
      '--rule',
      'owner-left',
      '--rule',
      'provider-not-asked',
    ]);
    const { findings, notChecked } = JSON.parse(stdout);
    const owners = (rule: string) =>
      findings
        .filter((finding: { rule: string }) => finding.rule === rule)
        .map(({ token }: { token: { user: { username: string } } }) => token.user.username);
    return { left: owners('owner-left'), unasked: owners('provider-not-asked'), notChecked };
  };
  // The page of an owner in the console.
  const opened = await testConsole({ home: at.folder });
  onTestFinished(async () => {
    await opened.operations.close();
    await opened.app.close();
  });
  const [context] = (await opened.send('/api/console')).json().places;
  const said = async (user: string) =>
    (await opened.send(`/api/owner?place=${context}&user=${user}`)).json().lines;
  expect(await said(left)).toEqual([`No directory was asked about ${left}.`]);
  const none = 'No directory was asked about this controller';
  expect((await audit()).notChecked).toEqual([
    { rule: 'owner-left', why: none },
    { rule: 'provider-not-asked', why: none },
  ]);
  const allow = ['settings', 'external-tokens', 'allow', '--yes'];
  expect((await at.run(allow)).stdout).toContain('No directory was asked for departed users');
  // Recorded, but the offboarding is stopped: the tokens go on working.
  const stopped = await at.gone('--yes', '--at-most', '1');
  expect(stopped.code).not.toBe(0);
  expect(at.log()).not.toContain('"directory.read"');
  expect((await at.gone('--yes')).code).toBe(0);
  await db.database().execute('UPDATE auth_user SET is_active = true WHERE username = $1', [left]);
  await db.database().execute(
    `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id, created, updated, modified)
     SELECT md5(random()::text), now() + interval '1 day', 'read', id, now(), now(), now() FROM auth_user WHERE username = $1`,
    [left],
  );
  const found = await audit();
  expect([found.left, found.notChecked]).toEqual([[left], []]);
  expect(found.unasked).toContain(elsewhere);
  expect(found.unasked).not.toContain(there);
  const status = await at.run(['settings', 'external-tokens', 'status', '--json']);
  expect(JSON.parse(status.stdout)).toMatchObject({
    enabled: true,
    sources: [{ directory: 'staff', listed: 2, gone: expect.any(Number) }],
  });
  expect((await at.run(['settings', 'external-tokens', 'status'])).stdout).toMatch(
    /The directory staff was last asked for departed users at 2.*Z: it listed 2 users, and \d+ here had left\./,
  );
  const time = '\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z';
  expect(await said(left)).toEqual([expect.stringMatching(`^staff: asked at ${time}; ${left} had left\\.$`)]);
  expect(await said(there)).toEqual([
    expect.stringMatching(
      `^staff: asked at ${time}; ${there} was not among those who had left. It compares .* s\\.$`,
    ),
  ]);
  expect(await said('nobody-here')).toEqual([
    expect.stringMatching(/^Not checked: .* No such user is listed here\.$/),
  ]);
  const log = join(at.folder, '.local/state/tokenctl/audit.jsonl');
  writeFileSync(log, 'not a log\n');
  expect((await audit()).notChecked).toHaveLength(2);
  expect(await said(there)).toEqual([
    expect.stringMatching(/^Not checked: what a directory reported about /),
  ]);
  expect((await at.run(['settings', 'external-tokens', 'status'])).stdout).toContain(
    'Not checked: whether a directory was asked for departed users.',
  );
});

test('who is disabled or missing in the directory is offboarded, with the evidence in the plan and the log', async () => {
  const [left, missing, there] = [await external('p1'), await external('p2'), await external('p3')];
  const at = await place([person('p1', false), person('p3')], LENIENT);
  const dry = await at.gone('--dry-run');
  expect(dry).toMatchObject({ code: 0 });
  expect(dry.stdout).toContain('The directory staff listed 2 users (the first answer), 1 of them disabled');
  expect(dry.stdout).toContain(`${left}: active is false; matched by account p1 of p`);
  expect(dry.stdout).toContain(
    `${missing}: not in the list, and not found when asked for id p2, login name p2, login name ${missing}; matched by account p2 of p`,
  );
  expect(await at.isActive(left)).toBe(true);
  const done = await at.gone('--yes', '--ticket', 'HR-7', '--json');
  expect(done).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Error') });
  expect(JSON.parse(done.stdout)).toMatchObject({
    directory: {
      directory: 'staff',
      listed: 2,
      disabled: 1,
      gone: [{ username: left }, { username: missing }],
    },
    result: 'done',
  });
  expect([await at.isActive(left), await at.isActive(missing), await at.isActive(there)]).toEqual([
    false,
    false,
    true,
  ]);
  const [note] = at
    .log()
    .split('\n')
    .filter((line) => line.includes('"directory.read"'))
    .map((line) => JSON.parse(line));
  expect(note).toMatchObject({
    kind: 'note',
    data: {
      directory: 'staff',
      listed: 2,
      ticket: 'HR-7',
      gone: [{ username: left, basis: 'account p1 of p', evidence: 'active is false' }, {}],
    },
  });
  const again = await at.gone('--yes');
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toContain('(2 the last time)');
  expect(again.stdout).toContain('Nothing was changed.');
  for (const { stdout, stderr } of [dry, done, again])
    expect(stdout + stderr + at.log()).not.toContain('hidden-scim');
  expect(at.server.asked[0]?.headers.authorization).toBe('Bearer hidden-scim-token');
});

test('an empty, smaller, incomplete or overwhelming answer ends it with nothing done', async () => {
  const names = [await external('q1'), await external('q2'), await external('q3')];
  const people = [person('q1'), person('q2'), person('q3')];
  const at = await place(people);
  const first = await at.gone('--yes');
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toContain('According to the directory staff, no one has left. Nothing was changed.');
  for (const [answer, text] of [
    [[], /lists no users, so everyone would be gone/],
    [people.slice(0, 2), /lists 2 users, more than 10 % fewer than the 3 within the last day/],
    [
      people.map(({ id }) => person(id, false)),
      /3 of \d+ external users have left within a day, more than 10 %/,
    ],
    [[{ id: 'x' }], /unexpected format/],
    [
      [...people.slice(0, 2), person('q4')],
      new RegExp(
        `The directory staff lists 3 users without ${names[2]}, but returns user q3@example.org .q3. when asked for the id q3, so its list is incomplete`,
      ),
    ],
  ] as const) {
    at.answer(answer, [...people, ...answer]);
    const run = await at.gone('--yes');
    expect(run.stderr).toMatch(text);
    expect(run.code).not.toBe(0);
    for (const name of names) expect(await at.isActive(name)).toBe(true);
  }
  await at.server.stop();
  const down = await at.gone('--yes');
  expect(down).toMatchObject({ code: 7, stdout: '' });
  expect(down.stderr).toContain('The directory staff could not be reached (ECONNREFUSED)');
});

test('a directory whose ids are all others than before ends it with nothing done', {
  tags: ['long'],
}, async () => {
  const [renamed] = [await external('n1'), await external('n2'), await external('n3')];
  const at = await place([person('n1'), person('n2'), person('n3')], LENIENT);
  expect(await at.gone('--yes')).toMatchObject({ code: 0 });
  // As with another `idAttribute`: the names match, and who was renamed meanwhile looks deleted.
  const other = (id: string, userName: string) => ({ id, userName, active: true });
  at.answer([other('a', 'renamed'), other('b', 'n2'), other('c', 'n3')]);
  for (const args of [['--dry-run'], ['--yes']]) {
    const refused = await at.gone(...args);
    expect(refused).toMatchObject({ code: 7, stdout: '' });
    expect(refused.stderr).toContain('contains no user with a known ID, but 2 with known names');
  }
  expect(await at.isActive(renamed)).toBe(true);
  // One that was made anew beside others is in doubt.
  at.answer([person('n1'), other('b', 'n2'), person('n3')]);
  const doubt = await at.gone('--yes');
  expect(doubt).toMatchObject({ code: 0 });
  expect(doubt.stdout).toContain('matches a different entry than before');
  expect(doubt.stdout).toContain('Whether the users in doubt have left is not known');
  expect(doubt.stdout).not.toContain('no one has left');
});

test('the job ends the access of who is gone, and says by which evidence', async () => {
  const left = await external('r1');
  const at = await place([person('r1', false), person('r2')], LENIENT);
  const parameters = { present: { directory: 'staff' }, inactive: false, stopAbovePercent: 100 };
  at.add({ jobs: { leavers: { job: 'offboarding', dryRun: false, parameters } } });
  const run = await at.run(['jobs', 'run', 'leavers', '--json']);
  expect(run).toMatchObject({ code: 0 });
  expect(run.stdout).toContain('"evidence": "active is false"');
  const tokens = await db
    .database()
    .query(
      'SELECT 1 FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id WHERE u.username = $1',
      [left],
    );
  expect(tokens).toEqual([]);
  await db.database().execute('TRUNCATE main_activitystream RESTART IDENTITY CASCADE');
  const unread = await at.run(['jobs', 'run', 'leavers', '--json']);
  expect(unread.code).toBe(5);
  expect(`${unread.stdout}${unread.stderr}`).toContain('Not read: whether another user had one of the names');
  await db.database().execute(FIRST_ENTRY);
});

test('over REST the same users are gone, since the controller shows their accounts', {
  tags: ['long'],
}, async () => {
  const left = await external('t1');
  const at = await place([person('t1', false), person('t2')], LENIENT);
  const run = await at.run(
    ['users', 'offboard', '--gone', 'staff', '--dry-run', '--context', 'environment'],
    {
      env: {
        HOME: at.folder,
        CONTROLLER_HOST: db.service(),
        CONTROLLER_USERNAME: 'admin',
        CONTROLLER_PASSWORD: PASSWORD,
      },
    },
  );
  expect(run.stdout).toContain(`${left}: active is false; matched by account t1 of t`);
});

test('of two superusers whom runs over REST disable at one instant, each by the other, one stays', {
  tags: ['long'],
}, async () => {
  const names = [await external('v1'), await external('v2')];
  const at = await place([person('v1', false), person('v2', false)], LENIENT);
  const database = db.database();
  await database.execute(
    `UPDATE auth_user SET password = (SELECT password FROM auth_user WHERE username = 'admin')
     WHERE username = ANY($1)`,
    [names],
  );
  await database.execute('UPDATE auth_user SET is_superuser = username = ANY($1)', [names]);
  const holder = await openOn(db.url());
  onTestFinished(async () => {
    await database.execute("UPDATE auth_user SET is_superuser = username = 'admin'");
    await holder.close();
  });
  const waiting = async () => {
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM auth_user%'`,
    );
    return row?.count;
  };
  // Both have signed in, and wait for the moment of their change, when they may go on.
  const { ended } = await holder.transaction(async (transaction) => {
    await transaction.query('SELECT FROM auth_user WHERE username = ANY($1) FOR NO KEY UPDATE', [names]);
    const runs = names.map((name) =>
      startTokenctl(['users', 'offboard', '--gone', 'staff', '--yes', '--context', 'environment'], {
        env: {
          HOME: at.folder,
          XDG_STATE_HOME: join(at.folder, name),
          CONTROLLER_HOST: db.service(),
          CONTROLLER_USERNAME: name,
          CONTROLLER_PASSWORD: PASSWORD,
        },
      }),
    );
    const all = Promise.all(runs.map((run) => run.ended));
    const early = all.then((runs) => {
      throw new Error(runs.map(({ stderr }) => stderr).join(''));
    });
    await Promise.race([early, until(async () => (await waiting()) === names.length)]);
    early.catch(() => undefined);
    return { ended: all };
  });
  const runs = await ended;
  const active = await database.query<{ username: string }>(
    'SELECT username FROM auth_user WHERE is_superuser AND is_active',
  );
  expect(active).toHaveLength(1);
  const winner = names.indexOf(active[0]?.username ?? '');
  // Over REST, tokens are ended and the rest is not checked; the other one is not signed in any more.
  expect(runs[winner]).toMatchObject({ code: 5, stdout: expect.stringContaining('1 of 1 deactivated') });
  expect(runs[1 - winner]).toMatchObject({ code: 4, stderr: expect.stringContaining('does not accept') });
  // Of the user who stays, nothing was ended.
  const tokens = await database.query(
    'SELECT FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id WHERE u.username = $1',
    [names[winner]],
  );
  expect(tokens).toHaveLength(2);
});

test.each([
  [['users', 'offboard'], 'Specify either a user or --gone'],
  [['users', 'offboard', 'alice', '--gone', 'staff'], 'Specify either a user or --gone'],
  [['users', 'offboard', '--gone', 'staf', '--dry-run'], 'Did you mean "staff"?'],
])('%j is refused', async (args, text) => {
  const at = await place([]);
  const run = await at.run(args);
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toContain(text);
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Attribute, Change } from 'ldapts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { cuttingProxy } from '../../support/cutting-proxy.ts';
import {
  GROUPS,
  LIMITED,
  ldif,
  NO_SLAPD,
  OLD,
  PEOPLE,
  person,
  READER,
  RESET,
  type Slapd,
  SUFFIX,
  startSlapd,
} from '../../support/slapd.ts';
import { databaseEstate, FIRST_ENTRY } from './database-estate.ts';

const db = databaseEstate();
const many = inject('directoryEntries');
/** Users of the controller beside those that are looked at: the brakes count shares. */
const CROWD = 60;
const dnOf = (uid: string, base = PEOPLE) => `uid=${uid},${base}`;

let slapd: Slapd;

/** Users of whom each leaves in another way. */
const WATCHED = ['disabled', 'deleted', 'outside', 'renamed', 'reused', 'kept'] as const;
const names: Record<string, string> = {};

/** A user with tokens who logged in by LDAP, under a DN that is written in another way than in the directory. */
async function external(uid: string, dn: string): Promise<void> {
  const { name } = await db.addUser();
  names[uid] = name;
  await db
    .database()
    .execute('INSERT INTO main_profile (user_id, ldap_dn) SELECT id, $1 FROM auth_user WHERE username = $2', [
      dn,
      name,
    ]);
}

function homeWith(settings: object = {}, account = READER) {
  const home = db.home();
  const secret = join(home.folder, 'bind-password');
  writeFileSync(secret, `${account.password}\n`, { mode: 0o600 });
  const file = join(home.folder, '.config/tokenctl/tokenctl.yaml');
  const contexts = readFileSync(file, 'utf8');
  const configure = (changed: object, jobs: object = {}) => {
    const staff = {
      kind: 'ldap',
      url: slapd.secureUrl,
      caFile: slapd.ca,
      bindDn: account.dn,
      bindPassword: { file: secret },
      base: PEOPLE,
      groups: [`cn=staff,${GROUPS}`],
      ...changed,
    };
    writeFileSync(
      file,
      `${contexts}directories: ${JSON.stringify({ staff })}\njobs: ${JSON.stringify(jobs)}\n`,
    );
  };
  configure(settings);
  const log = join(home.folder, '.local/state/tokenctl/audit.jsonl');
  return {
    run: (args: readonly string[]) => home.run(args),
    gone: (...args: readonly string[]) => home.run(['users', 'offboard', '--gone', 'staff', ...args]),
    log: () => readFileSync(log, 'utf8'),
    configure,
  };
}

async function active(): Promise<Record<string, boolean>> {
  const rows = await db
    .database()
    .query<{ username: string; is_active: boolean }>('SELECT username, is_active FROM auth_user');
  const all = new Map(rows.map((row) => [row.username, row.is_active]));
  return Object.fromEntries(Object.entries(names).map(([uid, name]) => [uid, all.get(name) === true]));
}

const replace = (dn: string, type: string, values: string[]) =>
  slapd.admin.modify(dn, [
    new Change({ operation: 'replace', modification: new Attribute({ type, values }) }),
  ]);

describe.skipIf(NO_SLAPD !== null)('an OpenLDAP directory', () => {
  beforeAll(async () => {
    const uids = [...WATCHED, ...Array.from({ length: many }, (_, index) => `u${index}`)];
    const group = (cn: string, member: readonly string[]) =>
      ldif(`cn=${cn},${GROUPS}`, { objectClass: 'groupOfNames', cn, member });
    slapd = await startSlapd(
      [
        ...uids.map((uid) => person(uid)),
        group('staff', [`cn=teams,${GROUPS}`]),
        group('teams', [`cn=one,${GROUPS}`, `cn=two,${GROUPS}`, `cn=staff,${GROUPS}`]),
        group(
          'one',
          WATCHED.map((uid) => dnOf(uid)),
        ),
        group(
          'two',
          uids.slice(WATCHED.length).map((uid) => dnOf(uid)),
        ),
      ].join(''),
    );
    for (const uid of WATCHED)
      await external(uid, ` UID=${uid.toUpperCase()} , OU=People,DC=example, dc=ORG`);
    await db.database().execute(FIRST_ENTRY);
    await external('noEntry', dnOf('noEntry'));
    await external('noBase', dnOf('noBase', 'ou=people,dc=other,dc=org'));
    await db.database().execute(
      `WITH crowd AS (INSERT INTO auth_user (username, password)
         SELECT 'crowd-' || n, '!' FROM generate_series(1, $1::int) n RETURNING id, username)
       INSERT INTO main_profile (user_id, ldap_dn)
         SELECT id, 'uid=u' || substr(username, 7) || ',${PEOPLE}' FROM crowd`,
      [CROWD],
    );
  });
  afterAll(() => slapd.stop());

  test('offboards who is disabled, deleted or out of the group, and says why each other stays', async () => {
    const at = homeWith();
    const first = await at.gone('--yes');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain(`External users: 0 left, ${CROWD + 6} there, 1 in doubt.`);
    expect(first.stdout).toContain(
      'Whether the users in doubt have left is not known. According to the directory staff, no other user has left.',
    );

    await replace(dnOf('disabled'), 'pwdAccountLockedTime', ['000001010000Z']);
    await slapd.admin.del(dnOf('deleted'));
    await slapd.admin.modify(`cn=one,${GROUPS}`, [
      new Change({
        operation: 'delete',
        modification: new Attribute({ type: 'member', values: [dnOf('outside')] }),
      }),
    ]);
    await slapd.admin.modifyDN(dnOf('renamed'), `uid=newname,${PEOPLE}`);
    await replace(
      `cn=one,${GROUPS}`,
      'member',
      ['disabled', 'newname', 'reused', 'kept'].map((uid) => dnOf(uid)),
    );
    await slapd.admin.del(dnOf('reused'));
    await slapd.admin.add(dnOf('reused'), { objectClass: 'inetOrgPerson', cn: 'x', sn: 'another person' });

    const done = await at.gone('--yes', '--json', '--ticket', 'HR-9');
    expect(done).toMatchObject({ code: 0 });
    const { directory } = JSON.parse(done.stdout);
    const byName = (list: readonly { username: string }[]) =>
      Object.fromEntries(
        list.map((each) => [Object.keys(names).find((uid) => names[uid] === each.username), each]),
      );
    expect(byName(directory.gone)).toEqual({
      disabled: expect.objectContaining({
        basis: expect.stringMatching(/^LDAP name +UID=DISABLED , OU=People/),
        evidence: `pwdAccountLockedTime of ${dnOf('disabled')} is 000001010000Z`,
      }),
      deleted: expect.objectContaining({
        basis: expect.stringMatching(/^entry [0-9a-f-]{36}, known from an earlier response$/),
        evidence: expect.stringMatching(
          /^not in the list, and not found when asked for id [0-9a-f-]{36}, LDAP name /,
        ),
      }),
      outside: expect.objectContaining({
        evidence: `membership of ${dnOf('outside')} is outside the required groups`,
      }),
    });
    expect(byName(directory.doubtful)).toEqual({
      reused: expect.objectContaining({
        why: expect.stringMatching(/^matches a different entry than before by LDAP name/),
      }),
      noEntry: expect.objectContaining({
        why: expect.stringContaining(
          'is not in the directory: deleted, or renamed before its entry was known',
        ),
      }),
    });
    expect(await active()).toEqual({
      ...{ disabled: false, deleted: false, outside: false },
      ...{ renamed: true, reused: true, kept: true, noEntry: true, noBase: true },
    });
    const note = at
      .log()
      .split('\n')
      .filter((line) => line.includes('"directory.read"'))
      .map((line) => JSON.parse(line))
      .at(-1);
    expect(note).toMatchObject({ data: { ticket: 'HR-9', listed: many + 5, gone: [{}, {}, {}] } });

    const again = await at.gone('--yes');
    expect(again.code).toBe(0);
    expect(again.stdout).toContain('3 left');
    // Without what the first answer said, a deleted entry could be a renamed one.
    const fresh = await homeWith().gone('--dry-run', '--json');
    const { directory: unknown } = JSON.parse(fresh.stdout);
    expect(byName(unknown.gone)).toHaveProperty('disabled');
    expect(byName(unknown.gone)).not.toHaveProperty('deleted');
    expect(byName(unknown.doubtful)).toMatchObject({ deleted: {}, renamed: {} });
    for (const { stdout, stderr } of [first, done, again, fresh])
      expect(stdout + stderr + at.log()).not.toContain('hidden');
  });

  test.each([
    ['a bind password that has expired', {}, OLD, /invalidCredentials, code 49/, 4],
    ['a bind password that has to be changed', {}, RESET, /insufficientAccessRights, code 50/, 4],
    ['a search that ends at 100 entries', {}, LIMITED, /sizeLimitExceeded, code 4/, 7],
    ['a wrong base', { base: `ou=peple,${SUFFIX}` }, READER, /noSuchObject, code 32 for ou=peple/, 7],
    [
      'a base without users',
      { base: GROUPS, groups: undefined },
      READER,
      /lists no users, so everyone would be gone/,
      7,
    ],
    [
      'a filter that matches nobody',
      { filter: '(uid=nobody)', groups: undefined },
      READER,
      /lists no users/,
      7,
    ],
    [
      'a filter that is none',
      { filter: '(uid=' },
      READER,
      /directories\.staff\.filter is not an LDAP filter/,
      2,
    ],
    ['a group that is missing', { groups: `cn=stuff,${GROUPS}` }, READER, /cn=stuff,.* does not exist/, 7],
    [
      'everyone disabled by a wrong filter',
      { disabledFilter: '(uid=*)' },
      READER,
      /external users have left within a day/,
      2,
    ],
    [
      'a name without encryption',
      { url: 'ldap://ldap.example.invalid' },
      READER,
      /would not be encrypted/,
      2,
    ],
    ['a certificate of someone else', { caFile: undefined }, READER, /could not be reached \(\w+/, 7],
  ])('nothing is done after %s', async (_, settings, account, message, code) => {
    const before = await active();
    const run = await homeWith(settings, account).gone('--yes');
    expect(run.stderr).toMatch(message);
    expect(run.code).toBe(code);
    expect(run.stdout + run.stderr).not.toContain('hidden');
    expect(await active()).toEqual(before);
  });

  test('nothing is done after a cut in the middle of a page, and the next server is asked where one is down', async () => {
    const server = { host: '127.0.0.1', port: Number(new URL(slapd.url).port) };
    const cut = await cuttingProxy(server, 60_000);
    const before = await active();
    const run = await homeWith({ url: `ldap://localhost:${cut.port}` }).gone('--yes');
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toContain(
      'The directory staff closed the connection before the response was complete',
    );
    expect(cut.cuts()).toBe(1);
    expect(await active()).toEqual(before);
    const next = await homeWith({ url: ['ldaps://localhost:1', slapd.secureUrl] }).gone('--dry-run');
    expect(next.stdout).toContain('The directory staff listed');
  });

  test('the job offboarding ends the tokens of who is disabled here, and of no one else', async () => {
    const tokensOf = async (uid: string) => {
      const rows = await db
        .database()
        .query(
          'SELECT 1 FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id WHERE u.username = $1',
          [names[uid]],
        );
      return rows.length;
    };
    await replace(dnOf('kept'), 'pwdAccountLockedTime', ['000001010000Z']);
    const parameters = { present: { directory: 'staff' }, inactive: false, stopAbovePercent: 100 };
    const home = homeWith();
    home.configure({ groups: undefined }, { leavers: { job: 'offboarding', dryRun: true, parameters } });
    expect(await home.run(['jobs', 'run', 'leavers'])).toMatchObject({ code: 0 });
    const before = [await tokensOf('kept'), await tokensOf('renamed')];
    expect(Math.min(...before)).toBeGreaterThan(0);

    home.configure({ groups: undefined }, { leavers: { job: 'offboarding', dryRun: false, parameters } });
    const run = await home.run(['jobs', 'run', 'leavers', '--json']);
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout).toContain(`pwdAccountLockedTime of ${dnOf('kept')} is 000001010000Z`);
    expect([await tokensOf('kept'), await tokensOf('renamed')]).toEqual([0, before[1]]);
    expect(home.log()).toContain('"operation":"directory.read"');

    const again = await home.run(['jobs', 'run', 'leavers', '--json']);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('No departed user has access') });
    await replace(dnOf('kept'), 'pwdAccountLockedTime', []);
  });

  test('many small steps are stopped like a large one', async () => {
    const rules = { groups: undefined, stopBelowPercent: 30, except: ['*'] };
    const at = homeWith(rules);
    expect(await at.gone('--yes')).toMatchObject({ code: 0 });
    at.configure({ ...rules, filter: '(!(|(uid=u*1)(uid=u*2)))' });
    expect(await at.gone('--yes')).toMatchObject({ code: 0 });
    at.configure({ ...rules, filter: '(!(|(uid=u*1)(uid=u*2)(uid=u*3)(uid=u*4)))' });
    const run = await at.gone('--yes');
    expect(run.stderr).toMatch(/lists \d+ users, more than 30 % fewer than the \d+ within the last day/);
    expect(run.code).toBe(2);
  });
});

test('jobs init drafts a directory from the settings of the controller, without the password', async () => {
  const settings = {
    AUTH_LDAP_SERVER_URI: 'ldaps://ldap.example.invalid',
    AUTH_LDAP_BIND_DN: READER.dn,
    AUTH_LDAP_BIND_PASSWORD: 'controller-password-hidden',
    AUTH_LDAP_USER_SEARCH: [PEOPLE, 'SCOPE_SUBTREE', '(uid=%(user)s)'],
  };
  for (const [key, value] of Object.entries(settings)) {
    await db
      .database()
      .execute('INSERT INTO conf_setting (created, modified, key, value) VALUES (now(), now(), $1, $2)', [
        key,
        JSON.stringify(value),
      ]);
  }
  const home = db.home();
  const file = join(home.folder, '.config/tokenctl/tokenctl.yaml');
  const flags = ['--rules', 'owner-inactive', '--schedule', '02:30', '--time-zone', 'UTC'];
  const done = await home.run(['jobs', 'init', ...flags]);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toContain(
    'Drafted the directory ldap from the settings of the controller: ldaps://ldap.example.invalid, ou=people',
  );
  expect(done.stdout + readFileSync(file, 'utf8')).not.toContain('hidden');
  const ask = ['users', 'offboard', '--gone', 'ldap', '--dry-run'];
  const without = await home.run(ask);
  expect(without).toMatchObject({ code: 2, stdout: '' });
  expect(without.stderr).toMatch(/ldap\.bind-password does not exist/);
  mkdirSync(join(home.folder, '.config/tokenctl/secrets'), { recursive: true });
  writeFileSync(join(home.folder, '.config/tokenctl/secrets/ldap.bind-password'), 'x', { mode: 0o600 });
  const far = await home.run(ask);
  expect(far).toMatchObject({ code: 7, stdout: '' });
  expect(far.stderr).toMatch(/The directory ldap could not be reached \(\w+\)/);
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Attribute, Change } from 'ldapts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseEstate, FIRST_ENTRY } from '../process/cli/database-estate.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import {
  AD_OLD,
  AD_PEOPLE,
  AD_READER,
  adGroup,
  adUser,
  DOMAIN,
  NO_SAMBA,
  type Samba,
  startSamba,
} from '../support/samba.ts';

const db = databaseEstate();
/** Users in the directory: each takes the domain controller 15 ms to make. */
const MANY = Number(process.env['AD_USERS'] ?? 2_000);
const CROWD = 60;
const CROWDED = Array.from({ length: CROWD }, (_, index) => index + 1);
const WATCHED = ['disabled', 'expired', 'deleted', 'outside', 'renamed', 'moved', 'primary', 'kept'] as const;
const dnOf = (name: string) => `CN=${name},${AD_PEOPLE}`;
const names: Record<string, string> = {};

let samba: Samba;

function homeWith(settings: object = {}, account = AD_READER) {
  const home = db.home();
  const secret = join(home.folder, 'bind-password');
  writeFileSync(secret, `${account.password}\n`, { mode: 0o600 });
  const staff = {
    kind: 'active-directory',
    url: samba.url,
    caFile: samba.ca,
    bindDn: account.dn,
    bindPassword: { file: secret },
    base: AD_PEOPLE,
    groups: dnOf('staff'),
    ...settings,
  };
  const file = join(home.folder, '.config/tokenctl/tokenctl.yaml');
  writeFileSync(file, `${readFileSync(file, 'utf8')}directories: ${JSON.stringify({ staff })}\n`);
  return (...args: readonly string[]) => home.run(['users', 'offboard', '--gone', 'staff', ...args]);
}

const change = (dn: string, operation: 'add' | 'delete' | 'replace', type: string, ...values: string[]) =>
  samba.admin.modify(dn, [new Change({ operation, modification: new Attribute({ type, values }) })]);

describe.skipIf(NO_SAMBA !== null)('a domain of Active Directory', () => {
  beforeAll(async () => {
    const logins = [...WATCHED, ...Array.from({ length: MANY }, (_, index) => `u${index}`)];
    samba = await startSamba(
      [
        ...logins.map((login) => adUser(login)),
        adGroup('one', WATCHED.map(dnOf)),
        adGroup('two', logins.slice(WATCHED.length + CROWD + 1).map(dnOf)),
        // More groups than one search names: each of the crowd is in one of its own.
        ...CROWDED.map((number) => adGroup(`team${number}`, [dnOf(`u${number}`)])),
        adGroup('teams', [dnOf('one'), dnOf('two'), ...CROWDED.map((number) => dnOf(`team${number}`))]),
        adGroup('staff', [dnOf('teams')]),
      ].join(''),
    );
    await db.database().execute(FIRST_ENTRY);
    for (const login of WATCHED) {
      const { name } = await db.addUser();
      names[login] = name;
      await db
        .database()
        .execute(
          'INSERT INTO main_profile (user_id, ldap_dn) SELECT id, $1 FROM auth_user WHERE username = $2',
          [dnOf(login).toLowerCase(), name],
        );
    }
    await db.database().execute(
      `WITH crowd AS (INSERT INTO auth_user (username, password)
         SELECT 'crowd-' || n, '!' FROM generate_series(1, $1::int) n RETURNING id, username)
       INSERT INTO main_profile (user_id, ldap_dn)
         SELECT id, 'cn=u' || substr(username, 7) || ',${AD_PEOPLE}' FROM crowd`,
      [CROWD],
    );
  });
  afterAll(() => samba.stop());

  test('says who is disabled, expired, deleted or out of the group, also in nested groups', async () => {
    const gone = homeWith();
    const first = await gone('--yes');
    expect(first.stderr).toBe('');
    expect(first.stdout).toContain(`External users: 0 left, ${CROWD + WATCHED.length} there, 0 in doubt.`);

    await change(dnOf('disabled'), 'replace', 'userAccountControl', '514');
    // 2020-01-01 in steps of 100 ns since 1601.
    await change(dnOf('expired'), 'replace', 'accountExpires', '132223104000000000');
    await samba.admin.del(dnOf('deleted'));
    await change(dnOf('one'), 'delete', 'member', dnOf('outside'));
    await samba.admin.modifyDN(dnOf('renamed'), `CN=someone,${AD_PEOPLE}`);
    await samba.admin.add(`OU=elsewhere,${AD_PEOPLE}`, { objectClass: 'organizationalUnit' });
    await samba.admin.modifyDN(dnOf('moved'), `CN=moved,OU=elsewhere,${AD_PEOPLE}`);
    // The primary group is not in memberOf: its members do not have it there.
    const { searchEntries } = await samba.admin.search(dnOf('teams'), {
      scope: 'base',
      attributes: ['objectSid'],
      explicitBufferAttributes: ['objectSid'],
    });
    const sid = searchEntries[0]?.['objectSid'] as Buffer;
    await change(dnOf('teams'), 'add', 'member', dnOf('primary'));
    await change(dnOf('primary'), 'replace', 'primaryGroupID', String(sid.readUInt32LE(sid.length - 4)));
    await change(dnOf('one'), 'delete', 'member', dnOf('primary'));

    const done = await gone('--yes', '--json');
    expect(done.code).toBe(0);
    const { directory } = JSON.parse(done.stdout);
    const evidence = Object.fromEntries(
      directory.gone.map((each: { username: string; evidence: string }) => [
        Object.keys(names).find((login) => names[login] === each.username),
        each.evidence,
      ]),
    );
    expect(evidence).toEqual({
      disabled: `userAccountControl of ${dnOf('disabled')} is 514`,
      expired: `accountExpires of ${dnOf('expired')} is 132223104000000000 since 2020-01-01T00:00:00.000Z`,
      deleted: expect.stringMatching(
        /^not in the list, and not found when asked for id [0-9a-f-]{36}, LDAP name /,
      ),
      outside: `membership of ${dnOf('outside')} is outside the required groups`,
    });
    expect(directory).toMatchObject({ doubtful: [], present: CROWD + 4 });
  });

  test.each([
    [
      'a password that has to be changed',
      {},
      AD_OLD,
      /invalidCredentials, code 49: the password must be changed/,
    ],
    ['a wrong password', {}, { ...AD_READER, password: 'wrong-hidden' }, /invalidCredentials, code 49/],
    [
      'a base that does not exist',
      { base: `OU=peple,${DOMAIN}` },
      AD_READER,
      /noSuchObject, code 32 for OU=peple/,
    ],
    [
      'a group that does not exist',
      { groups: dnOf('stuff') },
      AD_READER,
      /noSuchObject, code 32 for CN=stuff/,
    ],
    [
      'a group without users',
      { groups: `CN=Replicator,CN=Builtin,${DOMAIN}` },
      AD_READER,
      /No user is in a required group/,
    ],
    [
      'a filter that matches nobody',
      { filter: '(cn=nobody)', groups: undefined },
      AD_READER,
      /lists no users/,
    ],
    ['a bind without encryption', { url: 'ldap://127.0.0.31' }, AD_READER, /strongerAuthRequired, code 8/],
  ])('nothing is done after %s', async (_, settings, account, message) => {
    const run = await homeWith(settings, account)('--yes');
    expect(run.stderr).toMatch(message);
    expect(run.code).not.toBe(0);
    expect(run.stdout + run.stderr).not.toContain('hidden');
  });

  test('nothing is done after a cut in the middle of a page', async () => {
    const server = { host: new URL(samba.url).hostname, port: 636 };
    const cut = await cuttingProxy(server, 300_000);
    const sql = 'SELECT id, is_active FROM auth_user ORDER BY id';
    const before = await db.database().query(sql);
    const run = await homeWith({ url: `ldaps://${server.host}:${cut.port}` })('--yes');
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toMatch(
      /The directory staff (closed the connection before the response was complete|could not be reached)/,
    );
    expect(cut.cuts()).toBe(1);
    expect(await db.database().query(sql)).toEqual(before);
  });

  test('the whole domain can be read, although it refers to its other parts, and by StartTLS', async () => {
    const run = await homeWith({ base: DOMAIN, url: 'ldap://127.0.0.31', startTls: true })(
      '--dry-run',
      '--json',
    );
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout).directory.listed).toBeGreaterThan(MANY);
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { DOCUMENTED_GRANTS, SERVICE_GRANTS } from '../../support/documented-grants.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, consent, DATABASE } from '../needs.ts';
import { LeftOut } from '../runner.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';

const READING = DOCUMENTED_GRANTS.get('Reading') ?? [];

/** What each heading of docs/database.md promises that a role with its grants, and those for reading, can do to a user. */
const PROMISED: readonly (readonly [string, readonly string[], (user: string) => readonly string[][]])[] = [
  [
    'reading',
    [],
    () => [
      ['tokens', 'list'],
      ['refresh-tokens', 'list'],
      ['sessions', 'list'],
      ['settings', 'show'],
    ],
  ],
  ['revoking tokens', ['Revoking tokens'], (user) => [['tokens', 'revoke', '--user', user, '--yes']]],
  ['ending sessions', ['Ending sessions'], (user) => [['sessions', 'expire', '--user', user, '--yes']]],
  [
    'offboarding',
    ['Revoking tokens', 'Ending sessions', 'Deactivating users'],
    (user) => [['users', 'offboard', user, '--yes']],
  ],
];

/** Makes a role with these grants, in which ROLE is its name, and gives the URL of the database for it. */
async function roleUrl(it: Installation, grants: readonly string[]): Promise<string> {
  const [may] = await it.sql<{ create: boolean }>(
    'SELECT rolsuper OR rolcreaterole AS create FROM pg_roles WHERE rolname = current_user',
  );
  if (may?.create !== true) throw new LeftOut('the role of `database` may not create roles');
  if (!URL.canParse(it.databaseUrl)) throw new LeftOut('needs a postgres:// URL in `database`');
  const name = `tokenctl_acceptance_${randomBytes(4).toString('hex')}`;
  const password = it.keep(randomBytes(12).toString('hex'));
  await it.sql(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
  for (const grant of grants) await it.sql(grant.replaceAll('ROLE', name));
  const url = new URL(it.databaseUrl);
  Object.assign(url, { username: name, password });
  return url.href;
}

/** What the documented grants leave out for the database of the bundled service. */
async function readingOf(it: Installation): Promise<readonly string[]> {
  const own = await it.sql("SELECT FROM pg_class WHERE relname = 'service_role'");
  return own.length === 0 ? READING : [...READING, ...SERVICE_GRANTS];
}

/** Roles of the database with the documented grants, and with fewer. */
export const databaseRoles: AcceptanceSuite = {
  name: 'Roles of the database',
  needs: [DATABASE, consent('databaseRoles')],
  scenarios: [
    ...PROMISED.map(([what, headings, commandsOf]) => ({
      name: `the documented grants for ${what} are enough for it`,
      needs: [CONTROLLER],
      run: async (it: Installation) => {
        const { account } = await scene(it, `role-${what.replaceAll(' ', '-')}`);
        const grants = headings.flatMap((heading) => DOCUMENTED_GRANTS.get(heading) ?? []);
        const databaseUrl = await roleUrl(it, [...(await readingOf(it)), ...grants]);
        const { run } = homeOf(it, { databaseUrl, current: 'db' });
        for (const command of commandsOf(account.name)) {
          const { code, stderr } = await run(...command);
          assert.deepEqual([command.join(' '), code, stderr], [command.join(' '), 0, '']);
        }
      },
    })),
    {
      name: 'a role that may not revoke is refused, and nothing changes',
      needs: [CONTROLLER],
      run: async (it) => {
        const { account, changed } = await scene(it, 'not-by-role');
        const databaseUrl = await roleUrl(it, await readingOf(it));
        const home = homeOf(it, { databaseUrl, current: 'db' });
        for (const command of [
          ['incident', 'lockdown', '--user', account.name, '--yes'],
          ['users', 'offboard', account.name, '--yes'],
          ['tokens', 'revoke', '--user', account.name, '--yes'],
        ]) {
          const { code, stdout, stderr } = await home.run(...command);
          assert.deepEqual([command.join(' '), code], [command.join(' '), 4], stderr);
          assert.match(stderr, /role.* lacks/);
          assert.doesNotMatch(stdout, /locked down|verified|nothing to revoke|has ended/i);
        }
        assert.deepEqual(await changed(), {});
        const { body } = await home.json<{ incidents: unknown[] }>('incident', 'status');
        assert.deepEqual(body.incidents, []);
      },
    },
    {
      name: 'the grants that context check prints are all that a lockdown takes, as printed',
      run: async (it) => {
        const { account } = await scene(it, 'by-printed-role');
        const bare = homeOf(it, { databaseUrl: await roleUrl(it, []), current: 'db' });
        const { stdout } = await bare.run('context', 'check');
        const printed = [...stdout.matchAll(/^ {2}(GRANT .*);$/gm)].map(([, grant]) => grant ?? '');
        assert.ok(printed.length > 10, stdout);
        for (const grant of printed) await it.sql(grant);
        const lockdown = ['incident', 'lockdown', '--user', account.name, '--deactivate', '--yes'];
        const { code, stderr } = await bare.run(...lockdown);
        assert.equal(code, 0, stderr);
        const { body } = await bare.json<{ missingRights: unknown[] }>('context', 'check');
        assert.deepEqual(body.missingRights, []);
      },
    },
    {
      name: 'a role that may not read all tables is told the grant for an investigation',
      needs: [CONTROLLER],
      run: async (it) => {
        const databaseUrl = await roleUrl(it, ['GRANT SELECT ON auth_user TO ROLE']);
        const home = homeOf(it, { databaseUrl, current: 'db' });
        const { code, stderr } = await home.run('incident', 'investigate', '--user', it.adminName);
        assert.equal(code, 4);
        assert.match(stderr, /GRANT SELECT/);
      },
    },
  ],
};

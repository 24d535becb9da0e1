import { expect, test } from 'vitest';
import { type Access, makeAccess, makeUser, openWays, tryAccess, type WayIn } from '../access.ts';
import { homeOf, type PeerHome } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

interface Path {
  readonly path: string;
  readonly state: string;
  readonly covered: boolean;
  readonly until?: string;
}

/** What a lockdown reports, as far as it is about ways in. */
interface Lockdown {
  readonly incident: string;
  readonly accessPaths: readonly Path[];
}

/** What the status of an incident says about ways in. */
interface Status {
  readonly incidents: readonly {
    readonly holds: boolean | null;
    readonly aliveCount: number;
    readonly accessPaths: readonly Path[];
  }[];
}

/** The ways in that an access path of a report stands for. */
const WAYS_OF_PATH: Readonly<Record<string, readonly WayIn[]>> = {
  access_tokens: ['personal', 'application'],
  refresh_tokens: ['refresh'],
  authorization_codes: ['code'],
  sessions: ['session'],
  basic_authentication: ['basic'],
  users: ['basic', 'login', 'password'],
  login: ['login', 'password'],
};

interface Case {
  readonly home: (peer: Peer) => PeerHome;
  readonly flags: readonly string[];
  /** The exit code: 5 where access paths are left unchecked. */
  readonly exit: number;
  /** The ways in that have to be reported as closed. */
  readonly closed: readonly WayIn[];
}

const ALL_WAYS = ['basic', 'login', 'password', 'personal', 'application', 'refresh', 'code', 'session'];
const TOKENS = ['personal', 'application'] as const;
const CREDENTIALS = [...TOKENS, 'refresh', 'code', 'session'] as const;
const inDatabase = (peer: Peer) => homeOf(peer, { current: 'db' });

/** Accounts that see everything, and must not report a way in as closed that is open. */
const SEEING_ALL: Readonly<Record<string, Case>> = {
  'over REST, by a superuser': { home: homeOf, flags: [], exit: 5, closed: TOKENS },
  'over REST, with --basic-auth-off': {
    home: homeOf,
    flags: ['--basic-auth-off'],
    exit: 5,
    // The other workers take up to five seconds to apply the switch.
    closed: TOKENS,
  },
  'in the database': { home: inDatabase, flags: [], exit: 0, closed: CREDENTIALS },
  'in the database, with --deactivate': {
    home: inDatabase,
    flags: ['--deactivate'],
    exit: 0,
    closed: [...CREDENTIALS, 'basic', 'login', 'password'],
  },
};

/** The ways in that a report calls closed, and those that it calls open, not checked or left to do. */
function saidOf({ accessPaths }: Lockdown) {
  const waysOf = (paths: readonly Path[]) => paths.flatMap(({ path }) => WAYS_OF_PATH[path] ?? []);
  return {
    closed: waysOf(accessPaths.filter(({ state }) => state === 'closed')),
    warned: waysOf(accessPaths.filter(({ state }) => state !== 'closed')),
  };
}

/** Tries every way in, and compares it with what was said. */
async function expectAsSaid(peer: Peer, access: Access, report: Lockdown): Promise<readonly WayIn[]> {
  const open = openWays(await tryAccess(peer, access));
  const { closed, warned } = saidOf(report);
  expect({ open: open.filter((way) => closed.includes(way)) }, 'reported as closed').toEqual({ open: [] });
  expect({ open: open.filter((way) => !warned.includes(way)) }, 'not mentioned').toEqual({ open: [] });
  return open;
}

describePeer('awx', 'what a lockdown says', (peer) => {
  test.each(Object.entries(SEEING_ALL))(
    '%s: is what is found',
    async (name, { home, flags, exit, closed }) => {
      const user = name.replace(/\W+/g, '-').toLowerCase();
      await makeUser(peer(), user);
      const access = await makeAccess(peer(), user);
      const { json, run } = home(peer());
      const { code, body } = await json<Lockdown>('incident', 'lockdown', '--user', user, '--yes', ...flags);
      const { body: before } = await json<Status>('incident', 'status');
      await expectAsSaid(peer(), access, body);
      expect([...new Set(saidOf(body).closed)].sort()).toEqual([...closed].sort());
      expect(code).toBe(exit);
      expect(before.incidents).toMatchObject([{ holds: true, aliveCount: 0 }]);
      // A switch is no longer pending after five seconds.
      const lasting = (paths: readonly string[] = []) =>
        paths.filter((path) => path !== 'basic_authentication');
      const unchecked = (paths: readonly Path[] = []) =>
        lasting(
          paths.filter(({ state, covered }) => covered && state === 'not_checked').map(({ path }) => path),
        );
      expect(unchecked(before.incidents[0]?.accessPaths)).toEqual(unchecked(body.accessPaths));
      // Trying a way in that is open makes tokens and sessions: the status has to see them.
      const { body: after } = await json<Status>('incident', 'status');
      expect(after.incidents).toMatchObject([{ holds: flags.includes('--deactivate') }]);
      expect(await run('incident', 'lift', body.incident, '--yes')).toMatchObject({ code: 0 });
    },
  );

  test('a password is not reported as refused before the workers refuse it', async () => {
    const { json } = inDatabase(peer());
    await makeUser(peer(), 'slow-setting');
    const user = 'slow-setting';
    const lockDown = () =>
      json<Lockdown>('incident', 'lockdown', '--user', user, '--basic-auth-off', '--yes');
    const basic = async () => (await peer().request(`${peer().api}me/`, { user })).status;
    try {
      const { code, body } = await lockDown();
      const path = body.accessPaths.find((each) => each.path === 'basic_authentication');
      expect(path).toMatchObject({ state: 'not_checked' });
      expect(code).toBe(5);
      await expect.poll(basic, { timeout: 70_000, interval: 1000 }).toBe(401);
      await expect
        .poll(() => Date.now(), { timeout: 70_000, interval: 1000 })
        .toBeGreaterThan(Date.parse(path?.until ?? ''));
      expect((await lockDown()).code).toBe(0);
      const { body: status } = await json<Status>('incident', 'status');
      expect(status.incidents).toMatchObject([{ holds: true, notChecked: [] }]);
    } finally {
      await peer().reset();
    }
  }, 300_000);

  test.each([
    ['over REST', homeOf, []],
    ['in the database', inDatabase, ['--deactivate', '--keep-active', 'admin']],
  ] as const)('of all users, %s: is what is found', async (_where, home, flags) => {
    try {
      const access = await makeAccess(peer(), 'alice');
      const kept = await makeAccess(peer(), 'admin');
      const { json } = home(peer());
      const { body } = await json<Lockdown>('incident', 'lockdown', '--all', '--yes', ...flags);
      const open = await expectAsSaid(peer(), access, body);
      expect(open.every((way) => ALL_WAYS.includes(way))).toBe(true);
      const ofAdmin = openWays(await tryAccess(peer(), kept));
      expect(ofAdmin.filter((way) => way === 'personal' || way === 'application')).toEqual([]);
      // A user who is kept active can log in.
      const { warned } = saidOf(body);
      expect({ open: ofAdmin.filter((way) => !warned.includes(way)) }, 'not mentioned').toEqual({ open: [] });
    } finally {
      await peer().reset();
    }
  });
});

import { expect, test } from 'vitest';
import { makeAccess, makeUser, openWays, tryAccess, type WayIn } from '../access.ts';
import { homeOf, type PeerHome } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

/** What a lockdown reports, as far as it is about ways in. */
interface Lockdown {
  readonly accessPaths: readonly { readonly path: string; readonly state: string }[];
  readonly manualSteps: readonly { readonly what: string }[];
}

/** The ways in that an access path of a report stands for. */
const WAYS_OF_PATH: Readonly<Record<string, readonly WayIn[]>> = {
  access_tokens: ['personal', 'application'],
  refresh_tokens: ['refresh'],
  authorization_codes: ['code'],
  sessions: ['session'],
};

/** The ways in that a manual step warns of. */
const WAYS_OF_STEP: Readonly<Record<string, readonly WayIn[]>> = {
  'refresh tokens': ['refresh'],
  'authorization codes': ['code'],
  sessions: ['session'],
  'basic authentication': ['basic'],
  'logging in': ['login', 'password'],
};

/** Accounts that see everything, and must not report a way in as closed that is open. */
const SEEING_ALL: readonly (readonly [string, (peer: Peer) => PeerHome, readonly string[]])[] = [
  ['over REST, by a superuser', (peer) => homeOf(peer), []],
  ['in the database', (peer) => homeOf(peer, { current: 'db' }), []],
  ['in the database, with --deactivate', (peer) => homeOf(peer, { current: 'db' }), ['--deactivate']],
];

describePeer('awx', 'what a lockdown says', (peer) => {
  test.each(SEEING_ALL)('%s: is what is found', async (name, home, flags) => {
    const user = name.replace(/\W+/g, '-').toLowerCase();
    await makeUser(peer(), user);
    const access = await makeAccess(peer(), user);
    const run = home(peer()).json<Lockdown>('incident', 'lockdown', '--user', user, '--yes', ...flags);
    const { code, body } = await run;
    const tried = await tryAccess(peer(), access);
    const open = openWays(tried);
    const closed = body.accessPaths
      .filter(({ state }) => state === 'closed')
      .flatMap(({ path }) => WAYS_OF_PATH[path] ?? []);
    const warned = [
      ...body.accessPaths
        .filter(({ state }) => state !== 'closed')
        .flatMap(({ path }) => WAYS_OF_PATH[path] ?? []),
      ...body.manualSteps.flatMap(({ what }) => WAYS_OF_STEP[what] ?? []),
    ];
    expect(code).toBe(0);
    expect(closed).toEqual(expect.arrayContaining(['personal', 'application']));
    expect({ open: open.filter((way) => closed.includes(way)) }, 'reported as closed').toEqual({ open: [] });
    expect({ open: open.filter((way) => !warned.includes(way)) }, 'not mentioned').toEqual({ open: [] });
  });
});

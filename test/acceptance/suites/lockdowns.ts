import assert from 'node:assert/strict';
import type { WayIn } from '../access.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { consent, DATABASE, way } from '../needs.ts';
import { AUTHENTICATION, withSettings } from '../own-objects.ts';
import { expectAsSaid, expectClosed, type Report } from '../reports.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';

/** What the status of an incident says. */
interface Status {
  readonly incidents: readonly { readonly holds: boolean | null; readonly aliveCount: number }[];
}

interface Case {
  readonly name: string;
  readonly current: 'rest' | 'db';
  readonly flags: readonly string[];
  readonly closed: readonly WayIn[];
  /** Whether it changes settings for everyone. */
  readonly changesSettings?: boolean;
}

const TOKENS = ['personal', 'application'] as const;
const CREDENTIALS = [...TOKENS, 'refresh', 'code'] as const;
const BY_PASSWORD = ['basic', 'login', 'password'] as const;

const CASES: readonly Case[] = [
  { name: 'over REST', current: 'rest', flags: [], closed: TOKENS },
  {
    name: 'over REST, with a new password',
    current: 'rest',
    flags: ['--reset-password'],
    closed: [...TOKENS, ...BY_PASSWORD],
  },
  {
    name: 'over REST, with Basic authentication off',
    current: 'rest',
    flags: ['--basic-auth-off'],
    closed: TOKENS,
    changesSettings: true,
  },
  { name: 'in the database', current: 'db', flags: [], closed: CREDENTIALS },
  {
    name: 'in the database, with --deactivate',
    current: 'db',
    flags: ['--deactivate'],
    closed: [...CREDENTIALS, 'session', ...BY_PASSWORD],
  },
  {
    name: 'in the database, with Basic authentication off',
    current: 'db',
    flags: ['--basic-auth-off'],
    closed: CREDENTIALS,
    changesSettings: true,
  },
];

/** Locks a user down, tries every way in, and lifts the lockdown. */
async function lockDownAsSaid(it: Installation, { name, current, flags, closed }: Case): Promise<void> {
  const { account, access } = await scene(it, name.replace(/\W+/g, '-').toLowerCase());
  const { json, run } = homeOf(it, { current });
  const lockdown = ['incident', 'lockdown', '--user', account.name, '--yes', ...flags];
  const { code, body } = await json<Report>(...lockdown);
  const isComplete = body.accessPaths.every(({ state, covered }) => !covered || state === 'closed');
  assert.equal(code, isComplete ? 0 : 5);
  const { incidents } = (await json<Status>('incident', 'status')).body;
  assert.deepEqual(
    incidents.map(({ holds, aliveCount }) => ({ holds, aliveCount })),
    [{ holds: true, aliveCount: 0 }],
  );
  expectClosed(it, body, ...closed);
  const open = await expectAsSaid(it, access, body);
  // Trying a way in that is open may have made tokens, which the status has to see.
  const { incidents: after } = (await json<Status>('incident', 'status')).body;
  const makesTokens = open.some((each) => ['password', 'refresh', 'code'].includes(each));
  assert.equal(after[0]?.holds, !makesTokens);
  assert.equal((await run('incident', 'lift', body.incident ?? '', '--yes')).code, 0);
}

/** What a lockdown says of every way in, beside what is found. */
export const lockdowns: AcceptanceSuite = {
  name: 'What a lockdown says',
  needs: [],
  scenarios: CASES.map((each) => ({
    name: `${each.name}: is what is found`,
    needs: [
      ...(each.current === 'db' ? [DATABASE] : []),
      ...(each.changesSettings === true ? [consent('settings'), way('basic')] : []),
    ],
    run: (it: Installation) =>
      each.changesSettings === true
        ? withSettings(it, AUTHENTICATION, () => lockDownAsSaid(it, each))
        : lockDownAsSaid(it, each),
  })),
};

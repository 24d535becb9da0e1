import assert from 'node:assert/strict';
import { type Access, offeredWays, openWays, tryAccess, type WayIn } from './access.ts';
import type { Installation } from './installation.ts';

/** What a report says of one way in, or several. */
interface Path {
  readonly path: string;
  readonly state: string;
  readonly covered: boolean;
}

/** What lockdowns and offboardings report, as far as it is about ways in. */
export interface Report {
  readonly incident?: string;
  readonly accessPaths: readonly Path[];
}

/** The ways in that an access path of a report stands for. */
const WAYS_OF_PATH: Readonly<Record<string, readonly WayIn[]>> = {
  access_tokens: ['personal', 'application'],
  refresh_tokens: ['refresh'],
  authorization_codes: ['code'],
  sessions: ['session'],
  basic_authentication: ['basic'],
  users: ['basic', 'login', 'password'],
  passwords: ['basic', 'login', 'password'],
  login: ['login', 'password'],
};

/** The ways in that a report calls closed, and those that it calls open, not checked or left to do. */
function saidOf({ accessPaths }: Report) {
  const waysOf = (paths: readonly Path[]) => paths.flatMap(({ path }) => WAYS_OF_PATH[path] ?? []);
  const closed = waysOf(accessPaths.filter(({ state }) => state === 'closed'));
  // A way in may be closed by one path and open by another, as Basic authentication of a deactivated user.
  const warned = waysOf(accessPaths.filter(({ state }) => state !== 'closed'));
  return { closed: [...new Set(closed)], warned: [...new Set(warned)] };
}

/**
 * Tries every way in, and compares it with what was said: none that was called closed is open, and none is open that was not
 * mentioned. Gives those that were open.
 */
export async function expectAsSaid(
  it: Installation,
  access: Access,
  report: Report,
): Promise<readonly WayIn[]> {
  const open = openWays(await tryAccess(it, access));
  const { closed, warned } = saidOf(report);
  assert.deepEqual(
    {
      openThoughSaidToBeClosed: open.filter((way) => closed.includes(way)),
      openAndNotMentioned: open.filter((way) => !warned.includes(way) && !closed.includes(way)),
    },
    { openThoughSaidToBeClosed: [], openAndNotMentioned: [] },
    JSON.stringify(report.accessPaths, null, 1),
  );
  return open;
}

/** Fails unless a report calls at least these ways in closed, of those that the installation offers. */
export function expectClosed(it: Installation, report: Report, ...ways: readonly WayIn[]): void {
  const { closed } = saidOf(report);
  const missing = ways.filter((way) => offeredWays(it)?.includes(way) && !closed.includes(way));
  assert.deepEqual(missing, [], `not said to be closed, of ${JSON.stringify(report.accessPaths, null, 1)}`);
}

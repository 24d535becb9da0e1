import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { makeTables } from '../../support/controller-tables.ts';
import { openOn } from '../../support/databases.ts';
import { stillClock, temporaryFolder } from '../../support/drafts.ts';
import { KILL_POINTS } from '../../support/dying.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { FakeController } from '../../support/fake-controller.ts';
import { entriesOf } from '../../support/fixture.ts';
import { addTokens, fillEstate } from '../../support/token-estate.ts';

const PROGRAM = join(import.meta.dirname, 'revocation-process.ts');
/** Three batches. */
const TOKENS = 6;

/** A controller with tokens: its address or its database's URL, and the ids of the tokens that are there. */
interface Estate extends AsyncDisposable {
  readonly place: string;
  left(): Promise<readonly number[]>;
}

async function overRest(): Promise<Estate> {
  const fake = await FakeController.start(TOKENS);
  return {
    place: fake.address,
    left: async () => {
      await expect.poll(() => fake.connections()).toBe(0);
      return [...fake.tokens.keys()];
    },
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

async function inTheDatabase(): Promise<Estate> {
  const place = await createDatabase(inject('postgresUrl'));
  const database = await openOn(place);
  await makeTables(database);
  await fillEstate(database, { tokens: 0, users: 2, applications: 1 });
  await addTokens(database, { first: 1, last: TOKENS, users: 2, applications: 1 });
  const busy = async () => {
    const [row] = await database.query<{ busy: number }>(
      "SELECT count(*)::int AS busy FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tokenctl'",
    );
    return row?.busy;
  };
  return {
    place,
    left: async () => {
      // The server has noticed that the killed process is gone: what it was doing is done or undone.
      await expect.poll(busy, { interval: 5 }).toBe(0);
      const rows = await database.query<{ id: number }>('SELECT id FROM main_oauth2accesstoken');
      return rows.map(({ id }) => id);
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** Runs a revocation to its end; resolves with its report, empty where it died. */
async function revocation(...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return printed;
}

/** Every id that an intent names. */
function intended(entries: Awaited<ReturnType<typeof entriesOf>>): Set<number> {
  const batches = entries.filter(({ kind, data }) => kind === 'intent' && data['step'] === 'batch');
  return new Set(
    batches.flatMap(({ data }) => data['tokens'] as { ids: number[] }[]).flatMap(({ ids }) => ids),
  );
}

describe.each([
  ['over REST', overRest],
  ['in the database', inTheDatabase],
] as const)('a revocation %s', (_name, estate) => {
  test.each(KILL_POINTS)('killed at every point %s is finished by the next run', async (kind) => {
    let deaths = 0;
    for (let point = 1; ; point += 1) {
      await using folder = await temporaryFolder();
      await using at = await estate();
      const all = await at.left();
      const path = join(folder.path, 'audit.jsonl');
      if ((await revocation(at.place, path, kind, String(point))) !== '') break;
      deaths += 1;
      const left = await at.left();
      const log = openFileLog({ path, clock: stillClock });
      const named = intended(await entriesOf(log));
      expect(all.filter((id) => !left.includes(id) && !named.has(id))).toEqual([]);
      const report = JSON.parse(await revocation(at.place, path));
      expect(report).toMatchObject({ revoked: left.length, failed: [], stillAlive: [], verified: true });
      expect(await at.left()).toEqual([]);
      expect((await entriesOf(log)).at(-1)?.open ?? []).toEqual([]);
      expect(await log.verify()).toMatchObject({ break: null, tornBytes: 0 });
    }
    // At least the entries of three batches, or the tokens.
    expect(deaths).toBeGreaterThanOrEqual(TOKENS);
  });
});

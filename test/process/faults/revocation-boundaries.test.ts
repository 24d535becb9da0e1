import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, inject, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import type { RevocationReport } from '../../../src/operations/revocation/revocation-report.ts';
import { bundledProgram } from '../../support/bundled-program.ts';
import { makeTables } from '../../support/controller-tables.ts';
import { KILL_POINTS } from '../../support/dying.ts';
import { FakeController, fakeToken } from '../../support/fake-controller.ts';
import { entriesOf } from '../../support/fixture.ts';
import { roleWith } from '../../support/test-database.ts';
import { addTokens, fillEstate } from '../../support/token-estate.ts';
import { openPlace, revokeAll } from './revocation-work.ts';

const program = bundledProgram(join(import.meta.dirname, 'revocation-process.ts'));
const clock = { now: () => new Date() };
/** Three batches. */
const [TOKENS, BATCH_SIZE] = [6, 2];
/** Every point in the long tests, every eleventh before each commit. */
const STEP = inject('longTests') ? 1 : 11;
const IDS = Array.from({ length: TOKENS }, (_, index) => index + 1);

/** A controller. */
interface Estate extends AsyncDisposable {
  /** Its address or its database's URL, for the process that is killed. */
  readonly place: string;
  /** Makes the tokens of {@link IDS}, where none are left. */
  refill(): Promise<void>;
  /** The ids of the tokens that are left, once the controller has noticed that the killed process is gone. */
  left(): Promise<readonly number[]>;
  /** Revokes what is left, in this process. */
  finish(path: string): Promise<RevocationReport>;
}

async function overRest(): Promise<Estate> {
  const fake = await FakeController.start();
  return {
    place: fake.address,
    async refill() {
      for (const id of IDS) fake.tokens.set(id, fakeToken(id));
      await Promise.resolve();
    },
    async left() {
      await until(async () => (await fake.connections()) === 0);
      return [...fake.tokens.keys()];
    },
    async finish(path) {
      const target = await openPlace(fake.address);
      const report = await revokeAll({ target, log: openFileLog({ path, clock }), batchSize: BATCH_SIZE });
      await target.close();
      return report;
    },
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

async function inTheDatabase(): Promise<Estate> {
  const url = await createDatabase(inject('postgresUrl'));
  const database = await openOn(url);
  await makeTables(database);
  await fillEstate(database, { tokens: 0, users: 2, applications: 1 });
  // The process that is killed has a role of its own: that is how the server names its connections.
  const place = await roleWith({ database, url }, (role) => [`ALTER ROLE ${role} SUPERUSER`]);
  const role = new URL(place).username;
  const target = await openPlace(url);
  const isIdle = async () =>
    (await database.query('SELECT FROM pg_stat_activity WHERE usename = $1', [role])).length === 0;
  return {
    place,
    refill: () => addTokens(database, { first: 1, last: TOKENS, users: 2, applications: 1 }),
    async left() {
      await until(isIdle);
      const rows = await database.query<{ id: number }>('SELECT id FROM main_oauth2accesstoken ORDER BY id');
      // Refresh tokens of an earlier point would have the ids of the next.
      if (rows.length === 0) await database.execute('DELETE FROM oauth2_provider_refreshtoken');
      return rows.map(({ id }) => id);
    },
    finish: (path) => revokeAll({ target, log: openFileLog({ path, clock }), batchSize: BATCH_SIZE }),
    async [Symbol.asyncDispose]() {
      await target.close();
      await database.close();
    },
  };
}

/** Runs a revocation in a process, which dies at a point; resolves with its report, empty where it died. */
async function revocation(place: string, path: string, ...point: readonly string[]): Promise<string> {
  const args = [program.path(), place, path, String(BATCH_SIZE), ...point];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
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

describe.each(
  kinds([
    ['in the database', inTheDatabase],
    ['over REST', overRest],
  ] as const),
)('a revocation %s', (_name, estate) => {
  // At the same time, each on a controller of its own.
  test.concurrent.for(kinds(KILL_POINTS))(
    'killed at every point %s is finished by the next run',
    async (kind, { expect }) => {
      await using at = await estate();
      let deaths = 0;
      for (let point = 1; ; point += STEP) {
        await using folder = await temporaryFolder();
        await at.refill();
        expect(await at.left()).toEqual(IDS);
        const path = join(folder.path, 'audit.jsonl');
        if ((await revocation(at.place, path, kind, String(point))) !== '') break;
        deaths += 1;
        const left = await at.left();
        const log = openFileLog({ path, clock });
        const named = intended(await entriesOf(log));
        expect(IDS.filter((id) => !left.includes(id) && !named.has(id))).toEqual([]);
        const report = await at.finish(path);
        expect(report).toMatchObject({ revoked: left.length, failed: [], stillAlive: [], verified: true });
        expect(await at.left()).toEqual([]);
        expect((await entriesOf(log)).at(-1)?.open ?? []).toEqual([]);
        expect(await log.verify()).toMatchObject({ break: null, tornBytes: 0 });
      }
      // At least the entries of three batches, or the tokens.
      expect(deaths * STEP).toBeGreaterThanOrEqual(TOKENS);
    },
  );
});

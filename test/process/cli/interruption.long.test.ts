import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { expect, test } from 'vitest';
import { estate, type Home } from './estate.ts';

// Twice the three batches of 250 that are in flight at once.
const TOKENS = 1500;
const { home } = estate({ users: 40, tokens: TOKENS });
const REVOKE_ALL = ['tokens', 'revoke', '--all', '--yes', '--json'];

/** Starts a revocation and returns once its first batch stands in the log. */
async function revoking({ folder, start }: Home) {
  const log = join(folder, '.local/state/tokenctl/audit.jsonl');
  const running = start(REVOKE_ALL);
  await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('"batch"'));
  return running;
}

async function tokensLeft({ run }: Home): Promise<number> {
  return (JSON.parse((await run(['tokens', 'list', '--json'])).stdout) as unknown[]).length;
}

test('signals finish the batches in flight; a kill does not, and either way the next run goes on', async () => {
  const here = home();

  const interrupted = await revoking(here);
  interrupted.kill('SIGINT');
  await interrupted.says(/Stopping: /);
  interrupted.kill('SIGTERM');
  const first = await interrupted.ended;
  expect(first.code).toBe(130);
  const report = JSON.parse(first.stdout) as {
    revoked: number;
    notTried: number;
    planned: number;
    failed: { reason: string }[];
    stillAlive: number[];
  };
  expect(report).toMatchObject({ interrupted: true, stillAlive: [], verified: false });
  expect(report.notTried).toBeGreaterThan(0);
  // A slow service may not respond to the requests in flight within the second that an interruption waits.
  const unanswered = report.failed.filter(({ reason }) => reason.startsWith('no response'));
  expect(report.failed).toEqual(unanswered);
  expect(report.revoked + report.notTried + report.failed.length).toBe(report.planned);
  expect(first.stderr).toMatch(/Stopping: .*\nStill waiting for the (responses? to \d+ requests?|audit log)/);
  expect(first.stderr).toMatch(/Interrupted: [\d,]+ tokens were not tried\.\nRun the same command again/);
  const left = await tokensLeft(here);
  expect(left).toBeLessThanOrEqual(TOKENS - report.revoked);
  expect(left).toBeGreaterThanOrEqual(TOKENS - report.revoked - report.failed.length);

  const other = home();
  const killed = await revoking(other);
  killed.kill('SIGKILL');
  expect((await killed.ended).code).toBeNull();
  const finished = await other.run(REVOKE_ALL);
  expect(finished.code).toBe(0);
  expect(await tokensLeft(other)).toBe(0);
  expect((await other.run(['log', 'verify'])).code).toBe(0);
  expect(readFileSync(join(other.folder, '.local/state/tokenctl/audit.jsonl'), 'utf8')).toContain(
    '"reconciled":true',
  );
});

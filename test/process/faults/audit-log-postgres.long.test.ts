import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { until } from '@tokenctl/testing/until.ts';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { openPostgresLog } from '../../../src/audit-log/postgres-log.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import { draft, RUN, stillClock } from '../../support/drafts.ts';
import { refusal } from '../../support/logs.ts';
import { startProxy } from './postgres-proxy.ts';

let url: string;

beforeEach(async () => {
  url = await createDatabase(inject('postgresUrl'));
});

/** A log, closed when disposed of, over a database that may be given otherwise. */
function logOn({
  open = () => openOn(url),
  ...other
}: {
  open?: () => Promise<Database>;
  timeoutMs?: number;
} = {}) {
  const log = openPostgresLog({ open, name: 'in PostgreSQL', clock: stillClock, ...other });
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
}

/** Runs a program of this folder on the log. */
function running(program: string, ...args: readonly string[]) {
  const path = join(import.meta.dirname, program);
  const child = spawn(process.execPath, [path, url, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said.err += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, ended, said, acknowledged: () => said.out.split('\n').slice(0, -1).map(Number) };
}

async function appendedTo(log: AuditLog): Promise<number> {
  const { entries, break: found } = await log.verify();
  expect(found).toBeNull();
  return entries;
}

describe('several processes at once', () => {
  test('append to one chain, each entry acknowledged once', async () => {
    await using log = logOn();
    const processes = Array.from({ length: 4 }, () => running('append-process.ts', '40'));
    const codes = await Promise.all(processes.map(({ ended }) => ended));
    expect(codes, processes.map(({ said }) => said.err).join('')).toEqual([0, 0, 0, 0]);
    const numbers = processes.flatMap(({ acknowledged }) => acknowledged()).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 160 }, (_, index) => index + 1));
    expect(await appendedTo(log)).toBe(160);
  });
});

describe('a process that is killed', () => {
  test('loses nothing that was acknowledged, and the next append goes on', async () => {
    await using log = logOn();
    for (let round = 0; round < 5; round += 1) {
      const { child, ended, acknowledged } = running('append-process.ts');
      const enough = 5 + Math.random() * 20;
      await until(() => acknowledged().length >= enough);
      child.kill('SIGKILL');
      await ended;
      const last = acknowledged().at(-1) ?? 0;
      expect((await log.append(draft())).seq).toBeGreaterThan(last);
      await appendedTo(log);
    }
  });

  test('holds no run any more', async () => {
    await using log = logOn();
    const run = randomUUID();
    const { child, ended, said } = running('hold-process.ts', run);
    await until(() => said.out === 'held\n');
    expect(await log.abandonedIntents()).toEqual([]);
    child.kill('SIGKILL');
    await ended;
    const abandoned = await until(
      () => log.abandonedIntents(),
      ({ length }) => length > 0,
    );
    expect(abandoned).toMatchObject([{ run }]);
  });
});

describe('a connection that is lost', () => {
  test('before the commit: the append fails, and the next one follows from what is there', async () => {
    let kill = false;
    await using admin = Object.assign(await openOn(url), { [Symbol.asyncDispose]: () => Promise.resolve() });
    const open = async (): Promise<Database> => {
      const database = await openOn(url);
      return {
        ...database,
        transaction: (work) =>
          database.transaction(async (transaction) => {
            const result = await work(transaction);
            if (kill) {
              kill = false;
              const [row] = await transaction.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
              await admin.query('SELECT pg_terminate_backend($1)', [row?.pid]);
              const gone = async () =>
                (await admin.query('SELECT FROM pg_stat_activity WHERE pid = $1', [row?.pid])).length === 0;
              await until(gone);
            }
            return result;
          }),
      };
    };
    await using log = logOn({ open });
    await log.append(draft());
    kill = true;
    expect(await refusal(log.append(draft()))).toMatchObject({ code: 'audit_unavailable' });
    expect(await appendedTo(log)).toBe(1);
    expect((await log.append(draft())).seq).toBe(2);
    await admin.close();
  });

  test('in the commit: the append fails, the entry is there, and the next one follows from it', async () => {
    await using proxy = await startProxy(url);
    await using log = logOn({ open: () => openOn(proxy.url) });
    await log.append(draft());
    proxy.cutAfterCommit();
    const error = await refusal(log.append(draft({ kind: 'intent' })));
    expect(error).toMatchObject(refused('audit_unavailable', 'in PostgreSQL'));
    await until(
      () => log.head(),
      (head) => head?.size === 2,
    );
    expect((await log.append(draft())).open).toEqual([2]);
    expect(await appendedTo(log)).toBe(3);
    expect(await log.abandonedIntents()).toMatchObject([{ seq: 2 }]);
  });

  test('takes a run along, which the next append holds again', async () => {
    await using log = logOn();
    await using other = logOn();
    using _hold = await log.lockRun(RUN);
    await log.append(draft({ kind: 'intent' }));
    const admin = await openOn(url);
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks
       WHERE locktype = 'advisory' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    await until(
      () => other.abandonedIntents(),
      ({ length }) => length === 1,
    );
    await log.append(draft());
    expect(await other.abandonedIntents()).toEqual([]);
    await admin.close();
  });
});

describe('a database that keeps an append waiting', () => {
  test('because someone holds its lock: fails, and goes on once it is free', async () => {
    await using log = logOn({ timeoutMs: NO_ANSWER_MS });
    await log.append(draft());
    const admin = await openOn(url);
    await admin.transaction(async (transaction) => {
      await transaction.execute('LOCK TABLE tokenctl_audit.entry IN ACCESS EXCLUSIVE MODE');
      const error = await refusal(log.append(draft()));
      expect(error).toMatchObject(refused('audit_unavailable', 'for too long'));
    });
    expect((await log.append(draft())).seq).toBe(2);
    await admin.close();
  });

  test('because it fell silent: fails, and is opened anew once it answers', async () => {
    await using proxy = await startProxy(url);
    const log = openPostgresLog({
      open: () => openOn(proxy.url),
      name: 'in PostgreSQL',
      clock: stillClock,
      timeoutMs: NO_ANSWER_MS,
    });
    using _hold = await log.lockRun(RUN);
    await log.append(draft({ kind: 'intent' }));
    proxy.silence();
    expect(await refusal(log.append(draft()))).toMatchObject(refused('audit_unavailable', 'did not respond'));
    expect(await refusal(log.verify())).toMatchObject({ code: 'audit_unavailable' });
    proxy.restore();
    expect((await log.append(draft())).seq).toBe(2);
    expect(await log.abandonedIntents()).toEqual([]);
    await log.close();
  });
});

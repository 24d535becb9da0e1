import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, startTestService } from '@tokenctl/service/testing/service.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLedgerTables } from '../../../src/scheduler/ledger/ledger.ts';
import { webServer } from '../../support/receivers.ts';

const PROGRAM = join(import.meta.dirname, 'start-process.ts');
const SIGNING = 'a signing secret';

const configurationText = (service: string, jobs: string) => `
currentContext: lab
contexts:
  lab: { url: "${service}", username: ${ADMIN.username}, password: { env: LAB_PASSWORD } }
auditLog: { file: audit.jsonl }
scheduler:
  ledger: { file: ticks.sqlite }
  healthPort: 0
  lease: 10s
  notify:
    chat: { kind: slack, url: { env: CHAT_URL }, signingSecret: { env: CHAT_SECRET }, at: warning }
jobs:
${jobs}
`;

const GUARD = `
  guard:
    job: settings-guard
    schedule: "* * * * * *"
    parameters: { settings: { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false } }`;

/** Every token of the estate is older than a day, and no one uses six in ten of them. */
const SWEEP = `
  sweep:
    job: revocation-sweep
    schedule: "* * * * * *"
    dryRun: false
    parameters:
      rules: [never-used]
      policy: { never-used: { days: 1 } }
      keepIfYounger: 0s
      stopAbovePercent: 20`;

/** A scheduler in a process of its own. */
async function started(config: string, environment: Record<string, string>) {
  const child = spawn(process.execPath, [PROGRAM, config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const says = async (pattern: RegExp) => {
    const found = pattern.exec(
      await until(
        () => said,
        (text) => pattern.test(text),
      ),
    );
    return found ?? [];
  };
  return { child, exited, says, said: () => said, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

describe('jobs start', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startTestService();
    await service.database.execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, created, updated, description, last_used, user_id, modified)
       SELECT 'hash ' || n, now() + interval '90 days', 'write', now() - interval '9 days', now(), '',
         CASE WHEN n % 10 < 4 THEN now() END, (SELECT min(id) FROM auth_user), now() FROM generate_series(1, 50) n`,
    );
  });
  afterAll(() => service.close());

  test('serves health and metrics, reloads, refuses what is invalid, tells of a sweep that stopped, and drains', {
    tags: ['long'],
  }, async () => {
    await using folder = await temporaryFolder();
    const { port, requests: messages } = await webServer(() => 200);
    const config = join(folder.path, 'tokenctl.yaml');
    await writeFile(config, configurationText(service.url, GUARD));
    const environment = {
      LAB_PASSWORD: ADMIN.password,
      CHAT_URL: `http://127.0.0.1:${port}/services/T000/B000/secret`,
      CHAT_SECRET: SIGNING,
      HOME: folder.path,
    };
    using scheduler = await started(config, environment);
    const [, health = ''] = await scheduler.says(/metrics: (http:\S+)\./);
    const metric = async (pattern: RegExp) => {
      const read = async () => pattern.exec(await (await fetch(`${health}/metrics`)).text());
      return (await until(read)) ?? [];
    };

    expect((await fetch(`${health}/healthz`)).status).toBe(200);
    const ready = await fetch(`${health}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      200,
      { ready: true, ledger: 'ok', head: { size: 0 } },
    ]);
    await metric(/tokenctl_scheduler_runs_total\{job="guard@lab",state="failed"\} 0/);
    await metric(/tokenctl_scheduler_runs_total\{job="guard@lab",state="completed"\} [2-9]/);
    await metric(/tokenctl_scheduler_last_success_timestamp_seconds\{job="guard@lab"\} \d{10}/);
    await metric(/tokenctl_scheduler_dry_run\{job="guard@lab"\} 1/);

    await writeFile(config, configurationText(service.url, GUARD.replace('* * * * * *', 'no cron')));
    scheduler.child.kill('SIGHUP');
    await scheduler.says(/configuration rejected; the old one stays in use/);
    await metric(/tokenctl_scheduler_reloads_total\{result="rejected"\} 1/);
    const before = Number((await metric(/runs_total\{job="guard@lab",state="completed"\} (\d+)/))[1]);
    await metric(new RegExp(`runs_total\\{job="guard@lab",state="completed"\\} ${before + 2}`));

    await writeFile(config, configurationText(service.url, GUARD + SWEEP));
    scheduler.child.kill('SIGHUP');
    await scheduler.says(/configuration reloaded/);
    await metric(/runs_total\{job="sweep@lab",state="failed"\} [1-9]/);
    await until(() => messages.length > 0);
    const [message] = messages;
    expect(JSON.parse(message?.body ?? '')).toMatchObject({ text: 'tokenctl: job sweep@lab failed' });
    expect(message?.body).toContain('would revoke 30 of 50 tokens (60 %)');
    const {
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': signature,
    } = message?.headers ?? {};
    const expected = createHmac('sha256', SIGNING).update(`${id}.${at}.${message?.body}`).digest('base64');
    expect(signature).toBe(`v1,${expected}`);
    const [left] = await service.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM main_oauth2accesstoken',
    );
    expect(left?.count).toBe(50);

    scheduler.child.kill('SIGTERM');
    expect(await scheduler.exited).toBe(0);
    const store = await openLedgerTables(join(folder.path, 'ticks.sqlite'));
    expect(await store.history({ states: ['running'], limit: 5 })).toEqual([]);
    const [stopped] = await store.history({ job: 'sweep@lab', states: ['failed'], limit: 1 });
    expect(stopped?.summary).toMatchObject({ code: 'plan_too_large', details: { found: 30, tokens: 50 } });
    await store.close();
    expect(scheduler.said()).not.toContain(ADMIN.password);
  });

  test('does not start with a job that is invalid, and says all that is wrong', {
    tags: ['long'],
  }, async () => {
    await using folder = await temporaryFolder();
    const config = join(folder.path, 'tokenctl.yaml');
    const jobs = `${GUARD.replace('* * * * * *', 'no cron')}
  other: { job: token-cleanup, contexts: [nowhere] }`;
    await writeFile(config, configurationText(service.url, jobs));
    const environment = {
      LAB_PASSWORD: 'x',
      CHAT_URL: 'http://127.0.0.1:9/',
      CHAT_SECRET: 'x',
      HOME: folder.path,
    };
    using scheduler = await started(config, environment);
    expect(await scheduler.exited).toBe(2);
    expect(scheduler.said()).toContain('guard@lab: Invalid schedule "no cron"');
    expect(scheduler.said()).toContain('other@nowhere: There is no context "nowhere"');
  });
});

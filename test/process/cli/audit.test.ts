import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { estate } from './estate.ts';

const TOKENS = 210;
const { home } = estate({ users: 60, tokens: TOKENS });

interface Report {
  readonly tokensRead: number;
  readonly found: number;
  readonly known: number | null;
  readonly fixed: number | null;
  readonly findings: readonly { rule: string; severity: string; subject: string; token?: { id: number } }[];
  readonly bySeverity: Readonly<Record<string, number>>;
  readonly byRule: Readonly<Record<string, number>>;
  readonly excused: Readonly<Record<string, number>>;
  readonly notChecked: readonly { rule: string; why: string }[];
}

async function audited(run: ReturnType<typeof home>['run'], ...flags: string[]): Promise<Report> {
  return JSON.parse((await run(['tokens', 'audit', '--json', ...flags])).stdout) as Report;
}

describe('tokens audit', () => {
  test('reports findings with their severities, and fails where asked to', async () => {
    const { run } = home();
    const report = await audited(run);
    expect(report.tokensRead).toBe(TOKENS);
    const bySeverity = Object.values(report.bySeverity).reduce((sum, count) => sum + count, 0);
    expect(report.findings.length).toBe(bySeverity);
    expect(report.found).toBe(bySeverity);
    expect(report.byRule['never-expires']).toBeGreaterThan(0);
    expect(report.byRule['never-used']).toBeGreaterThan(0);
    expect(report.byRule['basic-auth-on']).toBe(1);
    expect(report.notChecked.map(({ rule }) => rule)).toEqual(['refresh-orphaned']);
    const strict = await run(['tokens', 'audit', '--json', '--fail-on', 'high']);
    expect(strict.code).toBe(3);
    expect(JSON.parse(strict.stdout)).toHaveProperty('findings');
    expect(strict.stderr).toMatch(/findings of severity high or above/);
    expect((await run(['tokens', 'audit', '--fail-on', 'high'])).code).toBe(3);
    expect((await run(['tokens', 'audit', '--summary', '--fail-on', 'high'])).code).toBe(3);
  });

  test('takes limits from flags', { tags: ['long'] }, async () => {
    const { run } = home();
    const wide = (await audited(run, '--max-lifetime', '1000y', '--unused-for', '9000d')).byRule;
    const narrow = (await audited(run, '--max-lifetime', '1', '--unused-for', '1d')).byRule;
    expect(wide['unused-for']).toBe(0);
    expect(narrow['unused-for']).toBeGreaterThan(0);
    expect(narrow['lifetime-over']).toBeGreaterThan(wide['lifetime-over'] ?? 0);
  });

  test('prints findings as CSV, the worst first, by either flag', async () => {
    const { run } = home();
    const { stdout } = await run(['tokens', 'audit', '--csv']);
    const [heading, first] = stdout.split('\n');
    expect(heading).toBe(
      'severity,rule,subject,user,application,finding,id,scope,created,expires,last_used,description,state,context,controller,account,audited_at,audited,policy',
    );
    expect(first).toMatch(/^critical,owner-inactive,token:\d+,/);
    // Each says when it was made: to the second.
    const timeless = (text: string) => text.replaceAll(/,[^,]*,every token,/g, ',every token,');
    const other = await run(['tokens', 'audit', '--format', 'csv']);
    expect(timeless(other.stdout)).toBe(timeless(stdout));
  });

  test('checks single rules, and shows the worst findings of each rule', { tags: ['long'] }, async () => {
    const { run } = home();
    const one = await audited(run, '--rule', 'write-scope');
    expect(one.byRule).toEqual({ 'write-scope': one.found });
    const person = await run(['tokens', 'audit', '--rule', 'application-token-of-person']);
    expect([person.code, person.stderr]).toEqual([
      2,
      expect.stringContaining('requires the parameter users'),
    ]);
    const table = (await run(['tokens', 'audit', '--rule', 'write-scope', '--limit', '2', '--last-used']))
      .stdout;
    expect(table).toMatch(/^low {2}write-scope: \d+ findings\n/);
    expect(table).toMatch(/\n {2}SUBJECT +USER +(APPLICATION +)?SCOPE +CREATED +EXPIRES +LAST_USED\n/);
    expect(table).toContain(`\n  and ${(one.found - 2).toLocaleString('en-US')} more\n`);
    expect((await run(['tokens', 'audit'])).stdout).toMatch(
      /^critical {2}owner-inactive: [\s\S]*\nNot shown: \d+ findings/,
    );
    expect(await run(['tokens', 'audit', '--rule', 'write-scop'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean "write-scope"?'),
    });
    const high = await audited(run, '--min-severity', 'high');
    expect(high.findings.length).toBe((high.bySeverity['high'] ?? 0) + (high.bySeverity['critical'] ?? 0));
    expect(high.found).toBeGreaterThan(high.findings.length);
  });

  test('judges by a policy file instead of the configuration, exceptions included', async () => {
    const { run, folder } = home();
    const policy = join(folder, 'policy.yaml');
    writeFileSync(
      policy,
      `never-expires: { enabled: false }
write-scope:
  severity: high
  exceptions:
    - { user: "ci-*", until: "2999-12-31", reason: they deploy }
    - { user: nobody, until: "2020-01-01", reason: long over }
`,
    );
    const report = await audited(run, '--policy', policy);
    expect(report.byRule).not.toHaveProperty('never-expires');
    expect(report.excused['write-scope']).toBeGreaterThan(0);
    expect(
      report.findings.filter(({ rule }) => rule === 'write-scope').map(({ severity }) => severity),
    ).toContain('high');
    expect(report.byRule['exception-expired']).toBe(1);
  });

  test('refuses a policy that names no rule, with the nearest one and the line', async () => {
    const { run, folder } = home();
    const policy = join(folder, 'policy.yaml');
    writeFileSync(
      policy,
      'never-expires: { enabled: true }\nnever-use: { days: 3 }\nwrite-scope: { exceptions: [{}] }\n',
    );
    const { stderr, code } = await run(['tokens', 'audit', '--policy', policy]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `${policy}:2: policy.never-use: there is no such setting; did you mean "never-used"?`,
    );
    expect(stderr).toMatch(/policy\.yaml:3: .*reason: is missing: explain/);
    writeFileSync(policy, 'policy:\n  never-expires: { enabled: true }\n');
    const outer = await run(['tokens', 'audit', '--policy', policy]);
    expect([outer.code, outer.stderr]).toEqual([2, expect.stringContaining('remove the outer key "policy"')]);
    expect((await run(['tokens', 'audit', '--policy', join(folder, 'none')])).code).toBe(2);
  });

  test('with a baseline only what is new counts', { tags: ['long'] }, async () => {
    const { run, folder } = home();
    const baseline = join(folder, 'audit.baseline');
    const first = await audited(run, '--write-baseline', baseline);
    expect(
      readFileSync(baseline, 'utf8')
        .split('\n')
        .filter((line) => /^[a-z]/.test(line)),
    ).toHaveLength(first.found);
    const second = await audited(run, '--baseline', baseline);
    expect(second).toMatchObject({ found: 0, known: first.found, fixed: 0, findings: [] });
    expect((await audited(run, '--baseline', baseline, '--user', 'backup')).fixed).toBeNull();
    const csv = await run(['tokens', 'audit', '--baseline', baseline, '--csv']);
    expect(csv.stderr).toMatch(/^Compared with the baseline: 0 new, \d+ known, 0 fixed\.\n$/);
    expect(
      csv.stdout
        .trimEnd()
        .split('\n')
        .slice(1)
        .every((row) => row.includes(',known,')),
    ).toBe(true);
    expect((await run(['tokens', 'audit', '--baseline', baseline, '--fail-on', 'low'])).code).toBe(0);
    const [dropped = '', ...kept] = readFileSync(baseline, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .toReversed();
    writeFileSync(baseline, `${kept.toReversed().join('\n')}\n`);
    const third = await audited(run, '--baseline', baseline, '--write-baseline', baseline);
    expect(third.found).toBe(1);
    expect(third.findings[0]?.rule).toBe(dropped.split(' ')[0]);
    expect((await audited(run, '--baseline', baseline)).found).toBe(0);
    writeFileSync(baseline, 'not one\n');
    expect((await run(['tokens', 'audit', '--baseline', baseline])).code).toBe(2);
  });

  test('writes a report to a file, and prints the summary', async () => {
    const { run, folder } = home();
    for (const [format, beginning] of [
      ['html', '<!doctype html>'],
      ['sarif', '{\n  "$schema"'],
    ] as const) {
      const output = join(folder, `audit.${format}`);
      const { stdout, code } = await run(['tokens', 'audit', '--format', format, '--output', output]);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`findings on ${TOKENS} tokens.*Written to ${output}\n$`, 's'));
      expect(readFileSync(output, 'utf8').startsWith(beginning)).toBe(true);
      expect(statSync(output).mode & 0o777).toBe(0o600);
    }
    const again = ['tokens', 'audit', '--format', 'html', '--output', join(folder, 'audit.html')];
    expect(await run(again)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/audit\.html already exists.*\n.*--replace/),
    });
    chmodSync(join(folder, 'audit.html'), 0o644);
    expect((await run([...again, '--replace', '--user', 'backup'])).code).toBe(0);
    expect(statSync(join(folder, 'audit.html')).mode & 0o777).toBe(0o644);
    const sarif = JSON.parse((await run(['tokens', 'audit', '--format', 'sarif'])).stdout) as {
      runs: { results: unknown[] }[];
    };
    expect(sarif.runs[0]?.results.length).toBe((await audited(run)).found);
  });

  test('leaves a report as it is where the audit fails', async () => {
    const { run, folder } = home();
    const output = join(folder, 'audit.html');
    writeFileSync(output, 'the old one');
    const failing = [
      'tokens',
      'audit',
      '--user',
      'nobody',
      '--format',
      'html',
      '--output',
      output,
      '--replace',
    ];
    expect((await run([...failing, '--write-baseline', join(folder, 'new.baseline')])).code).toBe(2);
    expect(readFileSync(output, 'utf8')).toBe('the old one');
    expect(existsSync(join(folder, 'new.baseline'))).toBe(false);
  });

  test('counts by what findings share', { tags: ['long'] }, async () => {
    const { run } = home();
    const { found } = await audited(run);
    const grouped = JSON.parse((await run(['tokens', 'audit', '--group-by', 'user', '--json'])).stdout) as {
      groups: { name: string; findings: number }[];
    };
    expect(grouped.groups.reduce((sum, { findings }) => sum + findings, 0)).toBe(found);
    expect((await run(['tokens', 'audit', '--group-by', 'rule', '--csv'])).stdout).toMatch(
      /^rule,findings,critical,high,medium,low\n/,
    );
    expect((await run(['tokens', 'audit', '--group-by', 'rule', '--format', 'html'])).code).toBe(2);
  });

  test('explains a rule, with the parameters as they are set', async () => {
    const { run } = home();
    const { stdout } = await run(['tokens', 'audit', '--explain', 'unused-for', '--unused-for', '14d']);
    expect(stdout).toMatch(/^unused-for \(severity medium\)\n/);
    expect(stdout).toMatch(/Parameter days\n.*Now 14\./);
    const wrong = await run(['tokens', 'audit', '--explain', 'unusedfor']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean "unused-for"?')]);
  });
});

describe('tokens notices', () => {
  test('lists what expires soon, and tells a webhook of each once', async () => {
    const { run, folder } = home();
    const posts: { data: { token: { id: number } } }[] = [];
    const server = createServer(async (incoming, answer) => {
      let body = '';
      for await (const part of incoming.setEncoding('utf8')) body += part;
      posts.push(JSON.parse(body) as (typeof posts)[number]);
      answer.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
    });
    const hook = join(folder, 'hook.url');
    const { port } = server.address() as AddressInfo;
    writeFileSync(hook, `http://127.0.0.1:${port}/hook\n`, { mode: 0o600 });
    const within = ['tokens', 'notices', '--within', '300d'];
    const due = JSON.parse((await run([...within, '--json'])).stdout) as { token: { id: number } }[];
    expect(due.length).toBeGreaterThan(5);
    const preview = await run([...within, '--webhook-file', hook, '--dry-run', '--json']);
    expect(JSON.parse(preview.stdout)).toHaveLength(due.length);
    expect(posts).toEqual([]);
    const first = await run([...within, '--webhook-file', hook, '--json']);
    expect([first.code, JSON.parse(first.stdout)]).toEqual([
      0,
      expect.objectContaining({ sent: due.length }),
    ]);
    expect(posts.map(({ data }) => data.token.id).sort()).toEqual(due.map(({ token }) => token.id).sort());
    const second = await run([...within, '--webhook-file', hook]);
    expect(second.stdout).toMatch(new RegExp(`0 notices sent, ${due.length} sent before, 0 failed`));
    expect(posts).toHaveLength(due.length);
    expect((await run([...within, '--webhook-file', hook, '--dry-run', '--json'])).stdout).toBe('[]\n');
  });
});

describe('tokens trace', () => {
  test('says what is known of a token, alive and gone', async () => {
    const { run } = home();
    const [{ id } = { id: 0 }] = JSON.parse(
      (await run(['tokens', 'list', '--user', 'chatops', '--json'])).stdout,
    ) as { id: number }[];
    const alive = await run(['tokens', 'trace', String(id)]);
    expect(alive.stdout).toMatch(new RegExp(`^Token ${id}\n.*owner: +chatops\n`, 's'));
    await run(['tokens', 'revoke', '--id', String(id), '--yes', '--reason', 'trial']);
    const gone = JSON.parse((await run(['tokens', 'trace', String(id), '--json'])).stdout) as {
      token: null;
      history: { operation: string }[];
      entries: { operation: string; result: string | null }[];
    };
    expect(gone.token).toBeNull();
    expect(gone.history.map(({ operation }) => operation)).toContain('delete');
    expect(gone.entries.map(({ result }) => result)).toContain('revoked');
    expect((await run(['tokens', 'trace', '999999'])).code).toBe(2);
    expect((await run(['tokens', 'trace', 'x'])).code).toBe(2);
  });
});

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { type TestConsole, testConsole } from '../../support/console.ts';
import { estate, type Home } from './estate.ts';

const { home } = estate({ users: 8, tokens: 60 });

async function consoleOf(at: Home): Promise<TestConsole> {
  const opened = await testConsole({ home: at.folder });
  onTestFinished(async () => {
    await opened.operations.close();
    await opened.app.close();
  });
  return opened;
}

it('audits against a baseline, exports what the command writes, and writes exceptions that it reads', async () => {
  const at = home();
  const { send } = await consoleOf(at);
  const place = 'test';
  const exported = async (format: string, more: object = {}) =>
    (await send('/api/audit/export', { place, format, ...more })).body;
  const whole = (await send(`/api/audit?place=${place}`)).json();
  const file = `${at.folder}/known.baseline`;
  writeFileSync(file, await exported('baseline'));
  // Two findings become new, and one that does not exist counts as fixed.
  const lines = readFileSync(file, 'utf8').split('\n');
  const added = lines.splice(4, 2);
  writeFileSync(file, [...lines.slice(0, 2), 'never-used token:999999', ...lines.slice(2)].join('\n'));
  const baseline = readFileSync(file, 'utf8');

  const compared = (await send('/api/audit/comparison', { place, baseline })).json();
  expect(compared.summary).toMatchObject({ found: 2, known: whole.summary.found - 2, fixed: 1 });
  const keysIn = (wanted: string) =>
    (compared.findings as { rule: string; subject: string; state: string }[])
      .filter(({ state }) => state === wanted)
      .map(({ rule, subject }) => `${rule} ${subject}`);
  expect(keysIn('new').sort()).toEqual(added.sort());
  expect(keysIn('fixed')).toEqual(['never-used token:999999']);
  const csv = (await at.run(['tokens', 'audit', '--csv', '--baseline', file])).stdout;
  expect(await exported('csv', { baseline })).toBe(csv);
  expect(await exported('table')).toMatch(/findings on 60 tokens/);
  expect(JSON.parse(await exported('sarif', { baseline })).runs[0].properties.trend.fixed).toBe(1);
  for (const wrong of ['', 'no baseline', '# tokenctl baseline 1\nnot a finding at all']) {
    const refused = await send('/api/audit/comparison', { place, baseline: wrong });
    expect([wrong, refused.statusCode]).toEqual([wrong, 400]);
  }

  const [{ name: owner, count }] = whole.rules.find(
    ({ rule }: { rule: string }) => rule === 'never-expires',
  ).owners;
  const query = { rule: 'never-expires', user: owner, reason: 'until: "later" # OPS-1', until: '2099-12-31' };
  const { yaml } = (await send(`/api/audit/exception?${new URLSearchParams(query)}`)).json();
  appendFileSync(`${at.folder}/.config/tokenctl/tokenctl.yaml`, yaml);
  const { excused } = JSON.parse((await at.run(['tokens', 'audit', '--summary', '--json'])).stdout);
  expect(excused).toEqual({ 'never-expires': count });
  // An audit is kept until it is asked for again.
  expect((await send(`/api/audit?place=${place}`)).json().at).toBe(whole.at);
  await send('/api/tokens/read-again', { place });
  expect((await send(`/api/audit?place=${place}`)).json().summary.excused).toEqual(excused);
});

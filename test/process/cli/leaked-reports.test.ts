import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseEstate } from './database-estate.ts';
import { typedInto } from './terminal.ts';

const db = databaseEstate();
const COMMIT = '3f786850e387550fdab836ed7e6dc881de23001b';

/** A home, and a live token of a new user with a report of gitleaks that names it. */
async function leak(fields: readonly object[] = [{}]) {
  const home = db.home();
  const { name } = await db.addUser();
  const value = randomBytes(15).toString('hex');
  await db.database().execute(
    `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
     SELECT encode(sha256($1::bytea), 'hex'), now() + interval '1 day', 'write', id FROM auth_user WHERE username = $2`,
    [Buffer.from(value), name],
  );
  const finding = { RuleID: 'generic-api-key', Secret: value, Match: `t="${value}"`, SymlinkFile: '' };
  const place = { File: 'deploy/run.sh', StartLine: 12, Commit: COMMIT };
  const file = join(home.folder, 'report.json');
  const report = JSON.stringify(
    fields.map((each) => ({ ...finding, ...place, ...each })),
    null,
    1,
  );
  writeFileSync(file, report);
  const find = (...args: readonly string[]) => home.run(['tokens', 'find', '--leaked', file, ...args]);
  /** All that the program wrote to its home. */
  const written = () => {
    const folder = join(home.folder, '.local/state/tokenctl');
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'));
  };
  return { home, name, value, file, report, find, written };
}

test('a token of a report is found with its place, revoked from standard input, and shown nowhere', async () => {
  const { home, name, value, report, find, written } = await leak([{}, { File: 'other/run.sh' }]);
  const found = await find();
  expect(found).toMatchObject({ code: 0 });
  expect(found.stdout).toMatch(/Read a gitleaks report with 2 findings: 1 value .* 1 live/);
  expect(found.stdout).toMatch(
    new RegExp(`LIVE {2}access token \\d+, of ${name}, .*, in deploy/run\\.sh, line 12, commit 3f786850e387`),
  );
  const dry = await find('--revoke', '--dry-run');
  const plan = join(home.folder, 'plan.json');
  const saved = await find('--plan-out', plan);
  const args = ['tokens', 'find', '--leaked', '-', '--revoke', '--yes', '--json'];
  const done = await home.run(args, { input: report });
  expect(done).toMatchObject({ code: 0 });
  expect(JSON.parse(done.stdout)).toMatchObject({
    report: { format: 'gitleaks', findings: 2, hidden: 0 },
    found: [{ live: true, lines: [], places: [{ file: 'deploy/run.sh', line: 12, commit: COMMIT }, {}] }],
    revocation: { revoked: 1, verified: true },
  });
  const again = await find('--revoke', '--yes');
  expect(again).toMatchObject({ code: 0 });
  const outputs = [found, dry, saved, done, again].flatMap(({ stdout, stderr }) => [stdout, stderr]);
  for (const text of [...outputs, ...written(), readFileSync(plan, 'utf8')]) {
    expect(text).not.toContain(value);
  }
});

test('a pipe into --leaked - asks on the terminal', { tags: ['long'] }, async () => {
  const { home, file } = await leak();
  const args = ['tokens', 'find', '--leaked', '-', '--revoke'];
  const question = 'Type 1 to';
  const no = await typedInto(args, { home: home.folder, input: file, question, answer: 'no' });
  expect(no.screen).toContain('Not confirmed. Nothing was changed.');
  const stopped = await typedInto(args, { home: home.folder, input: file, question, answer: '\u0003' });
  expect(stopped).toMatchObject({ code: 130 });
  const yes = await typedInto(args, { home: home.folder, input: file, question, answer: '1' });
  expect(yes.screen).toMatch(/Revoked 1 of 1 access token/);
  expect(yes.code).toBe(0);
});

test('without a terminal it needs --yes, before the report is read', { tags: ['long'] }, async () => {
  const { home } = await leak();
  const run = await home.run(['tokens', 'find', '--leaked', '-', '--revoke'], { input: '' });
  expect(run).toMatchObject({ code: 2 });
  expect(run.stderr).toContain('Cannot ask for confirmation without a terminal');
});

test('hidden secrets are never "nothing found"', async () => {
  const hidden = { Secret: 'REDACTED', Match: 'REDACTED' };
  const all = await leak([hidden, hidden]);
  const none = await all.find('--revoke', '--yes');
  expect(none).toMatchObject({ code: 5 });
  expect(none.stderr).toContain('Not checked: 2 findings do not show their values');
  expect(none.stderr).toContain('Run gitleaks without --redact.');
  const some = await leak([{}, { ...hidden, File: 'other.sh' }]);
  for (const args of [[], ['--revoke', '--dry-run'], ['--revoke', '--yes']]) {
    const run = await some.find(...args);
    expect(run).toMatchObject({ code: 5 });
    expect(run.stdout).toContain('Not checked: 1 finding without a secret, in other.sh, line 12');
    expect(run.stderr).toContain('Not checked: 1 finding does not show its value');
  }
});

test('an empty input is said to be one, and an error of the GitHub API ends the search', async () => {
  const { home, value } = await leak();
  const args = ['tokens', 'find', '--leaked', '-', '--revoke', '--yes'];
  const empty = await home.run(args, { input: '' });
  expect(empty).toMatchObject({ code: 0 });
  expect(empty.stdout).toContain('The input is empty.');
  const error = { message: value, documentation_url: 'https://docs.github.com/rest' };
  const refused = await home.run(args, { input: JSON.stringify(error) });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('The input is an error from the GitHub API instead of alerts.');
  expect(refused.stderr).not.toContain(value);
});

test('a report that was cut off revokes nothing and shows nothing of it', async () => {
  const { home, value, report, file } = await leak([{}, {}]);
  const input = report.slice(0, -20);
  for (const stdin of [input, `${report.slice(0, -3)} oops ${value}`]) {
    const run = await home.run(['tokens', 'find', '--leaked', '-', '--revoke', '--yes'], { input: stdin });
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(
      /gitleaks report (ends early|is not valid JSON), in line \d+, after \d finding/,
    );
    expect(run.stderr).not.toContain(value);
  }
  const live = await home.run(['tokens', 'find', '--leaked', file]);
  expect(live.stdout).toContain('LIVE');
});

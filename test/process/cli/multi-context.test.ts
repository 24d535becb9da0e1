import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, test } from 'vitest';
import { type ContextsHome, severalServices } from './multi-context.ts';
import { typedInto } from './terminal.ts';

const { services, home } = severalServices(8);

const ALL = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'];
const WELL = ALL.slice(0, 6);

const GROUPS = { prod: ALL, east: ['s1', 's2'] };

/** Of the eight one refuses, and one cannot be reached. */
function eight(): ContextsHome {
  const place = home(GROUPS);
  place.lockOut('s7');
  place.cutOff('s8');
  return place;
}

/** The entries of an audit log that someone's change made, with the context of each. */
function entriesOf({ log }: ContextsHome): { readonly context: string; readonly action: string }[] {
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : [];
  // What follows the last line break is nothing, or an entry that is being written.
  return lines.slice(0, -1).map((line) => {
    const { target, action } = JSON.parse(line);
    return { context: target.context, action };
  });
}

const contextsIn = (place: ContextsHome, from = 0) => [
  ...new Set(
    entriesOf(place)
      .slice(from)
      .map(({ context }) => context),
  ),
];

const outcomes = (value: { contexts: { context: string; state: string }[] }) =>
  value.contexts.map(({ context, state }) => [context, state]);

/** Adds the context `twin`, which is the controller of `s1` too. */
function addTwin(place: ContextsHome): void {
  const file = join(place.folder, '.config/tokenctl/tokenctl.yaml');
  const twin = `  twin: { url: "${services()[0]?.url}", token: { file: "${join(place.folder, 's1.token')}" } }\n`;
  writeFileSync(file, readFileSync(file, 'utf8').replace('contexts:\n', `contexts:\n${twin}`));
}

/** The cells of the table at the end of an output. */
const tableOf = (stdout: string) =>
  stdout
    .slice(stdout.lastIndexOf('\nCONTEXT') + 1)
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));

describe('reading', () => {
  test('lists are one list, in the order of the contexts, and say of each row where it is from', async () => {
    const place = eight();
    await services()[0]?.makeTokens('alice', 3);
    const { code, value } = await place.json(['tokens', 'list', '--context', 's2,s1']);
    expect(code).toBe(0);
    expect([...new Set(value.map((row: { context: string }) => row.context))]).toEqual(['s2', 's1']);
    expect(value.filter((row: { context: string }) => row.context === 's1')).toHaveLength(4);
    const csv = await place.run(['tokens', 'list', '--context', 'east', '--csv']);
    expect(csv.stdout.split('\n')[0]).toMatch(/^context,id,/);
    const table = await place.run(['tokens', 'list', '--context', 'east']);
    expect(table.stdout).toMatch(/^CONTEXT +ID/);
    const fields = await place.run(['tokens', 'list', '--context', 's1,s2', '--json=id']);
    expect(fields.stdout).toContain('{"context":"s1","id":');
  });

  test('what cannot be read of one is said at the end, and the others are there', async () => {
    const { run } = eight();
    const list = await run(['tokens', 'list', '--all-contexts', '--json']);
    expect(list.code).toBe(5);
    const rows: { context: string }[] = JSON.parse(list.stdout);
    expect([...new Set(rows.map(({ context }) => context))]).toEqual(WELL);
    expect(list.stderr).toMatch(/in 2 of 8 contexts:\n {2}s7: .*\n {2}s8: /);
    const check = await run(['context', 'check', 'prod']);
    expect(check.code).toBe(5);
    expect(check.stdout).toContain('== s6 ==\nContext "s6" works.');
    expect(check.stdout).toContain('== s8 ==\nError: ');
  });

  test('one that accepts a connection and is silent has a name while the others wait, as those that failed, and is given up', {
    tags: ['long'],
  }, async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const place = eight();
    place.cutOff('s2', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const run = await place.run(['tokens', 'list', '--context', 'prod', '--count-by', 'user']);
    silent.close();
    expect(run.code).toBe(5);
    expect(run.stdout).toContain('admin');
    expect(run.stderr).toMatch(
      /^Not completed: .*s8.*\. Waiting for 1 of 8 contexts: s2\n(?:.*\n)*.*s2: .* did not respond in time/,
    );
  });

  test('a list that no one could read is no empty list', async () => {
    const place = home(GROUPS);
    place.lockOut('s1');
    place.cutOff('s2');
    const run = await place.run(['tokens', 'list', '--context', 'east', '--json']);
    expect(run.code).toBe(5);
    expect(JSON.parse(run.stdout).error.details).toEqual({ contexts: ['s1', 's2'] });
  });

  test('where all fail alike, it is that failure', async () => {
    const place = home(GROUPS);
    for (const context of GROUPS.east) place.cutOff(context);
    expect((await place.run(['settings', 'show', '--context', 'east'])).code).toBe(7);
  });

  test('an audit is one document of JSON, and otherwise a file for each context', async () => {
    const place = eight();
    const { code, value } = await place.json(['tokens', 'audit', '--context', 'prod']);
    expect(code).toBe(5);
    expect(outcomes(value)).toEqual([
      ...WELL.map((context) => [context, 'done']),
      ['s7', 'credentials_refused'],
      ['s8', 'target_unreachable'],
    ]);
    expect(value.contexts[0].result.findings.length).toBeGreaterThan(0);
    const some = await place.run(['tokens', 'audit', '--context', 'east', '--json=found']);
    expect(JSON.parse(some.stdout).contexts[0].result).toEqual({ found: expect.any(Number) });
    const html = ['tokens', 'audit', '--context', 'east', '--format', 'html'];
    expect((await place.run(html)).stderr).toContain("--output 'audit-{context}.html'");
    expect((await place.run([...html, '--output', join(place.folder, 'a.html')])).code).toBe(2);
    expect((await place.run([...html, '--output', join(place.folder, 'a-{context}.html')])).code).toBe(0);
    expect(readdirSync(place.folder).filter((file) => file.endsWith('.html'))).toEqual([
      'a-s1.html',
      'a-s2.html',
    ]);
  });

  test.each([
    [['tokens', 'list', '--context', 's1,s9'], 'There is no context "s9".'],
    [['tokens', 'trace', '1', '--context', 'east'], 'one context at a time'],
    [['tokens', 'list', '--context', 's1', '--all-contexts'], '--all-contexts'],
  ])('%j is a mistake', async (args, message) => {
    const run = await eight().run(args);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(message);
  });
});

describe('changing', () => {
  test('there is one question for all, and no leaves all as it is', { tags: ['long'] }, async () => {
    const place = home(GROUPS);
    const made = [2, 3];
    for (const [index, count] of made.entries()) await services()[index]?.makeTokens('bob', count);
    const args = ['tokens', 'revoke', '--user', 'bob', '--context', 'east'];
    const question = 'Type 5 to apply all plans in 2 contexts';
    const no = await typedInto(args, { home: place.folder, question, answer: '2' });
    expect(no.code).toBe(2);
    expect(no.screen).toContain('Not confirmed. Nothing was changed.');
    expect(entriesOf(place)).toEqual([]);
    const yes = await typedInto(args, { home: place.folder, question, answer: '5' });
    expect(yes.code).toBe(0);
    expect(yes.screen).toMatch(/== s1 ==\s+Will revoke 2 tokens/);
    expect(yes.screen).toMatch(/== s2 ==\s+Revoked 3 of 3 tokens/);
    expect(contextsIn(place).sort()).toEqual(['s1', 's2']);
  });

  test('a table of all contexts ends with the total; one without the user is a row of it', async () => {
    const place = home(GROUPS);
    await services()[0]?.addUser('fred');
    await services()[2]?.addUser('fred');
    await services()[0]?.makeTokens('fred', 3);
    await services()[2]?.makeTokens('fred', 1);
    const args = ['tokens', 'revoke', '--user', 'fred', '--context', 's3,s2,s1', '--yes'];
    const dry = await place.run([...args, '--dry-run']);
    expect(tableOf(dry.stdout)).toEqual([
      ['CONTEXT', 'PLANNED', 'DONE', 'STATE'],
      ['s3', '1', '0', 'dry run'],
      ['s2', 'No user named "fred"'],
      ['s1', '3', '0', 'dry run'],
      ['total', '4', '0', 'tokens, completed in 2 of 3 contexts'],
    ]);
    const { stdout, stderr, code } = await place.run(args);
    expect([stderr, code]).toEqual(['', 0]);
    expect(stdout.match(/^== s\d ==\nWill/gm)).toEqual(['== s3 ==\nWill', '== s1 ==\nWill']);
    expect(tableOf(stdout).slice(1)).toEqual([
      ['s3', '1', '1', 'done'],
      ['s2', 'No user named "fred"'],
      ['s1', '3', '3', 'done'],
      ['total', '4', '4', 'tokens, completed in 2 of 3 contexts'],
    ]);
    const { value } = await place.json(args);
    expect(value).toMatchObject({
      contexts: [
        { context: 's3', state: 'done' },
        { context: 's2', state: 'not_found', message: 'No user named "fred".' },
        { context: 's1', state: 'done' },
      ],
      total: { what: 'token', planned: 0, done: 0 },
    });
  });

  test('the total counts a token of a controller once, in however many contexts it is listed', async () => {
    const place = home();
    addTwin(place);
    await services()[0]?.makeTokens('bob', 2);
    await services()[1]?.makeTokens('bob', 1);
    const args = ['tokens', 'revoke', '--user', 'bob', '--context', 's1,twin,s2', '--yes'];
    const { value } = await place.json(args);
    expect(value.total).toEqual({ what: 'token', planned: 3, done: 3 });
  });

  test('a dry run shows every plan and writes nothing', async () => {
    const place = eight();
    for (const service of services().slice(0, 2)) await service.makeTokens('bob', 1);
    const { code, value } = await place.json([
      'tokens',
      'revoke',
      '--user',
      'bob',
      '--context',
      'east',
      '--dry-run',
    ]);
    expect(code).toBe(0);
    expect(value.contexts.map((each: { result: object }) => each.result)).toMatchObject([
      { dryRun: true, plan: { accessTokens: 1 } },
      { dryRun: true, plan: { accessTokens: 1 } },
    ]);
    expect(entriesOf(place)).toEqual([]);
    await place.run(['tokens', 'revoke', '--user', 'bob', '--context', 'east', '--yes']);
  });

  test('a dry run says that a plan needs an approval, not that it failed', async () => {
    const place = home(GROUPS);
    const key = join(place.folder, 'bob.key');
    const made = await place.json(['plan', 'key', '--name', 'bob', '--output', key]);
    const file = join(place.folder, '.config/tokenctl/tokenctl.yaml');
    const rule = JSON.stringify({ approvers: { bob: made.value.publicKey }, aloneUpTo: 0 });
    writeFileSync(file, `${readFileSync(file, 'utf8')}approval: ${rule}\n`);
    for (const service of services().slice(0, 2))
      await service.addUser('ben').then(() => service.makeTokens('ben', 1));
    const args = ['tokens', 'revoke', '--user', 'ben', '--context', 'east', '--dry-run'];
    const { stdout, code } = await place.run(args);
    expect(code).toBe(2);
    expect(tableOf(stdout).map(([context, , , state]) => [context, state])).toEqual(
      expect.arrayContaining(['s1', 's2'].map((context) => [context, 'needs an approval'])),
    );
    await home(GROUPS).run([...args.slice(0, -1), '--yes']);
  });

  test('--at-most is about all contexts together', async () => {
    const place = home(GROUPS);
    for (const service of services().slice(0, 2)) await service.makeTokens('bob', 3);
    const args = ['tokens', 'revoke', '--user', 'bob', '--context', 'east', '--yes'];
    const refused = await place.run([...args, '--at-most', '5']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('contain 6 tokens');
    expect(entriesOf(place)).toEqual([]);
    expect((await place.run([...args, '--at-most', '6'])).code).toBe(0);
  });

  test('--at-most refuses all where one alone is too large', { tags: ['long'] }, async () => {
    const place = home(GROUPS);
    await services()[0]?.makeTokens('bob', 4);
    await services()[1]?.makeTokens('bob', 1);
    const args = ['tokens', 'revoke', '--user', 'bob', '--context', 'east', '--yes'];
    expect((await place.run([...args, '--at-most', '3'])).code).toBe(2);
    expect(entriesOf(place)).toEqual([]);
    expect((await place.run(args)).code).toBe(0);
  });

  test('who has another question is waited for again', { tags: ['long'] }, async () => {
    const place = home(GROUPS);
    for (const service of services().slice(0, 2)) await service.addExternal('erin', 2);
    await place.run(['settings', 'external-tokens', 'allow', '--context', 'east', '--yes']);
    const args = ['settings', 'external-tokens', 'deny', '--revoke-existing', '--context', 'east'];
    const typed = await typedInto(args, {
      home: place.folder,
      question: 'Type deny to',
      answer: 'deny',
      next: { question: 'Type 4 to apply all plans in 2 contexts', answer: '4' },
    });
    expect(typed.screen).toMatch(/== s2 ==[\s\S]*Revoked 2 of 2 tokens/);
    expect(typed.code).toBe(0);
  });

  test('what was done before a second question stands where that is not confirmed', async () => {
    const place = home(GROUPS);
    for (const service of services().slice(0, 2)) await service.addExternal('fred', 1);
    for (const [context, question] of [
      ['s1', 'Type 1 to revoke 1 token'],
      ['east', 'Type 2 to apply all plans in 2 contexts'],
    ] as const) {
      await place.run(['settings', 'external-tokens', 'allow', '--context', context, '--yes']);
      const args = ['settings', 'external-tokens', 'deny', '--revoke-existing', '--context', context];
      const { screen, code } = await typedInto(args, {
        home: place.folder,
        question: 'Type deny to',
        answer: 'deny',
        next: { question, answer: 'no' },
      });
      expect(screen).toContain('New tokens for external users are denied now.');
      expect(screen).toContain('Not confirmed. Nothing else was changed.');
      expect(code).toBe(2);
    }
    await place.run(['tokens', 'revoke', '--user', 'fred', '--context', 'east', '--yes']);
  });

  test('a token is named by its number in one context only', async () => {
    const place = home(GROUPS);
    const run = await place.run(['tokens', 'revoke', '--id', '1', '--context', 'east', '--yes']);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('--id works in one context only');
    expect(entriesOf(place)).toEqual([]);
  });

  test('no audit log, no change in any of them', async () => {
    const place = home(GROUPS);
    for (const service of services().slice(0, 2)) await service.makeTokens('bob', 1);
    const before = await services()[0]?.countTokens();
    writeFileSync(join(place.folder, 'file'), '');
    const log = join(place.folder, 'file', 'audit.jsonl');
    const run = await place.run([
      'tokens',
      'revoke',
      '--user',
      'bob',
      '--context',
      'east',
      '--yes',
      '--log-file',
      log,
    ]);
    expect(run.code).toBe(6);
    expect(await services()[0]?.countTokens()).toBe(before);
    await place.run(['tokens', 'revoke', '--user', 'bob', '--context', 'east', '--yes']);
  });

  test('a user whom only some of the contexts have is offboarded there: REST leaves paths unchecked', {
    tags: ['long'],
  }, async () => {
    const place = eight();
    await services()[1]?.addUser('carol');
    await services()[1]?.makeTokens('carol', 2);
    const some = await place.json(['users', 'offboard', 'carol', '--context', 'east', '--yes']);
    expect(some.code).toBe(5);
    expect(outcomes(some.value)).toEqual([
      ['s1', 'not_found'],
      ['s2', 'partly_done'],
    ]);
    const { accessPaths } = some.value.contexts[1].result;
    expect(accessPaths.map(({ path, state }: { path: string; state: string }) => [path, state])).toEqual([
      ['access_tokens', 'closed'],
      ['authorization_codes', 'not_checked'],
      ['refresh_tokens', 'not_checked'],
      ['sessions', 'not_checked'],
      ['users', 'closed'],
      ['requests', 'not_checked'],
    ]);
    const again = await place.run(['users', 'offboard', 'carol', '--context', 'east', '--yes']);
    expect(again.code).toBe(5);
    expect(again.stderr).toContain('Not completed in 1 of 2 contexts:\n  s2: Some access of carol');
    expect(again.stderr).not.toContain('No user named');
    const none = await place.run(['users', 'offboard', 'nobody', '--context', 'east', '--yes']);
    expect(none.code).toBe(2);
  });

  test('a user whom only some of the contexts have is locked down there, and leaves no incident elsewhere', {
    tags: ['long'],
  }, async () => {
    const place = eight();
    await services()[1]?.addUser('dora');
    await services()[1]?.makeTokens('dora', 2);
    const command = ['incident', 'lockdown', '--user', 'dora', '--context', 'east', '--yes'];
    const some = await place.json(command);
    expect(some.code).toBe(5);
    expect(outcomes(some.value)).toEqual([
      ['s1', 'not_found'],
      ['s2', 'partly_done'],
    ]);
    expect(some.value.contexts[1].result).toMatchObject({ result: 'locked', accessPaths: expect.any(Array) });
    expect(contextsIn(place, 0)).not.toContain('s1');
    const elsewhere = await place.json(['incident', 'status', '--context', 's1']);
    expect(elsewhere.value.incidents).toEqual([]);

    const entries = entriesOf(place).length;
    expect((await place.json(command)).code).toBe(5);
    expect(entriesOf(place)).toHaveLength(entries);
    const none = await place.run(['incident', 'lockdown', '--user', 'doar', '--context', 'east', '--yes']);
    expect(none.code).toBe(2);
    expect(entriesOf(place)).toHaveLength(entries);
  });

  test('leaked values from standard input are looked for in each of them', { tags: ['long'] }, async () => {
    const place = eight();
    const [first = ''] = (await services()[0]?.makeTokens('alice', 1)) ?? [];
    const [second = ''] = (await services()[1]?.makeTokens('alice', 1)) ?? [];
    const args = ['tokens', 'find', '--leaked', '-', '--revoke', '--yes', '--context', 'east', '--json'];
    const run = await place.run(args, { input: `a line\n${first} and\n${second}\n` });
    expect(run.stdout).not.toContain(first);
    const results = JSON.parse(run.stdout).contexts.map(
      (each: { result: { found: object[] } }) => each.result.found,
    );
    expect(results).toMatchObject([[{ live: true, lines: [2] }], [{ live: true, lines: [3] }]]);
  });

  test('an interruption stops all of them, recorded, and the same command finishes', {
    tags: ['long'],
  }, async () => {
    const place = home(GROUPS);
    for (const service of services().slice(0, 2)) await service.makeTokens('alice', 120);
    const args = ['tokens', 'revoke', '--user', 'alice', '--context', 'east', '--yes'];
    const running = place.start(args);
    await until(() => entriesOf(place).length > 1);
    running.kill('SIGINT');
    expect([0, 130]).toContain((await running.ended).code);
    expect((await place.run(args)).code).toBe(0);
    expect(await services()[0]?.countTokens()).toBe(1);
    expect((await place.run(['log', 'verify'])).code).toBe(0);
  });
});

test('a lockdown of eight over REST: six are locked down as far as can be checked, and again it touches only the other two', {
  tags: ['long'],
}, async () => {
  const place = eight();
  for (const service of services()) await service.makeTokens('alice', 5);
  const command = [
    'incident',
    'lockdown',
    '--all',
    '--context',
    'prod',
    '--yes',
    '--reason',
    'provider compromised',
  ];
  const first = await place.json(command);
  expect(first.code).toBe(5);
  expect(outcomes(first.value)).toEqual([
    ...WELL.map((context) => [context, 'partly_done']),
    ['s7', 'credentials_refused'],
    ['s8', 'target_unreachable'],
  ]);
  for (const { error } of first.value.contexts.slice(0, 6))
    expect(error.message).toMatch(
      /^Not checked: authorization codes, refresh tokens, sessions, in-flight requests\.$/,
    );
  const incidents = first.value.contexts
    .slice(0, 6)
    .map((each: { result: { incident: string } }) => each.result.incident);
  expect(new Set(incidents).size).toBe(1);
  for (const service of services().slice(0, 6)) expect(await service.countTokens()).toBe(1);
  expect(readdirSync(join(place.folder, '.local/state/tokenctl/incidents'))).toHaveLength(6);

  const entries = entriesOf(place).length;
  const second = await place.json(command);
  expect(second.code).toBe(5);
  expect(entriesOf(place)).toHaveLength(entries);

  place.lockOut('s7', false);
  place.cutOff('s8', false);
  const third = await place.json(command);
  expect(third.code).toBe(5);
  expect(third.value.contexts.map((each: { result: { result: string } }) => each.result.result)).toEqual(
    new Array(8).fill('locked'),
  );
  expect(contextsIn(place, entries).sort()).toEqual(['s7', 's8']);
  for (const service of services()) expect(await service.countTokens()).toBe(1);

  const status = await place.run(['incident', 'status', '--context', 'prod', '--check']);
  expect(status.code).toBe(5);
  const lift = await place.run(['incident', 'lift', incidents[0], '--context', 'prod', '--yes']);
  expect(lift).toMatchObject({ code: 0 });
  const lifted = await place.run(['incident', 'status', '--context', 'prod']);
  expect(lifted.stdout).not.toContain('locked down\n');
});

test('two contexts of one controller open an incident once', { tags: ['long'] }, async () => {
  const place = home();
  addTwin(place);
  const { value } = await place.json([
    'incident',
    'lockdown',
    '--user',
    'bob',
    '--context',
    's1,twin',
    '--yes',
  ]);
  const results = value.contexts.map(
    (each: { result: { result: string; run: string | null } }) => each.result,
  );
  expect(results).toMatchObject([{ result: 'locked' }, { result: 'locked' }]);
  const opened = readFileSync(place.log, 'utf8')
    .split('\n')
    .filter((line) => /"operation":"incident.lockdown"/.test(line) && /"step":"operation"/.test(line))
    .filter((line) => /"kind":"intent"/.test(line));
  expect(opened).toHaveLength(1);
  const lift = await place.run([
    'incident',
    'lift',
    value.contexts[0].result.incident,
    '--context',
    's1',
    '--yes',
  ]);
  expect(lift).toMatchObject({ code: 0 });
});

test('a job runs by hand in those of its contexts that --context names', { tags: ['long'] }, async () => {
  const place = home(GROUPS);
  const file = join(place.folder, '.config/tokenctl/tokenctl.yaml');
  const job = '  sweep: { job: token-audit, contexts: [s1, s2, s3] }\n';
  writeFileSync(file, `${readFileSync(file, 'utf8')}jobs:\n${job}`);
  const ran = async (...args: readonly string[]) =>
    (await place.json(['jobs', 'run', 'sweep', ...args])).value.map(({ job }: { job: string }) => job);
  expect(await ran('--context', 's2')).toEqual(['sweep@s2']);
  expect(await ran('--context', 'east')).toEqual(['sweep@s1', 'sweep@s2']);
  const other = await place.run(['jobs', 'run', 'sweep', '--context', 's5']);
  expect(other.code).toBe(2);
  expect(other.stderr).toContain('The job "sweep" does not run in the context "s5"');
});

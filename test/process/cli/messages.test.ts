import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { estate } from './estate.ts';
import { temporaryFolder, tokenctl } from './program.ts';
import { typedInto } from './terminal.ts';

const { home, url } = estate({ users: 12, tokens: 40 });

test.each(['/api', '/api/', '/api/v2', '/api/v2/', '/api/gateway/v1/', '/api/controller/v2/'])(
  'an address that ends in %s is that of the controller',
  async (path) => {
    const { run } = home();
    const env = { CONTROLLER_HOST: url() + path, CONTROLLER_USERNAME: 'admin', CONTROLLER_PASSWORD: 'wrong' };
    const { stderr, code } = await run(['context', 'check'], { env });
    expect([stderr.split('\n')[0], code]).toEqual([
      `Error: ${url()} does not accept admin with this password.`,
      4,
    ]);
  },
);

test.each([
  [['tokens', 'list', '--unused', '30d'], 'Unknown flag --unused.', 'Did you mean --unused-for?'],
  [['tokens', 'list', '--usr', 'alice'], 'Unknown flag --usr.', 'Did you mean --user?'],
  [['incident', 'timeline'], '--user or --token is required.', 'Add --help to the command to see its usage.'],
  [
    ['incident', 'timeline', '--user', 'a', '--token', '1'],
    '--token and --user cannot be used together.',
    null,
  ],
  [['incident', 'extend', 'inc-1'], '--for or --unlimited is required.', null],
])('%j: %s', async (args, message, hint) => {
  const { stderr, code } = await tokenctl(args);
  const [first, second] = stderr.split('\n');
  expect([first, code]).toEqual([`Error: ${message}`, 2]);
  if (hint !== null) expect(second).toBe(hint);
});

test('an unknown kind of job is answered with the kinds', async () => {
  const file = join(temporaryFolder(), 'tokenctl.yaml');
  writeFileSync(file, 'jobs:\n  nightly: { job: token-sweep, schedule: "0 3 * * *" }\n');
  const { stderr, code } = await tokenctl(['jobs', 'check', '--config', file]);
  expect(stderr).toContain(
    'jobs.nightly.job: must be one of: expiry-notices, incident-lift, lease-end, log-checkpoint,',
  );
  expect(code).toBe(2);
});

test.each([
  ['no job for checkpoints', '', true],
  ['checkpoints beside the log', 'keepIn: { file: newest.checkpoint }', true],
  ['checkpoints elsewhere', 'keepIn: { file: elsewhere/newest.checkpoint }', false],
  ['checkpoints that are sent', 'notify: true', false],
])(
  'jobs check warns of an audit log that can be rewritten unnoticed: %s',
  async (_what, parameters, warns) => {
    const folder = temporaryFolder();
    const file = join(folder, 'tokenctl.yaml');
    const job =
      parameters === ''
        ? ''
        : `  checkpoints: { job: log-checkpoint, parameters: { key: { file: log.key }, ${parameters} } }\n`;
    writeFileSync(
      file,
      `contexts: { lab: { url: "https://lab.example.org", token: { env: T } } }\ncurrentContext: lab\nauditLog: { file: ${join(folder, 'audit.jsonl')} }\njobs:\n  sweep: { job: revocation-sweep, parameters: { rules: [unused-for] } }\n${job}`,
    );
    const { stdout, code } = await tokenctl(['jobs', 'check', '--config', file]);
    expect([stdout.includes('Warning: no job stores checkpoints'), code]).toEqual([warns, 0]);
  },
);

test('jobs check warns of files that cannot be written, and says where to', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'tokenctl.yaml');
  const check = async (...jobs: string[]) => {
    writeFileSync(
      file,
      `contexts: { lab: { url: "https://lab.example.org", token: { env: T } } }\ncurrentContext: lab\njobs:\n${jobs.join('\n')}\n`,
    );
    const env = { HOME: folder, XDG_STATE_HOME: '/var/lib' };
    return (await tokenctl(['jobs', 'check', '--config', file], { env })).stdout;
  };
  const wrong = await check(
    '  a: { job: token-audit, parameters: { report: { file: none/a.html } } }',
    '  b: { job: token-audit, parameters: { baseline: { file: tokenctl.yaml/b.txt } } }',
  );
  expect(wrong).toContain(
    `Warning: the job "a" cannot write its report to ${folder}/none/a.html: ${folder}/none does not exist. Specify a file in a directory that it can write to, such as /var/lib/tokenctl/a.html.`,
  );
  expect(wrong).toMatch(/the job "b" cannot write its baseline .*tokenctl\.yaml is not writable here/);
  const right = await check(
    '  a: { job: token-audit, parameters: { report: { file: a.html }, baseline: { file: none/b.txt } } }',
    '  c: { job: token-audit, parameters: { report: { file: "{context}/a.html" } } }',
  );
  expect(right).not.toContain('cannot write');
});

test('jobs check says of a directory what it checked, and that it was not asked', async () => {
  const file = join(temporaryFolder(), 'tokenctl.yaml');
  const check = async (directory: string) => {
    const staff = `{ kind: ldap, url: "ldap://127.0.0.1:1", base: "dc=x", bindDn: "cn=r", bindPassword: { file: ${file}.none }, accounts: [ldap] }`;
    writeFileSync(
      file,
      `contexts: { lab: { url: "https://lab.example.org", token: { env: T } } }\ncurrentContext: lab\ndirectories:\n  staff: ${staff}\njobs:\n  gone: { job: offboarding, parameters: { present: { directory: ${directory} } } }\n`,
    );
    return await tokenctl(['jobs', 'check', '--config', file]);
  };
  const known = await check('staff');
  expect(known.stdout).toContain('Warning: cannot read the credential of the directory "staff" here.');
  expect(known.stdout).toContain(
    'Connected to nothing: controllers, directories and recipients were not checked.',
  );
  expect([known.stdout.includes('gone@lab: valid (dry run)'), known.code]).toEqual([true, 0]);
  const unknown = await check('stuff');
  expect(unknown.stdout).toContain('The configuration has no directory named "stuff"');
  expect(unknown.code).toBe(2);
});

test('a lockdown is confirmed with the name of the user, or with the number of tokens', {
  tags: ['long'],
}, async () => {
  const { folder, run } = home();
  const ask = (...selection: string[]) =>
    typedInto(['incident', 'lockdown', ...selection], { home: folder, question: 'Type ', answer: 'no' });
  const one = await ask('--user', 'backup');
  expect(one.screen).toContain('Type backup to lock down the access of backup (anything else cancels)');
  const two = await ask('--user', 'backup', '--user', 'chatops');
  const list = await run(['tokens', 'list', '--user', 'backup', '--user', 'chatops', '--json']);
  const { length } = JSON.parse(list.stdout) as readonly unknown[];
  expect(two.screen).toContain(`Type ${length} to lock down`);
  expect([one.code, two.code]).toEqual([2, 2]);
});

test('a leaked token is found and revoked, and what was found is printed once', async () => {
  const { folder, run } = home();
  const file = join(folder, 'leaked');
  await run(['tokens', 'create', '--scope', 'read', '--output', file, '--yes']);
  const { stdout, code } = await run(['tokens', 'find', '--leaked', file, '--revoke', '--yes']);
  expect(code).toBe(0);
  expect(stdout.match(/Read 1 line: 1 value/g)).toHaveLength(1);
  expect(stdout).toMatch(/^Read [\s\S]*\nWill revoke 1 token[\s\S]*\nRevoked 1 of 1 token/);
});

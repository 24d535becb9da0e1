import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { failureOnScreen } from '../../../src/cli/errors/failure.ts';
import {
  bad,
  code,
  type Document,
  documentText,
  emphasized,
  facts,
  good,
  lines,
  list,
  section,
  warning,
  would,
} from '../../../src/reports/document.ts';
import { onScreen, type Paint } from '../../../src/reports/tables/text.ts';
import { estate } from './estate.ts';
import { tokenctl } from './program.ts';
import { typedInto } from './terminal.ts';

const { home } = estate({ users: 12, tokens: 40 });
const COLOURS = { env: { FORCE_COLOR: '1' } };
const ESCAPE = '\u001b[';

/** Marks what has a color: `<bad:FAILED>`. */
const marked: Paint = (tone, text) => `<${tone}:${text}>`;

function shown(...document: Document): string {
  const screen = { width: Number.POSITIVE_INFINITY, paint: marked };
  return onScreen(documentText(document, marked), screen);
}

test.each([
  [bad`Failed: token ${3}: ${'a: b'}`, '<bad:Failed>: token 3: a: b'],
  [good`In effect.`, '<good:In effect>.'],
  [
    emphasized`Revoked ${296} of ${'296 tokens'} ${'in 1.2 s'}.`,
    '<strong:Revoked 296 of 296 tokens in 1.2 s>.',
  ],
  [would`lock down ${'a.b: c'}, as ${'inc-1'}.`, '<strong:Would lock down a.b: c, as inc-1>.'],
  [warning`Not verified: ${'the account sees part'}.`, '<warning:Not verified>: the account sees part.'],
  [{ mark: 'FAILED', text: 'Deactivated 0 of 1 users.' }, '  <bad:FAILED>     Deactivated 0 of 1 users.'],
  [{ mark: 'closed', text: 'Users: Verified: all are.' }, '  <good:closed>     Users: Verified: all are.'],
])('a line has the color that it was made with: %j', (line, expected) => {
  expect(shown(lines(line))).toBe(`${expected}\n`);
});

test('the label of an error has a color', () => {
  const failure = { label: 'Error', exit: 2, code: 'usage', hint: undefined, details: undefined } as const;
  expect(failureOnScreen({ ...failure, message: 'No context.' }, { width: 80, paint: marked })).toBe(
    '<bad:Error>: No context.\n',
  );
});

/** Names of users that read like words of the program. */
const NAMES = [
  'Verified',
  'FAILED',
  'OPEN',
  'done',
  'In effect.',
  'Warning: x',
  'Error',
  'Dry run.',
  '== x ==',
];

test.each(NAMES)('a name has no color, wherever it is printed: %s', (name) => {
  const texts = [
    lines(
      name,
      `${name}: left`,
      { text: name, depth: 2 },
      { mark: 'high', text: name },
      { columns: [name, 1] },
    ),
    lines('Users:', list(name, `${name} stays deactivated.`)),
    facts([['Owner', name]]),
    { kind: 'counts', counts: [[3, name]], rest: name },
    { kind: 'table', heads: ['name'], rows: [[name]] },
    code(name),
  ] as const;
  for (const part of texts) expect(shown(part)).not.toContain('<');
  expect(shown(section('Users'), lines(good`Verified: ${name}.`, name))).toBe(
    `<strong:== Users ==>\n<good:Verified>: ${name}.\n${name}\n`,
  );
});

test('lines are broken at spaces, deeper than their text, and never within a command', () => {
  const text = [
    '  done       Turned basic authentication off on the controller.',
    '    Run `awx-manage revoke_oauth2_tokens --user alice --all` on the server.',
    'To lift it: tokenctl incident lift inc-1a2b3c4d --context east --yes',
    'Error: tokenctl is logged in as admin with a password.',
  ].join('\n');
  expect(onScreen(text, { width: 40 }).split('\n')).toEqual([
    '  done       Turned basic authentication',
    '             off on the controller.',
    '    Run',
    '      `awx-manage revoke_oauth2_tokens --user alice --all`',
    '      on the server.',
    'To lift it:',
    'tokenctl incident lift inc-1a2b3c4d --context east --yes',
    'Error: tokenctl is logged in as admin',
    'with a password.',
  ]);
});

test('a terminal gets colors, and NO_COLOR and --no-color turn them off', { tags: ['long'] }, async () => {
  const { run } = home();
  const audit = ['tokens', 'audit', '--summary'];
  const colored = await run(audit, COLOURS);
  expect(colored.stdout).toContain(`${ESCAPE}33mmedium${ESCAPE}39m`);
  const plain = await run(audit);
  expect(stripVTControlCharacters(colored.stdout)).toBe(plain.stdout);
  expect(plain.stdout).not.toContain(ESCAPE);
  expect((await run([...audit, '--no-color'], COLOURS)).stdout).toBe(plain.stdout);
  const failed = await run(['tokens', 'revoke', '--user', 'nobody', '--yes'], COLOURS);
  expect(failed.stderr).toMatch(/^\S+Error\S+: No user named "nobody"/);
  expect((await run([...audit, '--json'], COLOURS)).stdout).not.toContain(ESCAPE);
});

test('a plan has colors on a terminal of its own, and stdout has it beside the result', {
  tags: ['long'],
}, async () => {
  const { folder, run } = home();
  const typed = await typedInto(['tokens', 'revoke', '--user', 'backup'], {
    home: folder,
    question: 'Type ',
    answer: 'no',
    env: { NO_COLOR: '' },
  });
  expect(typed.screen).toContain(`${ESCAPE}1mWill revoke`);
  expect(typed.screen.match(/Will revoke/g)).toHaveLength(1);
  const yes = await run(['tokens', 'revoke', '--user', 'chatops', '--yes']);
  expect(yes.stdout).toMatch(/^Will revoke \d+ tokens[\s\S]*\nRevoked \d+ of/);
  expect(yes.stderr).toBe('');
  const json = await run(['tokens', 'revoke', '--user', 'patching', '--yes', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ verified: true });
  expect(json.stderr).toMatch(/^Will revoke/);
});

test.each([
  ['-h'],
  ['tokens', '-h'],
  ['tokens', 'list', '-h'],
  ['cleanup_tokens', '-h'],
  ['service', 'start', '-h'],
])('tokenctl %s %s %s shows the help', async (...args) => {
  const short = await tokenctl(args);
  expect(short).toMatchObject({ code: 0, stderr: '' });
  expect(short.stdout).toContain('USAGE\n  $ tokenctl');
  expect(short.stdout).toBe((await tokenctl([...args.slice(0, -1), '--help'])).stdout);
});

test('the version is a command, too', async () => {
  const [text, json] = [await tokenctl(['version']), await tokenctl(['version', '--json'])];
  const { version, node } = JSON.parse(json.stdout) as { version: string; node: string };
  expect(text.stdout).toMatch(
    new RegExp(`^tokenctl/${version}(\\+[0-9a-f]+(-dirty)?)? \\S+ node-${node}\n$`),
  );
});

test('usage lines have no empty alternatives', () => {
  const manifest = readFileSync(new URL('../../../oclif.manifest.json', import.meta.url), 'utf8');
  const { commands } = JSON.parse(manifest) as { commands: Record<string, { usage: string; id: string }> };
  expect(commands['tokens:create']?.usage).toBe('tokens create --scope read|write --output FILE [flags]');
  for (const { id, usage } of Object.values(commands)) {
    expect(usage).toMatch(new RegExp(`^${id.replaceAll(':', ' ')} `));
    expect(usage).not.toMatch(/\|\s*\||\|\s*[\])]|[[(]\s*\|/);
  }
});

/** What bash offers after these words. */
function completed(script: string, words: readonly string[]): readonly string[] {
  const typed = words.map((word) => `'${word}'`).join(' ');
  const shell = `${script}\nCOMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _tokenctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', shell], { encoding: 'utf8' }).trim().split('\n');
}

test('bash completes commands, flags and their values', { tags: ['long'] }, async () => {
  const { stdout: script } = await tokenctl(['completion', 'bash']);
  expect(completed(script, ['tokenctl', 'to'])).toEqual(['tokens']);
  expect(completed(script, ['tokenctl', 'tokens', 're'])).toEqual(['revoke']);
  expect(completed(script, ['tokenctl', 'tokens', 'revoke', '--wi'])).toEqual(['--with-sessions']);
  expect(completed(script, ['tokenctl', 'tokens', 'list', '--scope', ''])).toEqual([
    'read',
    'write',
    'openid',
    'roles',
  ]);
  expect(completed(script, ['tokenctl', 'tokens', 'revoke', '--finding', 'owner-in'])).toEqual([
    'owner-inactive',
  ]);
  expect(completed(script, ['tokenctl', 'completion', 'z'])).toEqual(['zsh']);
});

test('names of contexts complete --context', async () => {
  const { run } = home();
  const { stdout: script } = await run(['completion', 'bash']);
  const list = await run(['context', 'list', '--csv']);
  const program = `tokenctl() { printf '%s' '${list.stdout}'; }`;
  expect(completed(`${program}\n${script}`, ['tokenctl', 'tokens', 'list', '--context', ''])).toEqual([
    'test',
  ]);
});

test.each(['zsh', 'fish'])('the script for %s has all commands and is printed as it is', async (shell) => {
  const { stdout, code } = await tokenctl(['completion', shell], COLOURS);
  expect(code).toBe(0);
  expect(stdout).toContain('incident lockdown');
  expect(stdout).not.toContain(ESCAPE);
  expect((await tokenctl(['completion', 'tcsh'])).code).toBe(2);
});

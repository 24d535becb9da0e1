import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { RESTART_RUNNING } from '../../../scripts/release/debian-package.ts';
import { shellFiles } from '../../../scripts/release/shell-files.ts';
import { brokerSchema } from '../../../src/config/broker.ts';
import { signalsSchema } from '../../../src/config/signals.ts';
import { temporaryFolder } from '../cli/program.ts';

const deploy = fileURLToPath(new URL('../../../deploy', import.meta.url));
const textOf = (file: string) => readFileSync(join(deploy, file), 'utf8');

test('units and crontab start the program where the Debian package installs it', () => {
  const commands = [
    ...['broker', 'jobs', 'signals', 'sweep'].map((name) => `systemd/tokenctl-${name}.service`),
    'crontab',
  ].flatMap((file) => [...textOf(file).matchAll(/(?:ExecStart=|\* +)(\/\S+)/g)].map(([, path]) => path));
  expect(commands).toHaveLength(8);
  expect(new Set(commands)).toEqual(new Set(['/usr/bin/tokenctl']));
});

test('an upgrade restarts each unit that keeps running', () => {
  const running = ['broker', 'jobs', 'signals', 'sweep'].filter((name) =>
    textOf(`systemd/tokenctl-${name}.service`).includes('Restart='),
  );
  expect([...RESTART_RUNNING.matchAll(/tokenctl-(\w+)\.service/g)].map(([, name]) => name)).toEqual(running);
  expect(execFileSync('sh', ['-n', '-c', RESTART_RUNNING], { encoding: 'utf8' })).toBe('');
});

test('the units are one user, to whom the state folder that they share belongs', () => {
  const identities = ['tokenctl-jobs', 'tokenctl-broker', 'tokenctl-signals', 'tokenctl-sweep'].map((unit) =>
    textOf(`systemd/${unit}.service`)
      .split('\n')
      .filter((line) => /^(User|DynamicUser|StateDirectory)=/.test(line)),
  );
  expect(identities[0]).toEqual(['User=tokenctl', 'DynamicUser=yes', 'StateDirectory=tokenctl']);
  expect(identities[1]).toEqual(identities[0]);
  expect(identities[2]).toEqual(identities[0]);
  expect(identities[3]).toEqual(identities[0]);
});

test('receiver and broker have every restriction of the scheduler, and listen where they do by themselves', () => {
  const restrictions = (unit: string) =>
    textOf(`systemd/${unit}.service`)
      .split('\n')
      .filter((line) =>
        /^(NoNew|Protect|Private|Restrict|Lock|Cap|Ambient|SystemCall|UMask|LoadCred)/.test(line),
      );
  for (const [name, { port, address }] of [
    ['signals', signalsSchema.parse({})],
    ['broker', brokerSchema.parse({ audience: 'https://broker.example.org', issuers: {} })],
  ] as const) {
    expect(restrictions(`tokenctl-${name}`)).toEqual(restrictions('tokenctl-jobs'));
    expect(textOf(`systemd/tokenctl-${name}.socket`)).toContain(`ListenStream=${address}:${port}\n`);
  }
});

test.each([
  [['tokens', 'li'], ['list']],
  [['tokens', 'list', '--us'], ['--user']],
  [['tokens', 'audit', '--fail-on', 'h'], ['high']],
  [['incident', 'runbook', 'st'], ['stolen-token']],
])('bash completes %j', (words, expected) => {
  const completion = join(temporaryFolder(), 'completion');
  writeFileSync(completion, shellFiles().get('bash-completion/completions/tokenctl') ?? '');
  const script = `. "$0"; COMP_WORDS=(tokenctl "$@"); COMP_CWORD=$#; _tokenctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', script, completion, ...words], { encoding: 'utf8' });
  expect(output.trim().split('\n')).toEqual(expected);
});

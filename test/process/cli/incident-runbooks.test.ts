import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { Secret } from '@tokenctl/common/secret.ts';
import {
  ADMIN,
  basic,
  bearer,
  Client,
  serviceDatabase,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import { hasProgram } from '@tokenctl/testing/tools.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { runbooks } from '../../../src/cli/incident/incident-flags.ts';
import { openSignals } from '../../../src/signals/signal-store.ts';
import { scimAnswer } from '../../support/directory-providers.ts';
import { providerServer } from '../../support/provider-server.ts';
import { argumentsOf, commandsOf, PAGES } from './documented-pages.ts';
import { temporaryFolder, tokenctl } from './program.ts';

const guides = readdirSync(join(PAGES, 'guides')).map((file) => `guides/${basename(file, '.md')}`);

/**
 * A service on PostgreSQL with the users and the application that runbooks name, a token of alice that leaked,
 * and a home with the contexts `production` (REST, the token of admin) and `production-db`, a directory in which lena is disabled, and
 * two security events that are held.
 */
async function place() {
  const url = await serviceDatabase();
  const service = await startTestService({ database: { url: new Secret(url) } });
  let isUp = true;
  const down = async () => {
    if (isUp) await service.close();
    isUp = false;
  };
  onTestFinished(down);
  const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  const password = 'long enough for it';
  const { id } = (await admin.post('/api/v2/users/', { username: 'alice', password })).json;
  await admin.post('/api/v2/users/', { username: 'bob', password });
  const alice = new Client(service.url, basic('alice', password));
  const leaked = await alice.post('/api/v2/tokens/', { scope: 'write' });
  // What the thief left behind: cleaned over the database by a deactivation, which can be undone.
  await admin.patch(`/api/v2/users/${id}/`, { is_superuser: true });
  await new Client(service.url, bearer(leaked.json.token)).post('/api/v2/users/', {
    username: 'mole',
    password,
  });
  await admin.patch(`/api/v2/users/${id}/`, { is_superuser: false });
  const operator = await admin.post('/api/v2/tokens/', { scope: 'write' });
  await new Client(service.url, basic('bob', password)).post('/api/v2/tokens/', { scope: 'read' });
  await service.database.execute(
    `INSERT INTO main_oauth2application (client_id, client_type, authorization_grant_type, client_secret, name)
     VALUES ('chat', 'confidential', 'password', 'x', 'chatops')`,
  );
  await service.database.execute(
    `WITH lena AS (INSERT INTO auth_user (username, password, date_joined) VALUES ('lena', '!', '2026-01-01') RETURNING id)
     INSERT INTO main_profile (user_id, ldap_dn) SELECT id, 'uid=lena,dc=example,dc=org' FROM lena`,
  );
  const staff = await providerServer((asked) =>
    scimAnswer(asked, [{ id: '7', userName: 'lena', active: false }]),
  );
  const folder = temporaryFolder();
  const queue = join(folder, 'signals.sqlite');
  const store = await openSignals(queue);
  const hold = async (jti: string) => {
    const state = {
      state: 'held' as const,
      reason: 'Two users match',
      issued: new Date(),
      received: new Date(),
    };
    const from = { issuer: 'https://idp.example.com', jti, transmitter: 'corporate', route: 'push' as const };
    const event = {
      kinds: ['account-disabled'],
      kind: 'account-disabled' as const,
      action: 'offboard' as const,
    };
    const subject = { format: 'email' as const, email: 'bob@example.org' };
    const recorded = await store.record({ ...state, ...from, ...event, subject });
    return recorded.result === 'new' ? recorded.id : '';
  };
  const events = { '1f0c9a2b77de': await hold('first'), '7d3e5b90c412': await hold('second') };
  await store.close();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('token', operator.json.token);
  write('database', url);
  write('scim-token', 'the token of the directory');
  write('stream-token', 'the token of the stream');
  write('found.txt', `export CONTROLLER_OAUTH_TOKEN=${leaked.json.token}\n`);
  write(
    'tokenctl.yaml',
    `currentContext: production
contexts:
  production: { url: "${service.url}", databaseContext: production-db, token: { file: token } }
  production-db: { database: { file: database } }
directories:
  staff: { kind: scim, url: "${staff.url.href}", token: { file: scim-token } }
signals:
  queue: { file: "${queue}" }
  transmitters:
    corporate:
      { issuer: https://idp.example.com, jwks: https://idp.example.com/keys, audience: a, push: { token: { file: stream-token } } }
`,
  );
  const env = { HOME: folder, TOKENCTL_CONFIG: join(folder, 'tokenctl.yaml') };
  const run = (args: readonly string[]) =>
    tokenctl(
      args.map((word) =>
        /^\w+\.(txt|json|html|secret|token|checkpoint)$/.test(word) ? join(folder, word) : word,
      ),
      { env },
    );
  /** The same contexts, which nothing in the configuration says to be one controller. */
  const unlink = () => {
    const file = join(folder, 'tokenctl.yaml');
    write('tokenctl.yaml', readFileSync(file, 'utf8').replace(' databaseContext: production-db,', ''));
  };
  const program = join(import.meta.dirname, '../../../bin/tokenctl.js');
  mkdirSync(join(folder, 'bin'));
  write('bin/tokenctl', `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(join(folder, 'bin/tokenctl'), 0o700);
  /** Runs another program, which finds tokenctl and the controller as the awx CLI does. */
  const start = (command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    promisify(execFile)(command, args, {
      cwd: folder,
      env: {
        HOME: folder,
        PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        CONTROLLER_HOST: service.url,
        CONTROLLER_OAUTH_TOKEN: operator.json.token,
        ...more,
      },
    });
  return { run, start, down, events, unlink, folder, token: String(leaked.json.id) };
}

describe('a page does what it says, command by command as written', () => {
  test.each([...runbooks.map((name) => `runbooks/${name}`), ...guides])(
    '%s',
    { tags: ['long'] },
    async (name) => {
      const { run, down, events, token } = await place();
      if (name === 'runbooks/controller-down') await down();
      const commands = commandsOf(name);
      expect(commands.length).toBeGreaterThan(0);
      const ids: Record<string, string> = { ...events, '4711': token, 'ci-deploy': 'alice' };
      for (const { command, says } of commands) {
        const { code, stdout, stderr } = await run(argumentsOf(command, ids));
        const incident = /Incident: (inc-[0-9a-f]{8})/.exec(stdout)?.[1];
        const cleaning = /--undo (\S+)/.exec(stdout)?.[1];
        if (incident !== undefined) ids['inc-1a2b3c4d'] = incident;
        if (cleaning !== undefined) ids['0b9c8f1e'] = cleaning;
        expect({ command, code, stderr: code === says ? '' : stderr }).toEqual({
          command,
          code: says,
          stderr: '',
        });
        if (command.includes('--gone')) expect(stdout).toContain('lena');
        if (says === 5) expect(stdout).toContain('NOT CHECKED');
      }
    },
  );
});

describe('an example of deploy/examples does what it says', { tags: ['long'] }, () => {
  const textOf = (name: string) => readFileSync(join(PAGES, '../deploy/examples', name), 'utf8');

  test('the action audits and writes the findings, and fails where there are any', async () => {
    const { start, folder } = await place();
    const { inputs, runs } = parse(textOf('github-action/action.yml'));
    const steps: { name: string; run?: string; env?: Record<string, string> }[] = runs.steps;
    const audit = steps.find(({ name }) => name === 'Audit');
    for (const value of Object.values(audit?.env ?? {})) {
      expect(Object.keys(inputs)).toContain(/^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1]);
    }
    const given = { GITHUB_STEP_SUMMARY: join(folder, 'summary'), FAIL_ON: inputs['fail-on'].default };
    const failed = await start('bash', ['-e', '-o', 'pipefail', '-c', audit?.run ?? ''], given).catch(
      (error) => error,
    );
    expect(failed.code).toBe(3);
    expect(JSON.parse(readFileSync(join(folder, 'tokenctl.sarif'), 'utf8')).runs).toHaveLength(1);
    expect(readFileSync(given.GITHUB_STEP_SUMMARY, 'utf8')).toContain(' findings on ');
  });

  test('the component audits with what its inputs are by default', async () => {
    const { start, folder } = await place();
    const [spec, jobs] = parseAllDocuments(textOf('gitlab-component/templates/tokenctl-audit.yml')).map(
      (each) => each.toJS(),
    );
    const { inputs } = spec.spec;
    const text = JSON.stringify(jobs);
    expect([...text.matchAll(/\$\[\[ inputs\.([\w-]+) \]\]/g)].map(([, name]) => name)).toEqual(
      Object.keys(inputs),
    );
    const { script, artifacts } = jobs['tokenctl-audit'];
    const failed = await start('sh', ['-e', '-c', script.join('\n')], {
      FAIL_ON: inputs['fail-on'].default,
    }).catch((error) => error);
    expect(failed.code).toBe(3);
    expect(readFileSync(join(folder, artifacts.paths[0]), 'utf8')).toContain('<!doctype html>');
  });

  test.runIf(hasProgram('ansible-playbook'))(
    'the playbook revokes, and in check mode only says so',
    async () => {
      const { start } = await place();
      const file = join(PAGES, '../deploy/examples/ansible/revoke-tokens.yaml');
      const play = (...more: string[]) =>
        start('ansible-playbook', [file, ...more, '-e', '{"leavers": ["bob"], "ticket": "HR-204"}']);
      for (const more of [['--check'], []]) {
        expect((await play(...more)).stdout).toMatch(
          /changed: \[localhost\] => \(item=bob\)[\s\S]* changed=1 .* failed=0 /,
        );
      }
      expect((await play()).stdout).toMatch(/ changed=0 .* failed=0 /);
    },
  );
});

describe('a runbook for a case', () => {
  test('has the names that are given, and the contexts of the configuration, without asking the controller', async () => {
    const { run, down } = await place();
    await down();
    const given = ['--user', "o'neil", '--reason', 'laptop stolen', '--ticket', 'SEC-9'];
    const { code, stdout } = await run(['incident', 'runbook', 'stolen-token', ...given]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(
        `tokenctl incident lockdown --context production-db --user 'o'\\''neil' --deactivate --reason 'laptop stolen' --ticket SEC-9\n`,
      ),
    ]);
    expect(stdout).toContain('--incident <incident> --since <start-of-incident> --out theft.json');
    expect(stdout).not.toContain('inc-1a2b3c4d');
  });

  test('finds the contexts of one controller by its installation, where nothing names them', {
    tags: ['long'],
  }, async () => {
    const { run, down, unlink } = await place();
    unlink();
    const given = ['incident', 'runbook', 'stolen-token', '--user', 'bob', '--since', '2h'];
    for (const context of ['production', 'production-db']) {
      const { code, stdout } = await run([...given, '--context', context]);
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining('incident lockdown --context production-db --user bob --deactivate'),
      ]);
      expect(stdout).toContain('tokens list --context production --user bob\n');
      expect(stdout).toMatch(/--since 20\d\d-\d\d-\d\dT[\d:.]+Z --out theft\.json/);
    }
    await down();
    const { code, stdout } = await run([...given, '--context', 'production']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('--context <database-context> --user bob')]);
  });

  test('has what the audit log knows of the incident, in either context', { tags: ['long'] }, async () => {
    const { run } = await place();
    const lockdown = [
      'incident',
      'lockdown',
      '--context',
      'production-db',
      '--user',
      'bob',
      '--yes',
      '--json',
    ];
    const { incident } = JSON.parse(
      (await run([...lockdown, '--reason', 'stolen', '--ticket', 'SEC-8'])).stdout,
    );
    const filled = ['incident', 'runbook', 'stolen-token', '--incident', incident.slice(0, 8)];
    for (const context of ['production', 'production-db']) {
      const { stdout } = await run([...filled, '--context', context]);
      expect(stdout).toContain(`incident status --context production-db --check`);
      expect(stdout).toContain(`tokens list --context production --user bob\n`);
      expect(stdout).toContain(
        `incident lift ${incident} --context production-db --reason <reason> --ticket SEC-8\n`,
      );
    }
    const unknown = await run(['incident', 'runbook', 'stolen-token', '--incident', 'inc-ffffffff']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('inc-ffffffff')]);
  });
});

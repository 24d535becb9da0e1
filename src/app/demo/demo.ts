import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Environment } from '../../config/paths.ts';
import { countText } from '../../reports/tables/text.ts';
import { DEMO_SIZE, type DemoService, startDemoService } from '../service/demo-service.ts';
import { catchSignals } from '../stop-signals.ts';

export interface DemoOptions {
  readonly version: string;
  /** The package's folder with the program to run. */
  readonly root: string;
  readonly environment: Environment;
  /** Whether the service keeps running after the demo. */
  readonly keep: boolean;
}

/**
 * Plays the demo: its own service with some thousand tokens, and the real commands against it over HTTP.
 * Every step's outcome is checked, so that the demo exits with 0 only if all of it is true.
 * @throws TokenctlError `target_misbehaved` if a step does not end as expected
 */
export async function playDemo(options: DemoOptions): Promise<void> {
  const started = performance.now();
  const { users, tokens } = DEMO_SIZE;
  const size = `${countText(users, 'user')} and ${countText(tokens, 'token')}`;
  process.stdout.write(`Starting an automation service with ${size}, in memory …
`);
  const stage = await startDemoService(options.version, options.environment);
  try {
    const stageShell = shell(join(options.root, 'bin/tokenctl.js'), stage.environment);
    await findOut(stageShell, stage);
    await employeeLeft(stageShell, stage);
    await cleanUp(stageShell);
    await laptopStolen(stageShell, stage);
    await passwordsOff(stageShell, stage);
    await auditorAsks(stageShell, stage);
    const seconds = Math.round((performance.now() - started) / 1000);
    stageShell.say(`The demo took ${seconds} s. Every command above ran against a real service over HTTP.`);
    if (options.keep) await keepRunning(stageShell, stage, callName(options.root));
  } finally {
    await stage.close();
  }
}

async function findOut(run: Shell, { service }: DemoService): Promise<void> {
  run.say(`The service is running at ${service.url}. Which account is this, and what can tokenctl do?`);
  await run.run('context check');
  run.say('What is wrong with the tokens? According to the default policy, highest severity first:');
  await run.run('tokens audit --summary');
}

/** The deactivated user with the most tokens. */
function leaver({ estate }: DemoService): string {
  const counts = new Map<string, number>();
  for (const { owner } of estate.tokens) {
    const user = estate.users[owner];
    if (user !== undefined && !user.active) counts.set(user.username, (counts.get(user.username) ?? 0) + 1);
  }
  const [first] = [...counts].sort(([, one], [, other]) => other - one);
  if (first === undefined)
    throw new TokenctlError('target_misbehaved', 'The sample data has no inactive user');
  return first[0];
}

async function employeeLeft(run: Shell, stage: DemoService): Promise<void> {
  const user = leaver(stage);
  run.say(`${user} has left, and the account is deactivated. The tokens still exist. Look first, then act:`);
  await run.run(`tokens revoke --user ${user} --dry-run`);
  await run.run(`tokens revoke --user ${user} --yes --reason "left the company" --ticket HR-112`);
  run.say('Running the command again is harmless:');
  await run.run(`tokens revoke --user ${user} --yes`);
}

async function cleanUp(run: Shell): Promise<void> {
  run.say('Next, tokens unused for half a year, with a limit in case the selection is too broad:');
  await run.run('tokens revoke --unused-for 180d --at-most 100 --yes', { expected: 2 });
  run.say('The selection was too broad, so nothing was revoked. With a higher limit:');
  await run.run('tokens revoke --unused-for 180d --at-most 1000 --yes --reason "quarterly clean-up"');
}

async function laptopStolen(run: Shell, stage: DemoService): Promise<void> {
  const file = join(stage.folder, 'laptop-token');
  run.say(
    'A token for a laptop. Its value is written to a file that only its owner can read, and nowhere else:',
  );
  await run.run(`tokens create --scope write --description "laptop" --output ${file} --yes`);
  const token = (await readFile(file, 'utf8')).trim();
  const id = await ask(stage, '/api/v2/tokens/?order_by=-id&page_size=1').then(newestId);
  await expectStatus(run, stage, { what: 'The service accepts a request with it:', token, status: 200 });
  run.say('The laptop is stolen:');
  await run.run(`tokens revoke --id ${id} --yes --reason "laptop stolen" --ticket SEC-7`);
  await expectStatus(run, stage, { what: 'The same request now:', token, status: 401 });
}

async function passwordsOff(run: Shell, stage: DemoService): Promise<void> {
  run.say(
    'Passwords were leaked, so basic authentication must be turned off. But tokenctl itself uses a password and would lock itself out:',
  );
  await run.run('settings basic-auth off --yes', { expected: 2 });
  const file = join(stage.folder, 'admin-token');
  await run.run(`tokens create --scope write --description "tokenctl" --output ${file} --yes`);
  const token = (await readFile(file, 'utf8')).trim();
  const environment = { CONTROLLER_OAUTH_TOKEN: token };
  run.say('With that token in CONTROLLER_OAUTH_TOKEN, it works and is verified:');
  await run.run('settings basic-auth off --yes --reason "passwords leaked" --ticket SEC-9', { environment });
  await expectStatus(run, stage, { what: 'A request with the right password now:', status: 401 });
  await run.run('settings basic-auth on --yes --reason "passwords changed" --ticket SEC-9', { environment });
  await expectStatus(run, stage, { what: 'And back on:', status: 200 });
}

async function auditorAsks(run: Shell, stage: DemoService): Promise<void> {
  run.say('Who changed what, and is the audit log intact?');
  await run.run('log list --limit 6');
  await run.run('log verify');
  run.say(
    'An attacker edits a copy of the audit log, changing one number to hide how many tokens were revoked.',
  );
  const copy = join(stage.folder, 'edited.jsonl');
  await copyFile(join(stage.folder, 'tokenctl', 'audit.jsonl'), copy);
  const text = await readFile(copy, 'utf8');
  await writeFile(copy, text.replace(/"planned":\d+/, '"planned":1'));
  await run.run(`log verify --log-file ${copy}`, { expected: 6 });
}

/** The command to type. A checkout of the repository is not installed globally. */
function callName(root: string): string {
  return existsSync(join(root, 'tsconfig.json')) ? 'npx tokenctl' : 'tokenctl';
}

async function keepRunning(run: Shell, { service, folder }: DemoService, tokenctl: string): Promise<void> {
  run.say(
    `The service runs at ${service.url} until you press Ctrl-C. In another terminal:\n
  export CONTROLLER_HOST=${service.url} CONTROLLER_USERNAME=admin
  export CONTROLLER_PASSWORD="$(cat ${join(folder, 'admin-password')})"
  export XDG_STATE_HOME=${folder}

  ${tokenctl} tokens list --user backup
  ${tokenctl} tokens audit --fail-on high
  ${tokenctl} tokens revoke --application "Legacy portal"
  ${tokenctl} settings external-tokens status
  ${tokenctl} log list\n
Or log in at ${service.url}/api/login/ in a browser.`,
  );
  const { signal, release } = catchSignals(() => undefined);
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  release();
}

/** Sends a request to the service, and shows and checks the status. */
async function expectStatus(
  run: Shell,
  stage: DemoService,
  expectation: { readonly what: string; readonly status: number; readonly token?: string },
): Promise<void> {
  const { what, status, token } = expectation;
  const response = await ask(stage, '/api/v2/me/', token);
  run.say(`${what} GET /api/v2/me/ → ${response.status}`);
  if (response.status === status) return;
  throw new TokenctlError(
    'target_misbehaved',
    `The demo expected ${status}, but the service responded with ${response.status}`,
  );
}

/** The demo's own request, with a token or with the superuser's password. */
function ask({ service, adminPassword }: DemoService, path: string, token?: string): Promise<Response> {
  const basic = Buffer.from(`admin:${adminPassword.reveal()}`).toString('base64');
  const authorization = token === undefined ? `Basic ${basic}` : `Bearer ${token}`;
  return fetch(`${service.url}${path}`, { headers: { authorization } });
}

async function newestId(response: Response): Promise<number> {
  const body = (await response.json()) as { readonly results: readonly { readonly id: number }[] };
  const [newest] = body.results;
  if (newest === undefined) throw new TokenctlError('target_misbehaved', 'The service has no tokens');
  return newest.id;
}

/** Runs commands as a user types them, and prints the demo's text. */
interface Shell {
  say(text: string): void;
  /** Shows a command line and runs the program with it. Throws `target_misbehaved` for an unexpected exit code. */
  run(
    line: string,
    options?: { readonly expected?: number; readonly environment?: Environment },
  ): Promise<void>;
}

/** Makes a {@link Shell} for the program at `program`, whose commands find their target in `environment`. */
function shell(program: string, environment: Environment): Shell {
  return {
    say(text) {
      process.stdout.write(`\n${text}\n`);
    },
    async run(line, { expected = 0, environment: further = {} } = {}) {
      process.stdout.write(`\n$ tokenctl ${line}\n`);
      const child = spawn(process.execPath, [program, ...words(line)], {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...environment, ...further },
      });
      const exit = await new Promise<number | null>((resolve, reject) => {
        child.on('error', reject).on('exit', resolve);
      });
      if (exit === expected) return;
      throw new TokenctlError(
        'target_misbehaved',
        `The demo expected exit code ${expected}, but got ${exit}`,
      );
    },
  };
}

/** Splits a command line at spaces, but not within quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

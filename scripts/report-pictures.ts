// Takes the pictures of `incident report` in docs: the top of the report, and who made what. The theft is played on a real service
// with a sample estate: an intruder with a stolen token makes a user, a token, an application and a role, and is cleaned up after.
// Run: npm run build && node scripts/report-pictures.ts. It needs Chromium (CHROMIUM names it).
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { startChromium } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { type DemoService, startDemoService } from '../src/app/service/demo-service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const chromium = findChromium();
if (chromium === null) throw new Error('There is no Chromium: CHROMIUM names one');
const demo = await startDemoService('0.0.0', process.env);
const browser = await startChromium(chromium);

interface Made {
  readonly id: number;
  readonly token: string;
  readonly results: readonly { readonly id: number; readonly name: string }[];
}

/** A request to the service, with a password (`name:password`) or a token. */
async function send(as: string, method: string, path: string, body?: object): Promise<Made> {
  const response = await fetch(`${demo.service.url}/api/v2/${path}`, {
    method,
    headers: {
      authorization: as.includes(':') ? `Basic ${btoa(as)}` : `Bearer ${as}`,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Made;
}

/** What the intruder does with a token of alice. */
async function intrude(admin: string): Promise<void> {
  const password = 'correct-horse-battery';
  await send(admin, 'POST', 'users/', { username: 'alice', password, is_superuser: true });
  const { token } = await send(`alice:${password}`, 'POST', 'tokens/', {
    scope: 'write',
    description: 'laptop',
  });
  const [organization] = (await send(admin, 'GET', 'organizations/?order_by=id')).results;
  const mole = await send(token, 'POST', 'users/', { username: 'svc-backup', password });
  const roles = await send(token, 'GET', `organizations/${organization?.id}/object_roles/`);
  const role = roles.results.find(({ name }) => name === 'Admin');
  await send(token, 'POST', `users/${mole.id}/roles/`, { id: role?.id });
  const client = { client_type: 'public', authorization_grant_type: 'password' };
  await send(token, 'POST', 'applications/', { name: 'sync', organization: organization?.id, ...client });
  await send(`svc-backup:${password}`, 'POST', 'tokens/', { scope: 'write', description: 'nightly' });
  await send(token, 'POST', 'tokens/', { scope: 'write', description: 'ci' });
}

/** Names the service as a context would be named. */
function configure({ folder, service }: DemoService): void {
  const password = `password: { file: "${folder}/admin-password" }`;
  mkdirSync(join(folder, 'tokenctl'));
  writeFileSync(
    join(folder, 'tokenctl/tokenctl.yaml'),
    `currentContext: production\ncontexts:\n  production: { url: "${service.url}", username: admin, ${password} }\n`,
  );
}

/** Runs a command; one that leaves something unchecked ends with 5. */
async function tokenctl({ environment, folder }: DemoService, ...args: string[]): Promise<string> {
  const { CONTROLLER_HOST: _, CONTROLLER_USERNAME: __, CONTROLLER_PASSWORD: ___, ...env } = environment;
  const options = { cwd: folder, env: env as NodeJS.ProcessEnv };
  const run = promisify(execFile)(process.execPath, [join(root, 'bin/tokenctl.js'), ...args], options);
  const { stdout } = await run.catch((error: { code?: unknown; stdout: string; stderr: string }) => {
    if (error.code === 5) return error;
    throw new Error(`tokenctl ${args.join(' ')}: ${error.stderr}`);
  });
  return stdout;
}

try {
  await intrude(`admin:${demo.adminPassword.reveal()}`);
  configure(demo);
  const run = (...args: string[]) => tokenctl(demo, ...args);
  await run('log', 'init', '--name', 'example.org/audit');
  const account = ['--reason', 'laptop stolen', '--ticket', 'SEC-7'];
  const locked = await run(
    'incident',
    'lockdown',
    '--user',
    'alice',
    '--deactivate',
    '--yes',
    '--json',
    ...account,
  );
  const { incident } = JSON.parse(locked) as { readonly incident: string };
  const investigate = ['incident', 'investigate', '--incident', incident, '--since', '7d', '--out'];
  await run(...investigate, 'theft.json');
  await run(
    ...['incident', 'clean', '--from', 'theft.json', '--incident', incident, '--yes', '--irreversible'],
    ...account,
  );
  await run(...investigate, 'after.json');
  const report = ['incident', 'report', incident, '--from', 'theft.json'];
  await run(...report, '--from', 'after.json', '--format', 'html', '--output', 'report.html');
  await run(...report, '--format', 'svg', '--output', 'chain.svg');
  writeFileSync(join(root, 'docs/incident-chain.svg'), readFileSync(join(demo.folder, 'chain.svg')));
  const page = await browser.newPage({ viewport: { width: 960, height: 860 } });
  await page.goto(pathToFileURL(join(demo.folder, 'report.html')).href);
  await page.screenshot({ path: join(root, 'docs/incident-report.png') });
} finally {
  await browser.close();
  await demo.close();
}

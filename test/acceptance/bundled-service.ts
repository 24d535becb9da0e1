/**
 * Runs the acceptance tests against the bundled service: `tokenctl service start` on a PostgreSQL server of its own, with its
 * database as a database context. `npm run test:acceptance:service`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createDatabase, freePort, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { newPassword } from './installation.ts';

const program = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'tokenctl-acceptance-service-'));
const postgres = await startPostgres();
const password = newPassword();
const [databaseFile, passwordFile] = [join(folder, 'database.url'), join(folder, 'admin.password')];
writeFileSync(databaseFile, `${await createDatabase(postgres.url)}\n`, { mode: 0o600 });
writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
const service = spawn(
  process.execPath,
  [
    program('../../bin/tokenctl.js'),
    ...[
      'service',
      'start',
      '--port',
      String(await freePort()),
      '--database-file',
      databaseFile,
      '--log-level',
      'warn',
    ],
  ],
  { env: { ...process.env, TOKENCTL_ADMIN_PASSWORD: password }, stdio: ['ignore', 'inherit', 'pipe'] },
);
try {
  const url = await addressOf(service.stderr);
  service.stderr.pipe(process.stderr);
  const description = {
    rest: { url, username: 'admin', password: { file: passwordFile } },
    database: { database: { file: databaseFile } },
    destroy: {
      ...{ ownObjects: true, settings: true, expiredTokens: true, allAccess: true, databaseRoles: true },
      activityStream: true,
    },
  };
  const file = join(folder, 'service.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(description));
  const tests = spawn(process.execPath, [program('main.ts'), file, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  const [code] = (await once(tests, 'close')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  service.kill('SIGTERM');
  if (service.exitCode === null) await once(service, 'close');
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** The address that the service says it listens on. */
async function addressOf(stderr: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stderr.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const [, url] = /The service listens on (\S+?)\. /.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`The service did not start: ${text}`);
}

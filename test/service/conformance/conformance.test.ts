import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { Secret } from '../../../src/domain/secret.ts';
import { type RunningService, startService } from '../../../src/service/server.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { withIssuer } from './issuer.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const REPLAY = path('../../../../shared/conformance/replay.mjs');

/** All flows of the recording. */
const FLOWS = [
  'initial',
  'setup',
  'root',
  'login',
  'me',
  'tokens',
  'tokens-list',
  'tokens-detail',
  'user-tokens',
  'applications',
  'o/token',
  'o/revoke_token',
  'o/authorize',
  'external',
  'settings',
  'basic-disabled',
  'sessions',
  'bearer-state',
  'routing',
  'launch',
  'resource',
  'scope',
  'activity',
  'reset',
  'paging',
];

/**
 * Starts the service as the recorded controller was: its cookie name, its administrator, behind a proxy, and
 * public clients that may do without PKCE.
 */
function startLikeRecorded(database: { url: Secret } | { folder: null }): Promise<RunningService> {
  return startService({
    host: '127.0.0.1',
    port: 0,
    database,
    adminPassword: new Secret('adminpw'),
    sessionCookieName: 'awx_sessionid',
    behindProxy: true,
    requirePkce: false,
    version: '24.6.1',
    logLevel: 'error',
  });
}

/** What differs on purpose: as stated for an exchange, else as stated for all redirects. */
function statedDifferences(issuer: string): object {
  const stated = JSON.parse(readFileSync(path('differences.json'), 'utf8')) as Readonly<
    Record<string, object>
  >;
  const general = withIssuer(path('../../../../shared/conformance/exchanges.jsonl'), issuer);
  return { ...general, ...stated };
}

async function replay(service: RunningService, databaseUrl: string | null): Promise<readonly string[]> {
  const sql = `${process.execPath} ${path('run-sql.ts')}`;
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-conformance-'));
  const differences = join(folder, 'differences.json');
  writeFileSync(differences, JSON.stringify(statedDifferences(service.url)));
  const child = spawn(
    process.execPath,
    [
      REPLAY,
      ...['--base', service.url, '--flow', FLOWS.join(',')],
      ...['--differences', differences],
      ...(databaseUrl === null ? [] : ['--sql-via', sql]),
    ],
    { env: { ...process.env, ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }) } },
  );
  let output = '';
  for await (const part of child.stdout.setEncoding('utf8')) output += part;
  rmSync(folder, { recursive: true });
  const failures = output.split('\n').filter((line) => line.startsWith('FAIL '));
  expect(output).toMatch(/^\d+ passed, \d+ failed, \d+ skipped$/m);
  return failures;
}

describe.skipIf(!existsSync(REPLAY))('the recorded exchanges of a real controller', () => {
  it('are answered alike on PostgreSQL', { timeout: 180_000 }, async () => {
    const url = await createDatabase(inject('postgresUrl'));
    const service = await startLikeRecorded({ url: new Secret(url) });
    try {
      expect(await replay(service, url)).toEqual([]);
    } finally {
      await service.close();
    }
  });

  it('are answered alike on the embedded database, where no SQL step is needed', {
    timeout: 180_000,
  }, async () => {
    const service = await startLikeRecorded({ folder: null });
    try {
      expect(await replay(service, null)).toEqual([]);
    } finally {
      await service.close();
    }
  });
});

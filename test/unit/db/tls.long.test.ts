import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgres } from '../../../src/db/postgres.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { refused } from '../../support/drafts.ts';
import { type PostgresServer, startPostgres } from '../../support/embedded-postgres.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** Opens the database and tells how it was reached. */
async function transport(url: string, parameters: string): Promise<string> {
  const database = await openPostgres({
    url: new Secret(`${url}?${parameters}`),
    environment: { HOME: '/nowhere' },
    applicationName: 'test',
    statementTimeout: 4000,
    lockTimeout: 3000,
    idleInTransactionTimeout: 2000,
    settings: { jit: 'off' },
  });
  try {
    const [row] = await database.query(
      `SELECT ssl, current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
         current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('jit') AS jit
       FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
    );
    expect(row).toEqual({
      ssl: database.transport !== 'plain',
      ...{ statement: '4s', lock: '3s', idle: '2s', jit: 'off' },
    });
    return database.transport;
  } finally {
    await database.close();
  }
}

describe('a server without TLS', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('is reached without it, unless it is required', async () => {
    expect(await transport(server.url, '')).toBe('plain');
    expect(await transport(server.url, 'sslmode=prefer')).toBe('plain');
    expect(await transport(server.url, 'sslmode=disable')).toBe('plain');
    for (const mode of ['require', 'no-verify', 'verify-full']) {
      await expect(transport(server.url, `sslmode=${mode}`)).rejects.toMatchObject(
        refused('database_unreachable', 'does not support SSL'),
      );
    }
  });
});

describe.runIf(hasOpenssl)('a server with TLS', () => {
  let server: PostgresServer;
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-tls-'));
  let own: string;
  let other: string;

  beforeAll(async () => {
    server = await startPostgres();
    const database = await openPostgres({ url: new Secret(server.url), applicationName: 'test' });
    const request = (name: string) =>
      `openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${name}.key -out ${name}.crt`;
    // The server's own user makes the key, in its own folder.
    await database.execute(`COPY (SELECT 1) TO PROGRAM '${request('server')} && ${request('other')}'`);
    const [row] = await database.query<{ own: string; other: string }>(
      "SELECT pg_read_file('server.crt') AS own, pg_read_file('other.crt') AS other",
    );
    [own, other] = [join(folder, 'own.crt'), join(folder, 'other.crt')];
    writeFileSync(own, row?.own ?? '');
    writeFileSync(other, row?.other ?? '');
    await database.execute('ALTER SYSTEM SET ssl = on');
    await database.execute('SELECT pg_reload_conf()');
    await database.close();
    expect(readFileSync(own, 'utf8')).toContain('BEGIN CERTIFICATE');
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
    return server.stop();
  });

  const byName = () => server.url.replace('127.0.0.1', 'localhost');

  it('is reached with it wherever that is taken, and without where it is not', async () => {
    expect(await transport(server.url, '')).toBe('tls_unverified');
    expect(await transport(server.url, 'sslmode=require')).toBe('tls_unverified');
    expect(await transport(server.url, 'sslmode=no-verify')).toBe('tls_unverified');
    expect(await transport(server.url, 'ssl=true')).toBe('tls_unverified');
    expect(await transport(server.url, 'sslmode=allow')).toBe('plain');
    expect(await transport(server.url, 'sslmode=disable')).toBe('plain');
  });

  it('is verified by the authority, and by name where that is asked for', async () => {
    expect(await transport(server.url, `sslmode=verify-ca&sslrootcert=${own}`)).toBe('tls');
    expect(await transport(server.url, `sslmode=require&sslrootcert=${own}`)).toBe('tls');
    expect(await transport(byName(), `sslmode=verify-full&sslrootcert=${own}`)).toBe('tls');
    const untrusted = expect.objectContaining({
      code: 'database_unreachable',
      hint: expect.stringContaining('sslrootcert'),
    });
    await expect(transport(server.url, `sslmode=verify-full&sslrootcert=${own}`)).rejects.toEqual(untrusted);
    await expect(transport(byName(), 'sslmode=verify-full')).rejects.toEqual(untrusted);
    await expect(transport(server.url, `sslmode=verify-ca&sslrootcert=${other}`)).rejects.toEqual(untrusted);
    await expect(transport(server.url, `sslmode=require&sslrootcert=${other}`)).rejects.toEqual(untrusted);
  });

  it('is not verified without an authority to verify by', async () => {
    await expect(transport(server.url, 'sslmode=verify-ca')).rejects.toMatchObject({ code: 'configuration' });
    await expect(
      transport(server.url, 'sslmode=verify-full&sslrootcert=/nowhere/root.crt'),
    ).rejects.toMatchObject(refused('configuration', '/nowhere/root.crt'));
  });
});

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { HAS_OPENSSL } from '@tokenctl/testing/redis.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgres } from '../../src/db/postgres.ts';
import { Secret } from '../../src/secret.ts';

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

describe.runIf(HAS_OPENSSL)('a server with TLS', () => {
  let server: PostgresServer;
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-tls-'));
  let own: string;
  let other: string;

  beforeAll(async () => {
    server = await startPostgres();
    const database = await openPostgres({ url: new Secret(server.url), applicationName: 'test' });
    const request = (name: string) =>
      `openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${name} -addext subjectAltName=DNS:localhost -keyout ${name}.key -out ${name}.crt`;
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

  it('takes the client certificate of the home folder, and of a keyword', async () => {
    const home = mkdtempSync(join(tmpdir(), 'tokenctl-home-'));
    const own = join(home, '.postgresql');
    mkdirSync(own);
    const database = await openPostgres({ url: new Secret(server.url), applicationName: 'test' });
    const program = (command: string) => database.execute(`COPY (SELECT 1) TO PROGRAM '${command}'`);
    await program(
      'openssl req -newkey rsa:2048 -nodes -subj /CN=certified -keyout client.key -out client.csr && openssl x509 -req -in client.csr -CA server.crt -CAkey server.key -CAcreateserial -days 2 -out client.crt && cp pg_hba.conf pg_hba.before && { echo hostssl all certified all cert; echo hostssl all bound all scram-sha-256; echo hostssl all unbound all trust; cat pg_hba.before; } > pg_hba.conf',
    );
    await database.execute('CREATE ROLE certified LOGIN');
    await database.execute('CREATE ROLE unbound LOGIN');
    await database.execute("CREATE ROLE bound LOGIN PASSWORD 'w'");
    await database.execute("ALTER SYSTEM SET ssl_ca_file = 'server.crt'");
    await database.execute('SELECT pg_reload_conf()');
    const [files] = await database.query<{ cert: string; key: string }>(
      "SELECT pg_read_file('client.crt') AS cert, pg_read_file('client.key') AS key",
    );
    const as = (user: string, parameters = '') => {
      const url = new URL(server.url);
      [url.username, url.password, url.search] = [user, user === 'bound' ? 'w' : '', parameters];
      return new Secret(url.href);
    };
    const open = async (url: Secret) => {
      const opened = await openPostgres({ url, environment: { HOME: home }, applicationName: 'test' });
      const [row] = await opened.query<{ user: string }>('SELECT current_user AS user');
      await opened.close();
      return row?.user;
    };
    await until(() =>
      open(as('unbound')).then(
        (user) => user === 'unbound',
        () => false,
      ),
    );
    await expect(open(as('certified', 'sslmode=require'))).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    writeFileSync(join(own, 'postgresql.crt'), files?.cert ?? '');
    await expect(open(as('certified'))).rejects.toMatchObject(refused('configuration', 'The key of'));
    writeFileSync(join(own, 'postgresql.key'), files?.key ?? '', { mode: 0o644 });
    await expect(open(as('certified'))).rejects.toMatchObject(
      refused('configuration', 'Other users can read the key'),
    );
    chmodSync(join(own, 'postgresql.key'), 0o600);
    expect(await open(as('certified'))).toBe('certified');
    await expect(open(as('certified', 'sslmode=require&sslcertmode=disable'))).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    // Channel binding: the server proves that this TLS connection ends there.
    expect(await open(as('bound', 'sslmode=require&channel_binding=require'))).toBe('bound');
    for (const [user, mode] of [
      ['unbound', 'require'],
      ['bound', 'disable'],
    ] as const) {
      await expect(open(as(user, `sslmode=${mode}&channel_binding=require`))).rejects.toMatchObject({
        code: 'database_unreachable',
        message: expect.stringMatching(/channel binding|pg_hba/),
      });
    }
    await program('cp pg_hba.before pg_hba.conf');
    await database.execute('SELECT pg_reload_conf()');
    await database.close();
    rmSync(home, { recursive: true });
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

  it('is verified by the authority of the home folder and its lists in every mode, as by psql', async () => {
    const home = mkdtempSync(join(tmpdir(), 'tokenctl-home-'));
    mkdirSync(join(home, '.postgresql'));
    const database = await openPostgres({ url: new Secret(server.url), applicationName: 'test' });
    const authority = 'openssl ca -config ca.cnf';
    const lists = async (change: string) => {
      const commands = [
        String.raw`printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ndefault_md=sha256\n' > ca.cnf`,
        'touch index.txt',
        change,
        ...['other', 'server'].map(
          (name) => `${authority} -gencrl -crldays 2 -cert ${name}.crt -keyfile ${name}.key -out ${name}.crl`,
        ),
      ];
      await database.execute(`COPY (SELECT 1) TO PROGRAM $sh$${commands.join(' && ')}$sh$`);
      const [row] = await database.query<{ crl: string }>(
        "SELECT pg_read_file('other.crl') || pg_read_file('server.crl') AS crl",
      );
      writeFileSync(join(home, '.postgresql/root.crl'), row?.crl ?? '');
    };
    const open = async (mode: string, url = server.url) => {
      const opened = await openPostgres({
        url: new Secret(`${url}?sslmode=${mode}`),
        environment: { HOME: home },
        applicationName: 'test',
      });
      await opened.close();
      return opened.transport;
    };
    await lists('true');
    writeFileSync(join(home, '.postgresql/root.crt'), readFileSync(own));
    expect([await open('verify-full', byName()), await open('require'), await open('prefer')]).toEqual([
      'tls',
      'tls',
      'tls_unverified',
    ]);
    await lists(`${authority} -revoke server.crt -cert server.crt -keyfile server.key`);
    for (const mode of ['verify-full', 'verify-ca', 'require']) {
      await expect(open(mode, byName())).rejects.toMatchObject(
        refused('database_unreachable', 'certificate revoked'),
      );
    }
    // This server answers without TLS as well; another one has no way left.
    expect(await open('prefer')).toBe('plain');
    await database.execute(
      "COPY (SELECT 1) TO PROGRAM 'cp pg_hba.conf pg_hba.before && echo hostssl all all all trust > pg_hba.conf'",
    );
    await database.execute('SELECT pg_reload_conf()');
    await until(() =>
      open('disable').then(
        () => false,
        () => true,
      ),
    );
    for (const mode of ['prefer', 'allow']) {
      await expect(open(mode)).rejects.toMatchObject(refused('database_unreachable', 'certificate revoked'));
    }
    await database.execute("COPY (SELECT 1) TO PROGRAM 'cp pg_hba.before pg_hba.conf'");
    await database.execute('SELECT pg_reload_conf()');
    await database.close();
    writeFileSync(join(home, '.postgresql/root.crl'), 'revoked: 7');
    await expect(open('verify-full', byName())).rejects.toMatchObject(refused('configuration', 'root.crl'));
    rmSync(home, { recursive: true });
  });

  it('is not verified without an authority to verify by', async () => {
    await expect(transport(server.url, 'sslmode=verify-ca')).rejects.toMatchObject({ code: 'configuration' });
    await expect(
      transport(server.url, 'sslmode=verify-full&sslrootcert=/nowhere/root.crt'),
    ).rejects.toMatchObject(refused('configuration', '/nowhere/root.crt'));
  });
});

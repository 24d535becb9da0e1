import { type AddressInfo, createServer } from 'node:net';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type PostgresProxy, startProxy } from '../../process/faults/postgres-proxy.ts';
import { refusal } from '../../support/logs.ts';

let proxy: PostgresProxy;

beforeAll(async () => {
  proxy = await startProxy(await createDatabase(inject('postgresUrl')));
});
afterAll(() => proxy[Symbol.asyncDispose]());

const open = (other: Partial<Parameters<typeof openPostgres>[0]> = {}) =>
  openPostgres({
    url: new Secret(proxy.url),
    applicationName: 'test',
    responseTimeout: NO_ANSWER_MS,
    ...other,
  });

const silent = {
  code: 'database_unreachable',
  message: 'The database did not respond for 1 seconds',
  hint: expect.any(String),
};

describe('a database that does not answer any more', () => {
  test('ends a query, and the next one has a new connection', async () => {
    const database = await open();
    proxy.silence();
    expect(await refusal(database.query('SELECT 1'))).toMatchObject(silent);
    proxy.restore();
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });

  test('ends a transaction after one wait, without a wait for ROLLBACK', async () => {
    const database = await open();
    const work = database.transaction(async (transaction) => {
      await transaction.query('SELECT 1');
      proxy.silence();
      await transaction.query('SELECT 2');
    });
    expect(await refusal(work)).toMatchObject(silent);
    expect(proxy.unheard()).toContain('SELECT 2');
    expect(proxy.unheard()).not.toContain('ROLLBACK');
    proxy.restore();
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });

  test('does not keep the program from ending', async () => {
    const database = await open();
    await database.query('SELECT 1');
    proxy.silence();
    await database.close();
    proxy.restore();
  });

  test('is not opened', async () => {
    proxy.silence();
    const url = new Secret(`${proxy.url}?connect_timeout=1`);
    expect(await refusal(open({ url }))).toMatchObject({ code: 'database_unreachable' });
    proxy.restore();
  });

  test('may take longer where the caller says so', async () => {
    const database = await open();
    const holder = await open();
    const wait = (transaction: Queryable) => transaction.query('SELECT pg_advisory_xact_lock(1)');
    const longer = await holder.transaction(async (transaction) => {
      await wait(transaction);
      const patient = database.transaction(wait, { responseTimeout: 600_000 });
      expect(await refusal(database.transaction(wait))).toMatchObject(silent);
      return { patient };
    });
    await expect(longer.patient).resolves.toHaveLength(1);
    await Promise.all([database.close(), holder.close()]);
  });
});

/** A message of the server: its type, and what it holds. */
function message(type: string, ...parts: readonly (string | number)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : Buffer.from([0, 0, 0, part]))),
  );
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

describe('a database that ends a connection in the moment in which it accepts it', () => {
  test('fails the transaction, and not the program', async () => {
    const ready = Buffer.from('5a0000000549', 'hex');
    const accepted = Buffer.concat([message('R', 0), ready]);
    const ended = message('E', 'SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection', '');
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      const isFirst = connections === 1;
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(isFirst ? accepted : Buffer.concat([accepted, ended]));
        socket.on('data', () => socket.write(Buffer.concat([message('C', 'SELECT 1'), ready])));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const database = await openPostgres({
      url: new Secret(`postgres://test@127.0.0.1:${port}/test?sslmode=disable`),
      applicationName: 'test',
    });
    await database.transaction(async () => {
      const other = refusal(database.transaction(async () => undefined));
      expect(await other).toMatchObject({ code: 'database_unreachable' });
    });
    expect(connections).toBe(2);
    await database.close();
    server.close();
  });
});

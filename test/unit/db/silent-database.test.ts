import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openPostgres } from '../../../src/db/postgres.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { type PostgresProxy, startProxy } from '../../process/faults/postgres-proxy.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { refusal } from '../../support/logs.ts';

let proxy: PostgresProxy;

beforeAll(async () => {
  proxy = await startProxy(await createDatabase(inject('postgresUrl')));
});
afterAll(() => proxy[Symbol.asyncDispose]());

const open = (other: Partial<Parameters<typeof openPostgres>[0]> = {}) =>
  openPostgres({ url: new Secret(proxy.url), applicationName: 'test', responseTimeout: 400, ...other });

const silent = {
  code: 'database_unreachable',
  message: 'The database did not answer for 0.4 seconds',
  hint: expect.any(String),
};

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

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
    const taken = await seconds(async () => {
      const work = database.transaction(async (transaction) => {
        await transaction.query('SELECT 1');
        proxy.silence();
        await transaction.query('SELECT 2');
      });
      expect(await refusal(work)).toMatchObject(silent);
    });
    expect(taken).toBeLessThan(0.75);
    proxy.restore();
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });

  test('does not keep the program from ending', async () => {
    const database = await open();
    await database.query('SELECT 1');
    proxy.silence();
    expect(await seconds(() => database.close())).toBeLessThan(2.5);
    proxy.restore();
  });

  test('is not opened', async () => {
    proxy.silence();
    const url = new Secret(`${proxy.url}?connect_timeout=1`);
    const taken = await seconds(async () => {
      expect(await refusal(open({ url }))).toMatchObject({ code: 'database_unreachable' });
    });
    expect(taken).toBeLessThan(3);
    proxy.restore();
  });

  test('may take longer where the caller says so', async () => {
    const database = await open();
    const work = database.transaction((transaction) => transaction.query('SELECT pg_sleep(0.6)'), {
      responseTimeout: 5000,
    });
    await expect(work).resolves.toHaveLength(1);
    await database.close();
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

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { givenDialect } from '../../../src/app/service-environment.ts';
import { Secret } from '../../../src/domain/secret.ts';
import type { DialectName } from '../../../src/service/dialects/dialect.ts';
import { enableLocalAccounts } from '../../../src/service/enable-local-accounts.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { ADMIN, basic, Client, DATABASES, startTestService } from '../../support/service.ts';
import { API } from './world.ts';

describe.each(DATABASES)('a database of one dialect, on %s', (kind) => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tokenctl-dialect-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const empty = async (name: string) =>
    kind === 'PostgreSQL'
      ? { url: new Secret(await createDatabase(inject('postgresUrl'))) }
      : { folder: join(folder, name) };

  it('is brought up to date once, and kept', async () => {
    const database = await empty('kept');
    const first = await startTestService(kind, { database, dialect: 'gateway' });
    const made = new Client(first.url, basic(ADMIN.username, ADMIN.password));
    const { token } = (await made.post(`${API}tokens/`, { scope: 'read' })).json;
    await first.close();
    const second = await startTestService(kind, { database, dialect: 'gateway' });
    expect(second.madeAdminPassword).toBeNull();
    const caller = new Client(second.url, { authorization: `Bearer ${token}` });
    expect((await caller.get(`${API}tokens/`)).json.count).toBe(1);
    await second.close();
  });

  it.each<[DialectName, DialectName]>([
    ['controller', 'gateway'],
    ['gateway', 'controller'],
  ])('made for the %s is refused by a start for the %s, and works on', async (made, other) => {
    const database = await empty(made);
    await (await startTestService(kind, { database, dialect: made })).close();
    await expect(startTestService(kind, { database, dialect: other })).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining(`was made with --dialect ${made}`),
      hint: expect.stringContaining(`--dialect ${made}`),
    });
    const again = await startTestService(kind, { database, dialect: made });
    const admin = new Client(again.url, basic(ADMIN.username, ADMIN.password));
    expect((await admin.get(made === 'gateway' ? `${API}me/` : '/api/v2/me/')).status).toBe(200);
    await again.close();
  });

  it('has local accounts on always where it is a gateway’s', async () => {
    const database = await empty('local');
    await (await startTestService(kind, { database, dialect: 'gateway' })).close();
    expect(await enableLocalAccounts(database, new Date())).toBe(false);
  });
});

describe('the dialect in the environment', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['gateway', 'gateway'],
    ['controller', 'controller'],
  ])('%j means %j', (TOKENCTL_SERVICE_DIALECT, dialect) => {
    expect(givenDialect({ TOKENCTL_SERVICE_DIALECT })).toBe(dialect);
  });

  it('is refused where there is none of the name', () => {
    expect(() => givenDialect({ TOKENCTL_SERVICE_DIALECT: 'portal' })).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
  });
});

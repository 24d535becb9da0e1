import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { basic, Client } from '@tokenctl/testing/client.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { expect, inject, it } from 'vitest';
import { runService } from '../../../src/app/service/run-service.ts';

const REQUEST = {
  data: undefined,
  database: undefined,
  databaseFile: undefined,
  host: undefined,
  port: 0,
  sessionCookieName: undefined,
  publicUrl: undefined,
  behindProxy: undefined,
  requirePkce: undefined,
  allowImplicitGrant: undefined,
  tlsCert: undefined,
  tlsKey: undefined,
  jobsLocalConnection: undefined,
  jobsNetwork: undefined,
  jobsAsService: undefined,
  logLevel: 'silent',
} as const;

it.each(['TOKENCTL_ADMIN_PASSWORD', 'TOKENCTL_ADMIN_PASSWORD_FILE'])(
  'the service reads its secrets from %s and keeps none of them in its environment',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-secrets-'));
    const password = 'the first password of all';
    const file = join(folder, 'password');
    writeFileSync(file, `${password}\n`, { mode: 0o600 });
    const database = await createDatabase(inject('postgresUrl'));
    const environment: Record<string, string> = {
      [name]: name.endsWith('_FILE') ? file : password,
      TOKENCTL_SERVICE_DATABASE: database,
      TOKENCTL_SERVICE_SECRET_KEY: `${password}, also as a key`,
      XDG_STATE_HOME: folder,
      HOME: folder,
    };
    const kept = [password, database];
    let answered: Promise<number> | undefined;
    await runService(REQUEST, {
      environment,
      version: '0.0.0',
      attended: false,
      notify(line) {
        const url = /listens on (\S+)\. /.exec(line)?.[1];
        if (url === undefined) return;
        const admin = new Client(url, basic('admin', password));
        answered = admin.get('/api/v2/me/').then(({ status }) => status);
        answered.finally(() => process.emit('SIGTERM', 'SIGTERM')).catch(() => undefined);
      },
    });
    expect(await answered).toBe(200);
    expect(
      Object.values(environment).filter((value) => kept.some((secret) => value.includes(secret))),
    ).toEqual([]);
    expect(readFileSync(file, 'utf8')).toContain(password);
    rmSync(folder, { recursive: true });
  },
);

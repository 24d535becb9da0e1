import { afterAll, beforeAll, describe } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import type { Target } from '../../src/operations/ports/target.ts';
import { openControllerApi } from '../../src/targets/controller-api/controller-api.ts';
import type { Credential } from '../../src/targets/controller-api/credential.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { openOn } from '../support/databases.ts';
import { ADMIN } from '../support/service.ts';
import { roleWith } from '../targets/database/place.ts';
import { ContractService } from './contract-service.ts';
import { all, type Place, targetContract } from './target-contract.ts';

let service: ContractService;
let places: { readonly rest: Place; readonly database: Place };
const targets: Target[] = [];

beforeAll(async () => {
  service = await ContractService.start();
  places = { rest: await overRest(), database: await byDatabase() };
});

afterAll(async () => {
  await Promise.all(targets.map((target) => target.close()));
  await service.close();
});

function signedIn(credential: Credential): Target {
  const target = openControllerApi({
    context: 'contract',
    address: service.url,
    credential,
    verifyTls: true,
  });
  targets.push(target);
  return target;
}

async function opened(url: string): Promise<Target> {
  const target = await openDatabaseTarget({ context: 'contract', connection: new Secret(url) });
  targets.push(target);
  return target;
}

async function overRest(): Promise<Place> {
  const target = signedIn({
    kind: 'password',
    username: ADMIN.username,
    password: new Secret(ADMIN.password),
  });
  const stranger = signedIn({
    kind: 'password',
    username: ADMIN.username,
    password: new Secret('secret-wrong'),
  });
  return {
    service,
    target,
    limited: signedIn({ kind: 'password', username: 'alice', password: service.password }),
    strangers: [() => stranger.describe(), () => all(stranger.revoke([1]))],
    expected: {
      dialect: 'controller',
      version: '0.0.0',
      credential: 'password',
      transport: 'http',
      identity: { id: 1, username: ADMIN.username, isSuperuser: true, isSystemAuditor: false },
    },
    withToken: async () => {
      const { token, value } = await target.createToken({ scope: 'write', description: 'own' });
      return { target: signedIn({ kind: 'token', token: value }), tokenId: token.id };
    },
    cannot: {
      'create a token for another user': () =>
        target.createToken({ scope: 'read', description: '', user: 'alice' }),
    },
  };
}

async function byDatabase(): Promise<Place> {
  const target = await opened(service.databaseUrl);
  const database = await openOn(service.databaseUrl);
  const limited = await opened(await roleWith({ database, url: service.databaseUrl }, () => []));
  await database.close();
  const wrong = new URL(service.databaseUrl);
  wrong.password = 'secret-wrong';
  return {
    service,
    target,
    limited,
    strangers: [() => opened(wrong.href)],
    expected: {
      dialect: 'service',
      version: null,
      credential: 'database_role',
      transport: 'plain',
      identity: { id: null, username: wrong.username, isSuperuser: true, isSystemAuditor: true },
    },
    withToken: null,
    cannot: { 'create a token for nobody': () => target.createToken({ scope: 'read', description: '' }) },
  };
}

describe('a controller over its REST API', () => {
  targetContract(() => places.rest, { refreshTokens: false, sessions: false, lastUsed: false });
});

describe('a controller by way of its database', () => {
  targetContract(() => places.database, { refreshTokens: true, sessions: true, lastUsed: true });
});

import type { Database } from '@tokenctl/common/db/database.ts';
import { migrate } from '@tokenctl/common/db/migrate.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import { migrations } from '@tokenctl/service/service-database.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Finding, findingKey } from '../../../src/domain/policy/judge.ts';
import type { Policy } from '../../../src/domain/policy/policy.ts';
import type { Target } from '../../../src/operations/ports/target.ts';
import { auditTokens } from '../../../src/operations/token-audit/audit-tokens.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { emptyLog, policyWith } from '../../support/policy-facts.ts';
import { type FaultyEstate, faultyEstate, INACTIVE } from './audit-faults.ts';

const TOKENS = inject('auditedTokens');
const now = new Date();

/** What is healthy here: no one has too many, and the sample's tokens of applications may outlive them. */
const policy: Policy = policyWith({
  'too-many-per-user': { tokens: TOKENS },
  'application-secret-older-than': { days: 365 },
  'expiry-cliff': { tokens: TOKENS / 100, percent: 1 },
});

let database: Database;
let target: Target;
let planted: FaultyEstate;

beforeAll(async () => {
  const url = await createDatabase(inject('postgresUrl'));
  database = await openOn(url);
  await migrate(database, migrations);
  planted = faultyEstate({ users: 400, tokens: TOKENS }, { now, every: 50 });
  await storeEstate(database, planted.estate);
  target = await openDatabaseTarget({ context: 'planted', connection: new Secret(url) });
  await target.settings.write({
    AUTH_BASIC_ENABLED: false,
    SESSIONS_PER_USER: 5,
    OAUTH2_PROVIDER: {
      ACCESS_TOKEN_EXPIRE_SECONDS: 2_592_000,
      REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
      AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
    },
  });
});

afterAll(async () => {
  await target?.close();
  await database?.close();
});

async function keysFound(given: Policy = policy): Promise<string[]> {
  const audit = await auditTokens({
    openLog: emptyLog,
    target,
    selector: { all: true },
    policy: given,
    clock: { now: () => now },
  });
  const found: Finding[] = [];
  for await (const finding of audit.findings) found.push(finding);
  const { tokensRead, notChecked } = audit.summary();
  expect(tokensRead).toBe(TOKENS);
  // By the service's tables no one can tell whether it requires PKCE.
  expect(notChecked.map(({ rule }) => rule)).toEqual(['application-public-without-pkce']);
  return found.map(findingKey).sort();
}

/** The id of the token at a position: rows are stored in the order of the list. */
async function idsByPosition(): Promise<number[]> {
  const rows = await database.query<{ id: number }>('SELECT id FROM main_oauth2accesstoken ORDER BY id');
  return rows.map(({ id }) => id);
}

async function plantedKeys(): Promise<string[]> {
  const ids = await idsByPosition();
  return planted.faults
    .flatMap(({ position, rules }) => rules.map((rule) => `${rule} token:${ids[position] ?? 0}`))
    .sort();
}

describe(`${TOKENS} tokens of the demo's generator with known faults`, () => {
  test('every planted fault is found, and none invented', async () => {
    const expected = await plantedKeys();
    expect(expected.length).toBeGreaterThan(TOKENS / 50);
    expect(await keysFound()).toEqual(expected);
  });

  test('so are the faults of applications, refresh tokens, settings and many tokens together', async () => {
    const [user] = await database.query<{ id: number }>(
      'SELECT id FROM auth_user ORDER BY id OFFSET 30 LIMIT 1',
    );
    const [application] = await database.query<{ id: number }>(
      "UPDATE main_oauth2application SET authorization_grant_type = 'implicit' WHERE name = 'Legacy portal' RETURNING id",
    );
    const [secret] = await database.query<{ id: number }>(
      "UPDATE main_oauth2application SET created = now() - interval '400 days' WHERE name = 'Reporting' RETURNING id",
    );
    const [orphan] = await database.query<{ id: number }>(
      `UPDATE oauth2_provider_refreshtoken SET access_token_id = NULL
       WHERE id = (SELECT min(id) FROM oauth2_provider_refreshtoken) RETURNING id`,
    );
    await database.execute(
      `UPDATE main_oauth2accesstoken SET description = 'twice', user_id = $1, application_id = NULL
       WHERE id IN (SELECT id FROM main_oauth2accesstoken ORDER BY id OFFSET 1 LIMIT 2)`,
      [user?.id],
    );
    await target.settings.write({ AUTH_BASIC_ENABLED: true });
    const before = new Set(await plantedKeys());
    const more = (await keysFound()).filter((key) => !before.has(key));
    expect(
      more.map((key) => key.replace(/:\w+$/, (tail) => (key.startsWith('duplicate') ? '' : tail))),
    ).toEqual([
      `application-implicit application:${application?.id}`,
      `application-secret-older-than application:${secret?.id}`,
      'basic-auth-on setting:AUTH_BASIC_ENABLED',
      `duplicate-purpose purpose:${user?.id}:0`,
      `refresh-orphaned refresh-token:${orphan?.id}`,
    ]);
  });

  test('an exception excuses what it is meant for, and nothing else', async () => {
    const { username = '' } = planted.estate.users[INACTIVE] ?? {};
    const exceptions = [{ user: username, reason: 'leaves in December' }];
    const excepting = policyWith({ ...policy, 'owner-inactive': { exceptions } });
    const keys = await keysFound(excepting);
    expect(keys.filter((key) => key.startsWith('owner-inactive'))).toEqual([]);
    expect(keys.filter((key) => key.startsWith('write-scope')).length).toBeGreaterThan(TOKENS / 250);
  });
});

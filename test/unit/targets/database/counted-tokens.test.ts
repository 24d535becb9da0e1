import { randomUUID } from 'node:crypto';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { WHITESPACE } from '../../../../src/domain/policy/condition.ts';
import type { AuditSummary } from '../../../../src/domain/policy/judge.ts';
import { defaultPolicy, type Policy } from '../../../../src/domain/policy/policy.ts';
import type { Selector } from '../../../../src/domain/selector.ts';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { auditTokens } from '../../../../src/operations/token-audit/audit-tokens.ts';
import { openDatabaseTarget } from '../../../../src/targets/database/database-target.ts';
import { makeGatewayTables } from '../../../support/gateway-tables.ts';
import { policyWith } from '../../../support/policy-facts.ts';
import { ALICE, GITHUB, LAYOUTS, LEAVER, testDatabase } from '../../../support/test-database.ts';

const now = new Date('2026-11-20T12:34:56.789Z');
/** More than two pages. */
const TOKENS = 4500;

/** SQL for one of several values, another for each row. */
function oneOf(values: readonly string[]): string {
  return `(ARRAY[${values.join(', ')}])[1 + floor(random() * ${values.length})::int]`;
}

/** Instants on both sides of the limits of rules, as exact as a database stores them, and far from every one. */
function instants(days: readonly number[]): string {
  const at = `'${now.toISOString()}'::timestamptz`;
  const near = ['0', "interval '1 microsecond'", "interval '999 microseconds'", "interval '1 millisecond'"];
  const around = days.flatMap((count) =>
    near.flatMap((step) => {
      const limit = `${at} + ${count} * interval '24 hours'`;
      return step === '0' ? [limit] : [`${limit} + ${step}`, `${limit} - ${step}`];
    }),
  );
  const far = [
    'infinity',
    '-infinity',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999Z',
    '12345-06-07T08:09:10Z',
  ];
  return oneOf([...around, ...far.map((text) => `'${text}'::timestamptz`)]);
}

const ODD = {
  expires: instants([0, -1, 1, 36_525, 366, 30]),
  created: instants([0, -30, -90, -366, -0.5, 10]),
  last_used: oneOf(['NULL', 'NULL', `${instants([0, -30, -90, -0.5, 5])}`]),
  scope: oneOf([
    "'write'",
    "'read'",
    "'read write'",
    "''",
    "'writes'",
    "'read  write'",
    "'WRITE'",
    "' write'",
  ]),
  description: oneOf([
    "''",
    "' '",
    "E'\\t\\n'",
    "U&'\\00A0\\2003\\FEFF'",
    "U&'\\00A0x'",
    "U&'\\200B'",
    "'nightly'",
    "'nightly '",
    "'O''Brien \"quoted\" \\ '",
    "'deploy ' || floor(random() * 40)",
  ]),
  user_id: oneOf(['NULL', String(ALICE), String(LEAVER), '3', '4', '5']),
  application_id: oneOf(['NULL', 'NULL', String(GITHUB), '2']),
};

/** The target as one that decides nothing, so that every rule is judged in place. */
function judgingInPlace(target: Target): Target {
  return new Proxy(target, {
    get(of, member) {
      if (member === 'countTokens') return undefined;
      const value: unknown = Reflect.get(of, member);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
}

async function summaryOf(
  target: Target,
  { policy = defaultPolicy, selector = { all: true } }: { policy?: Policy; selector?: Selector } = {},
): Promise<{ summary: AuditSummary; handedOut: number }> {
  const audit = await auditTokens({ target, selector, policy, clock: { now: () => now }, countOnly: true });
  let handedOut = 0;
  for await (const { subject } of audit.findings) if (subject.kind === 'token') handedOut += 1;
  return { summary: audit.summary(), handedOut };
}

const exceptions = [
  { user: 'alice', application: 'git*', reason: 'agreed' },
  { description: 'night?y', reason: 'agreed' },
  { user: '*', description: 'deploy 1*', reason: 'agreed' },
];
const users = ['a*', 'ldap'];
/** Every rule that looks at a token by itself but the one that has to see it whole. */
const strict = policyWith({
  'lifetime-over': { days: 366, exceptions, severity: 'critical' },
  'never-used': { days: 0.5, exceptions },
  'unused-for': { days: 90, exceptions },
  'never-expires': { exceptions },
  'write-scope': { exceptions },
  'write-unneeded': { enabled: true, days: 30 },
  'no-description': { exceptions: [{ reason: 'all of them' }] },
  'personal-token-of-service-account': { users },
  'application-token-of-person': { enabled: true, users, exceptions },
  'expired-present': { exceptions },
  'duplicate-purpose': { exceptions },
  'too-many-per-user': { tokens: 200, exceptions: [{ user: 'alice', reason: 'many' }] },
  'expiry-cliff': { tokens: 5, percent: 1 },
});

describe.each(kinds(LAYOUTS))('an audit that the database of a %s decides', (layout) => {
  const place = testDatabase(layout);
  let ids: readonly number[] = [];

  beforeAll(async () => {
    ids = await place.tokens(TOKENS, ODD);
    for (const id of ids.slice(0, 5)) await place.refreshToken(id);
  });

  const cases: readonly [string, { policy?: Policy; selector?: () => Selector }][] = [
    ['the default policy', {}],
    ['every rule, with exceptions', { policy: strict }],
    [
      'rules that leave a finding to no other',
      { policy: policyWith({ 'never-used': { enabled: false }, 'never-expires': { enabled: false } }) },
    ],
    ['some users', { policy: strict, selector: () => ({ users: ['alice', 'leaver'] }) }],
    [
      'all but some users and applications',
      { selector: () => ({ scope: 'write', notUsers: ['a*'], notApplications: ['gitlab'] }) },
    ],
    ['a list of ids', { policy: strict, selector: () => ({ ids: ids.filter((id) => id % 2 === 0) }) }],
    ['a scope and an age', { selector: () => ({ scope: 'write', createdBefore: now, neverUsed: true }) }],
    ['nobody', { selector: () => ({ users: ['radius'] }) }],
  ];
  test.each(cases)('counts as one that is judged in place: %s', async (whose, { policy, selector }) => {
    const wanted = { ...(policy && { policy }), ...(selector && { selector: selector() }) };
    const inPlace = await summaryOf(judgingInPlace(place.target), wanted);
    const decided = await summaryOf(place.target, wanted);
    expect(decided.summary).toEqual(inPlace.summary);
    expect(decided.handedOut).toBe(0);
    expect(inPlace.summary.tokensRead > 0).toBe(whose !== 'nobody');
  });

  // A gateway does not tell how long its refresh tokens live.
  test.skipIf(layout === 'gateway')('is judged in place if a rule has to see tokens whole', async () => {
    const policy = policyWith({ 'refresh-outlives-access': { enabled: true } });
    const { summary, handedOut } = await summaryOf(place.target, { policy });
    expect(handedOut).toBeGreaterThan(0);
    expect(summary).toEqual((await summaryOf(judgingInPlace(place.target), { policy })).summary);
  });
});

test('white space is what JavaScript trims', () => {
  const all = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code));
  expect([...WHITESPACE].sort()).toEqual(all.filter((character) => character.trim() === '').sort());
});

test('a database of another encoding than UTF-8 leaves it to be judged in place', async () => {
  const server = await openOn(inject('postgresUrl'));
  const name = `ascii_${randomUUID().replaceAll('-', '')}`;
  await server.execute(
    `CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );
  await server.close();
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const database = await openOn(url.href);
  await makeGatewayTables(database);
  const target = await openDatabaseTarget({ context: 'ascii', connection: new Secret(url.href) });
  const told: number[] = [];
  const isDecided = await target.countTokens?.({ all: true }, [], ({ id }) => told.push(id));
  await Promise.all([target.close(), database.close()]);
  expect([isDecided, told]).toEqual([false, []]);
});

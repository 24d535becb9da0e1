import { appendFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { listLog } from '../../../src/operations/audit-log/list-log.ts';
import { verifyLog } from '../../../src/operations/audit-log/verify-log.ts';
import { checkTarget } from '../../../src/operations/contexts/check-target.ts';
import { externalUserNames } from '../../../src/operations/revocation/plan-revocation.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { fixture } from '../../support/fixture.ts';
import { databaseDescription, description, MemoryTarget, user } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe('checkTarget', () => {
  async function warnings(other: Parameters<typeof description>[0]) {
    const target = new MemoryTarget();
    target.describe = () => Promise.resolve(description(other));
    return (await checkTarget({ target, clock: stillClock })).warnings.join('\n');
  }

  test('has nothing to warn of for a superuser with a token over https', async () => {
    expect(await warnings({})).toBe('');
    expect(await warnings({ transport: 'http', address: 'http://127.0.0.1:8052' })).toBe('');
    expect(await warnings(databaseDescription())).toBe('');
    const address = 'postgresql://127.0.0.1:5432/awx';
    expect(await warnings({ ...databaseDescription(), transport: 'plain', address })).toBe('');
  });

  test.each([
    [{ transport: 'http', address: 'http://controller.example.org' }, 'not encrypted'],
    [{ transport: 'https_unverified' }, 'certificate is not verified'],
    [{ credential: 'password' }, 'basic authentication'],
    [
      {
        identity: { id: 2, username: 'alice', isSuperuser: false, isSystemAuditor: false },
        visibility: {
          kind: 'part',
          tokens: 'their own tokens',
          users: 'itself',
          applications: 'its own applications',
          organizations: [],
        },
      },
      'alice can see only their own tokens, and no settings.',
    ],
    [{ identity: { id: 2, username: 'audrey', isSuperuser: false, isSystemAuditor: true } }, 'auditor'],
    [{ transport: 'plain', address: 'postgresql://db.example.org:5432/awx' }, 'not encrypted'],
    [{ transport: 'tls_unverified' }, 'database could be impersonated'],
  ] as const)('warns with %o', async (other, words) => {
    expect(await warnings(other)).toContain(words);
  });
});

describe("the expiry of the caller's own token", () => {
  const now = stillClock.now().getTime();

  async function checked(minutes: readonly number[], other: Parameters<typeof description>[0] = {}) {
    const target = new MemoryTarget();
    target.self = description(other);
    target.own = minutes.map((_, index) => index + 1);
    for (const [index, left] of minutes.entries()) {
      target.alive.set(index + 1, token({ id: index + 1, expires: new Date(now + left * 60_000) }));
    }
    const { ownToken, warnings } = await checkTarget({ target, clock: stillClock });
    return { ownToken, warnings };
  }

  test('is told, and warned of with less than an hour left', async () => {
    expect(await checked([61])).toEqual({
      ownToken: { ids: [1], earliest: new Date(now + 3_660_000), latest: new Date(now + 3_660_000) },
      warnings: [],
    });
    expect((await checked([59])).warnings).toEqual(['The token of this context expires in 59 minutes.']);
    expect((await checked([0.5])).warnings).toEqual([
      'The token of this context expires in less than a minute.',
    ]);
  });

  test('is that of the first to expire where it may be one of several', async () => {
    const { ownToken, warnings } = await checked([600, 20]);
    expect(ownToken).toMatchObject({ ids: [1, 2], earliest: new Date(now + 20 * 60_000) });
    expect(warnings).toEqual([
      'The token of this context may expire in 20 minutes: it is one of the tokens 1, 2.',
    ]);
  });

  test('is unknown without a token, and where the target does not list it', async () => {
    expect((await checked([20], { credential: 'password' })).ownToken).toBeNull();
    expect((await checked([])).ownToken).toBeNull();
  });
});

test('checkTarget tells a role’s missing rights by purpose, and nothing of passwords or superusers', async () => {
  const target = new MemoryTarget();
  const grant = (what: string) => `GRANT ${what} TO tokenctl`;
  target.self = {
    ...databaseDescription(),
    identity: { id: null, username: 'tokenctl', isSuperuser: false, isSystemAuditor: false },
    missingRights: [
      { purpose: 'revoke', grant: grant('DELETE ON main_oauth2accesstoken') },
      { purpose: 'revoke', grant: grant('INSERT ON main_activitystream') },
      { purpose: 'settings', grant: grant('UPDATE ON conf_setting') },
    ],
  };
  expect((await checkTarget({ target, clock: stillClock })).warnings).toEqual([
    'The role tokenctl cannot revoke tokens.',
    'The role tokenctl cannot change settings.',
  ]);
});

test('externalUserNames names those who come from an identity provider', async () => {
  const target = new MemoryTarget();
  target.people.push(
    user(9, 'zoe', { externalAccount: 'social' }),
    user(8, 'erin', { externalAccount: 'ldap' }),
  );
  expect(await externalUserNames({ target })).toEqual(['erin', 'zoe']);
});

describe('the log', () => {
  test('is listed by operation, kind, run, time, and from the end', async () => {
    await using at = await fixture();
    for (const operation of ['tokens.revoke', 'settings.basic-auth', 'tokens.create', 'tokensmith.x']) {
      await at.log.append(draft({ operation }));
    }
    const list = async (criteria: object) =>
      (await collected(listLog({ log: at.log, ...criteria }))).map(({ seq }) => seq);
    expect(await list({})).toEqual([1, 2, 3, 4]);
    expect(await list({ operation: 'tokens' })).toEqual([1, 3]);
    expect(await list({ operation: 'tokens.create' })).toEqual([3]);
    expect(await list({ last: 2 })).toEqual([3, 4]);
    expect(await list({ operation: 'tokens', last: 1 })).toEqual([3]);
    expect(await list({ kind: 'intent' })).toEqual([]);
    expect(await list({ since: new Date('2026-11-20T10:00:00.001Z') })).toEqual([]);
    expect(await list({ since: new Date('2026-11-20T10:00:00.000Z') })).toHaveLength(4);
  });

  test('is verified, and the break named', async () => {
    await using at = await fixture();
    await at.log.append(draft());
    expect(await verifyLog({ log: at.log })).toMatchObject({ entries: 1, tornBytes: 0, head: { size: 1 } });
    await appendFile(at.path, 'garbage\n');
    await expect(verifyLog({ log: at.log })).rejects.toMatchObject({
      code: 'log_broken',
      details: { line: 2, seq: null, problem: 'unreadable', entries: 1 },
    });
  });
});

import { expect, test } from 'vitest';
import { TokenctlError } from '../../src/core/errors.ts';
import type { Outcome } from '../../src/core/plan.ts';
import type { Token } from '../../src/core/token.ts';
import type { Target } from '../../src/operations/ports.ts';

/** A place to try a target in: a controller with users `alice` (local) and `leaver` (deactivated). */
export interface Place {
  /** A target signed in as a superuser with a password. */
  readonly target: Target;
  /** The same signed in with a bearer token, and that token's id. */
  withToken(): Promise<{ target: Target; tokenId: number }>;
  /** A target whose credential is wrong. */
  readonly stranger: Target;
  /** A target signed in as `alice`, who is no superuser. */
  readonly asAlice: Target;
  /** Makes that many tokens of alice. Resolves with their ids, ascending. */
  makeTokens(count: number, scope?: 'read' | 'write'): Promise<number[]>;
  /** Puts a token's last use that many days back. */
  age(tokenId: number, days: number): Promise<void>;
}

/** What every target must do, whichever way it reaches its controller. */
export function targetContract(place: () => Place): void {
  test('describes who answers and who asks', async () => {
    const description = await place().target.describe();
    expect(description).toMatchObject({
      dialect: 'controller',
      credential: 'password',
      identity: { username: 'admin', isSuperuser: true },
      capabilities: { settings: true, createTokens: true },
    });
    expect(description.version).toMatch(/\d/);
  });

  test('lists each selected token once, ascending, also beyond a page', async () => {
    const made = await place().makeTokens(230);
    const listed = await idsOf(place().target.tokens({ users: ['alice'] }));
    expect(listed).toEqual([...listed].sort((a, b) => a - b));
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed).toEqual(expect.arrayContaining(made));
    expect(await idsOf(place().target.tokens({ ids: made }))).toEqual(made);
  });

  test('selects by scope, age, expiry and several criteria together', async () => {
    const { target } = place();
    const [reading = 0] = await place().makeTokens(1, 'read');
    const [writing = 0] = await place().makeTokens(1, 'write');
    const among = async (criteria: object) => idsOf(target.tokens({ ids: [reading, writing], ...criteria }));
    const [past, future] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)];
    expect(await among({ scope: 'read' })).toEqual([reading]);
    expect(await among({ scope: 'write' })).toEqual([writing]);
    expect(await among({ createdBefore: past })).toEqual([]);
    expect(await among({ createdBefore: future })).toEqual([reading, writing]);
    expect(await among({ expiredAt: future })).toEqual([]);
    expect(await among({ users: ['admin'] })).toEqual([]);
    expect(await among({ users: ['alice', 'admin'], scope: 'write' })).toEqual([writing]);
  });

  test('selects by last use: used before, or never used and older', async () => {
    const [used = 0, unused = 0, never = 0] = await place().makeTokens(3);
    await place().age(used, 1);
    await place().age(unused, 100);
    const since = (days: number) => new Date(Date.now() - days * 86_400_000);
    const among = (unusedSince: Date) =>
      idsOf(place().target.tokens({ ids: [used, unused, never], unusedSince }));
    expect(await among(since(90))).toEqual([unused]);
    expect(await among(since(0))).toEqual([used, unused, never]);
  });

  test('revokes what exists, and leaves what is gone unchanged', async () => {
    const { target } = place();
    const made = await place().makeTokens(150);
    const gone = made.slice(0, 5);
    await outcomesOf(target, gone);
    const outcomes = await outcomesOf(target, made);
    expect(outcomes).toHaveLength(made.length);
    expect(outcomes.filter(({ result }) => result === 'unchanged').map(({ tokenId }) => tokenId)).toEqual(
      expect.arrayContaining(gone),
    );
    expect(outcomes.filter(({ result }) => result === 'revoked')).toHaveLength(145);
    expect(await idsOf(target.tokens({ ids: made }))).toEqual([]);
  });

  test('knows the caller’s own token among the candidates', async () => {
    const { target, tokenId } = await place().withToken();
    expect(await target.ownTokenIds()).toContain(tokenId);
    expect(await place().target.ownTokenIds()).toEqual([]);
    await outcomesOf(target, [tokenId]);
    await expect(target.describe()).rejects.toMatchObject({ code: 'credentials_refused' });
  });

  test('creates a token whose value works once it is given', async () => {
    const { token, value } = await place().target.createToken({ scope: 'read', description: 'contract' });
    expect(token).toMatchObject({ scope: 'read', description: 'contract', application: null });
    expect(value.reveal().length).toBeGreaterThan(20);
    expect(token.fingerprint).toMatch(/^[0-9a-f]{12}$/);
    await outcomesOf(place().target, [token.id]);
  });

  test('lists users, also by name and the deactivated ones alone', async () => {
    const { target } = place();
    const names = async (selector?: Parameters<Target['users']>[0]) => {
      const found: string[] = [];
      for await (const { username } of target.users(selector)) found.push(username);
      return found;
    };
    expect(await names()).toEqual(expect.arrayContaining(['admin', 'alice', 'leaver']));
    expect(await names({ names: ['alice', 'nobody'] })).toEqual(['alice']);
    expect(await names({ inactive: true })).toEqual(['leaver']);
  });

  test('reads and writes settings', async () => {
    const { settings } = place().target;
    const before = await settings.read();
    const changed = { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: !before.ALLOW_OAUTH2_FOR_EXTERNAL_USERS };
    expect(await settings.write(changed)).toEqual({ ...before, ...changed });
    expect(await settings.read()).toEqual({ ...before, ...changed });
    expect(await settings.write(before)).toEqual(before);
  });

  test('says that a credential is refused, and that a right is missing', async () => {
    await expect(place().stranger.describe()).rejects.toMatchObject({ code: 'credentials_refused' });
    await expect(place().asAlice.settings.read()).rejects.toMatchObject({ code: 'permission_refused' });
    await expect(outcomesOf(place().stranger, [1])).rejects.toMatchObject({ code: 'credentials_refused' });
  });

  test('gives no secret away in its errors', async () => {
    const error: unknown = await place()
      .stranger.describe()
      .catch((reason: unknown) => reason);
    if (!(error instanceof TokenctlError)) throw error;
    expect(JSON.stringify([error.message, error.hint, error.details])).not.toContain('secret');
  });
}

async function idsOf(tokens: AsyncIterable<Token>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { id } of tokens) ids.push(id);
  return ids;
}

async function outcomesOf(target: Target, tokenIds: readonly number[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for await (const outcome of target.revoke(tokenIds)) outcomes.push(outcome);
  return outcomes;
}

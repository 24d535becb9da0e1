import { TokenctlError } from '@tokenctl/common/errors.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import { revocationEnding } from '../../../src/cli/revocation/revocation-ending.ts';
import { type ApprovalRule, signApproval } from '../../../src/domain/approval.ts';
import { generateNoteKey, parseSigner } from '../../../src/domain/note-key.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { findApplied, requireApproved } from '../../../src/operations/revocation/approve-plan.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import {
  digestOf,
  planFromSaved,
  type SavedPlan,
  savePlan,
} from '../../../src/operations/revocation/saved-plan.ts';
import { documentText } from '../../../src/reports/document.ts';
import { incidentFixture } from '../../support/incident-fixture.ts';

type Fixture = Awaited<ReturnType<typeof incidentFixture>>;

/** Saves the plan to revoke everything of alice, as it is after JSON. */
async function saved(at: Fixture): Promise<SavedPlan> {
  const { target, description, clock, actor: by } = at.common;
  const plan = await planRevocation({ target, clock, description, selector: { users: ['alice'] } });
  const made = await savePlan({ plan, includeOwn: false, target, description, at: clock.now(), by });
  return JSON.parse(JSON.stringify(made)) as SavedPlan;
}

const apply = (at: Fixture, plan: SavedPlan) => planFromSaved({ ...at.common, saved: plan });

describe('a saved plan', () => {
  test('says what tells its tokens from others, and is applied as it was made', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    expect(file).toMatchObject({ made: { by: at.common.actor }, digest: digestOf(file) });
    expect(file.accessTokens[0]).toMatchObject({ user: { username: 'alice' }, created: expect.any(String) });
    const planned = file.accessTokens.map(({ id }) => id);
    const [, other] = [...at.target.alive.values()].filter(({ id }) => planned.includes(id));
    if (other !== undefined) at.target.alive.set(99, { ...other, id: 99 });
    const plan = await apply(at, file);
    expect(plan.tokenIds).toEqual(planned);
    const report = await revokeTokens({ ...at.common, plan });
    expect(report).toMatchObject({ verified: true, plan: { digest: file.digest } });
    expect(report.revoked).toBe(planned.length);
    expect([...at.target.alive.keys()]).toContain(99);
    const [opening] = await at.entries();
    expect(opening?.data).toMatchObject({ plan: { digest: file.digest } });

    const again = await apply(at, file);
    expect(again).toMatchObject({
      tokenIds: [],
      refreshTokenIds: [],
      saved: { gone: { accessTokens: planned } },
    });
  });

  test('that fails in part says what is left, and is finished by applying it again', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    const [stuck = 0, ...others] = file.accessTokens.map(({ id }) => id);
    expect(others).not.toEqual([]);
    at.target.onRevoke = (id) => (id === stuck ? 'failed' : undefined);
    const report = await revokeTokens({ ...at.common, plan: await apply(at, file) });
    expect(report).toMatchObject({
      planned: others.length + 1,
      revoked: others.length,
      failed: [{ tokenId: stuck, reason: 'as told' }],
      stillAlive: [stuck],
      verified: false,
      plan: { digest: file.digest, gone: { accessTokens: [] } },
    });
    const { failure, document } = revocationEnding(report);
    expect(failure).toMatchObject({ code: 'partly_done' });
    expect(documentText(document)).toContain(`Failed: access token ${stuck}: as told`);

    at.target.onRevoke = () => undefined;
    const rest = await apply(at, file);
    expect(rest).toMatchObject({ tokenIds: [stuck], saved: { gone: { accessTokens: others } } });
    const done = revocationEnding(await revokeTokens({ ...at.common, plan: rest }));
    expect(done.failure).toBeUndefined();
    expect(documentText(done.document)).toContain(`Already gone: ${others.length} access tokens in the plan`);
  });

  test('is refused where an id belongs to another token, and nothing is changed', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    const [first] = file.accessTokens;
    const token = at.target.alive.get(first?.id ?? 0);
    if (token === undefined) throw new Error('no token');
    for (const change of [
      { created: new Date(token.created.getTime() + 1) },
      { user: { id: 77, username: 'alice' } },
      { fingerprint: 'ffffffffffff' },
    ]) {
      at.target.alive.set(token.id, { ...token, fingerprint: 'aaaaaaaaaaaa', ...change });
      const plan = {
        ...file,
        accessTokens: file.accessTokens.map((each) => ({ ...each, fingerprint: 'aaaaaaaaaaaa' })),
      };
      await expect(apply(at, plan)).rejects.toMatchObject({ code: 'plan_outdated' });
    }
    // A name may change, and a context without fingerprints tells none.
    at.target.alive.set(token.id, {
      ...token,
      fingerprint: null,
      user: token.user && { ...token.user, username: 'al' },
    });
    expect((await apply(at, file)).tokenIds).toContain(token.id);
    expect(await at.entries()).toEqual([]);
  });

  test('is refused on another controller, and where refresh tokens cannot be revoked', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    const elsewhere = { ...file, target: { context: 'west', address: 'https://west.example.org' } };
    await expect(apply(at, elsewhere)).rejects.toMatchObject({ code: 'plan_outdated' });
    at.target.lacks = ['refreshTokens'];
    await expect(planFromSaved({ ...at.common, saved: file })).rejects.toMatchObject({ code: 'unsupported' });
  });

  test('of what is gone is not said to be gone by an account that sees part', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    at.target.alive.delete(file.accessTokens[0]?.id ?? 0);
    expect(await apply(at, file)).toMatchObject({ notSeen: null });
    const part = {
      kind: 'part',
      tokens: 'their own tokens',
      users: '',
      applications: '',
      organizations: [],
    } as const;
    const description = { ...at.common.description, visibility: part };
    expect(await planFromSaved({ ...at.common, description, saved: file })).toMatchObject({
      notSeen: expect.stringContaining('can see only their own tokens'),
    });
  });

  test('with an approval may be applied until nothing is left of it, and then no more', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    const bob = parseSigner(generateNoteKey('bob'));
    const rule: ApprovalRule = {
      ...{
        required: true,
        approvers: { bob: bob.verifier.text },
        aloneUpTo: 0,
        validFor: 60,
        breakGlass: true,
      },
    };
    const now = at.common.clock.now();
    const { note } = signApproval({
      ...{ plan: file, rule, signer: bob, now, validFor: 60, actor: { user: 'bob', host: 'ops2' } },
    });
    const approve = () =>
      requireApproved({ plan: file, note, rule, now, log: at.log, actor: { user: 'alice', host: 'ops1' } });
    const [stuck = 0] = file.accessTokens.map(({ id }) => id);
    at.target.onRevoke = (id) => (id === stuck ? 'failed' : undefined);
    const first = await revokeTokens({
      ...{ ...at.common, plan: await apply(at, file), approval: await approve() },
    });
    expect(first.failed).toHaveLength(1);
    const [opening] = await at.entries();
    expect(opening?.data).toMatchObject({ approval: { by: 'bob', plan: file.digest } });

    at.target.onRevoke = () => undefined;
    const approval = await approve();
    const rest = await revokeTokens({ ...at.common, plan: await apply(at, file), approval });
    expect(rest).toMatchObject({ revoked: 1, verified: true });
    await expect(approve()).rejects.toMatchObject(refused('plan_outdated', rest.run));
  });

  test('of a lockdown is not applied by the revocation within it', async () => {
    await using at = await incidentFixture('database');
    const digest = 'a1'.repeat(32);
    const find = () => findApplied(at.log, { format: 'tokenctl-lockdown-plan', digest });
    at.files.create = () => Promise.reject(new TokenctlError('configuration', 'The disk is full'));
    const approval = { breakGlass: true, plan: digest } as const;
    const done = await lockDown({ ...at.common, files: at.files, approval, plan: await at.plan() });
    expect(done.result).toBe('partly');
    expect((await at.entries()).filter(({ operation }) => operation === 'tokens.revoke')).not.toEqual([]);
    expect(await find()).toMatchObject({ run: done.run, isDone: false });
  });

  test('that was edited has another digest', async () => {
    await using at = await incidentFixture('database');
    const file = await saved(at);
    const edited = { ...file, accessTokens: file.accessTokens.slice(1) };
    expect(digestOf(edited)).not.toBe(file.digest);
  });
});

import { describe, expect, test } from 'vitest';
import {
  type ApprovablePlan,
  type ApprovalRule,
  openApproval,
  requireAnother,
  signApproval,
} from '../../../src/domain/approval.ts';
import { generateNoteKey, parseSigner, signNote } from '../../../src/domain/note-key.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

const [alice, bob, mallory] = ['alice', 'bob', 'mallory'].map((name) => parseSigner(generateNoteKey(name)));
if (alice === undefined || bob === undefined || mallory === undefined) throw new Error('no keys');

const rule: ApprovalRule = {
  required: true,
  approvers: { alice: alice.verifier.text, bob: bob.verifier.text },
  aloneUpTo: 0,
  validFor: 3600,
  breakGlass: true,
};
const plan: ApprovablePlan = {
  digest: 'a1'.repeat(32),
  made: { at: '2026-03-01T11:00:00.000Z', by: { user: 'alice', host: 'ops1', as: 'admin' } },
};
const BY_BOB = { user: 'root', sudo_user: 'bob', host: 'ops2' };

const sign = (more: Partial<Parameters<typeof signApproval>[0]> = {}) =>
  signApproval({ plan, rule, signer: bob, actor: BY_BOB, now: NOW, validFor: 3600, ...more });
const open = (note: string, more: Partial<Parameters<typeof openApproval>[1]> = {}) =>
  openApproval(note, { plan, rule, now: later(60), ...more });

describe('an approval', () => {
  test('names plan, approver, key, user, time and end, and is read as it was signed', () => {
    const { note, approval } = sign();
    expect(approval).toEqual({
      plan: plan.digest,
      by: 'bob',
      key: `bob+${bob.verifier.id.toString('hex')}`,
      ...{ user: 'bob', host: 'ops2', at: NOW.toISOString(), expires: later(3600).toISOString() },
    });
    expect(open(note)).toEqual(approval);
  });

  test('is refused once it expired, by its own time or by the rule of now', () => {
    const { note } = sign();
    expect(() => open(note, { now: later(3600) })).toThrow('The approval by bob has expired');
    expect(() => open(sign({ validFor: 600 }).note, { now: later(600) })).toThrow('expired');
    expect(() => open(note, { rule: { ...rule, validFor: 50 } })).toThrow('expired');
    expect(() => sign({ validFor: 3601 })).toThrow('valid for at most 3600 seconds');
  });

  test('is refused from a clock that is ahead, and from before the plan', () => {
    const { note } = sign();
    expect(() => open(note, { now: later(-301) })).toThrow('impossible time');
    const made = { ...plan.made, at: later(301).toISOString() };
    expect(() => open(note, { plan: { ...plan, made } })).toThrow('impossible time');
  });

  test('is refused of another plan, by another key, and if anything in it was changed', () => {
    const { note } = sign();
    expect(() => open(note, { plan: { ...plan, digest: 'b2'.repeat(32) } })).toThrow('for another plan');
    const { bob: _, ...others } = rule.approvers;
    expect(() => open(note, { rule: { ...rule, approvers: others } })).toThrow('not signed by an approver');
    expect(() => sign({ signer: mallory })).toThrow('does not belong to an approver');
    for (const [from, to] of [
      ['user bob', 'user carol'],
      ['expires 2026', 'expires 2027'],
      ['a1a1', 'b2b2'],
    ]) {
      expect(() => open(note.replace(from ?? '', to ?? ''))).toThrow('not signed by an approver');
    }
    const byName = signNote(note.split('\n\n')[0] ?? '', [parseSigner(generateNoteKey('bob'))]);
    expect(() => open(byName)).toThrow(/not signed by an approver|not an approval/);
  });

  test('is not a checkpoint, nor any other note of the key', () => {
    const note = signNote(`bob\n12\n${Buffer.alloc(32).toString('base64')}\n`, [bob]);
    expect(() => open(note)).toThrow('not an approval of a plan');
    expect(() => open('')).toThrow('not an approval of a plan');
  });

  test('is of another person than the maker: by name, by user, and by account on the controller', () => {
    expect(() => sign({ signer: alice })).toThrow('You cannot approve your own plan, alice');
    expect(() => sign({ actor: { user: 'Alice', host: 'ops9' } })).toThrow('bob (user alice)');
    const made = (by: Record<string, string>) => ({ ...plan, made: { ...plan.made, by } });
    expect(() => sign({ plan: made({ user: 'root', sudo_user: 'bob' }) })).toThrow('a second person');
    expect(() => sign({ plan: made({ user: 'ops', as: 'bob' }) })).toThrow('a second person');
    // An environment variable does not hide who is logged in.
    expect(() => sign({ plan: made({ user: 'bob', sudo_user: 'zoe' }) })).toThrow('a second person');
    // What a signer says of itself is checked again when the plan is applied.
    const { note } = sign();
    expect(() => open(note, { plan: made({ user: 'bob' }) })).toThrow('a second person');
    // Root says nothing about the person behind sudo.
    expect(sign({ plan: made({ user: 'root', sudo_user: 'alice' }) }).approval.by).toBe('bob');
  });

  test('cannot be applied by the person who gave it', () => {
    const { approval } = sign();
    const applies = (who: Record<string, string>) => () => requireAnother(approval, { who, did: 'applies' });
    expect(applies({ user: 'bob', host: 'ops1' })).toThrow('that you approved, bob');
    expect(applies({ user: 'alice', host: 'ops1' })).not.toThrow();
  });
});

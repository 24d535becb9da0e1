import type { Secret } from '../../domain/secret.ts';
import type { Work } from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';
import { takeStep } from './step.ts';
import type { Door } from './verify-doors.ts';

/**
 * Has a token made, revokes it and presents it: a revoked token must be refused by the next request. It is the
 * caller's, with the scope read, and its description names the incident: one that a killed process left behind
 * is revoked here as well.
 *
 * @throws TokenctlError as `takeStep`.
 */
export async function probeToken(work: Work, incident: string): Promise<Door> {
  const { target } = work;
  const description = `tokenctl: probe of ${incident}`;
  let door = doorOf('not_tried', 'Not tried: no token could be made for it.');
  await takeStep(work, {
    name: 'probe',
    title: 'Trying a revoked token',
    common: { incident },
    intent: { description },
    act: async () => {
      const { token, value } = await target.createToken({ scope: 'read', description });
      const left = token.user === null ? [] : await probesOf(target, token.user.username, description);
      const ids = [...new Set([...left, token.id])];
      const problem = await revoked(target, ids);
      if (problem === null) door = await presented(target, value);
      else door = doorOf('not_tried', `Not tried: the token for it was not revoked: ${problem}.`);
      return {
        result: door.state === 'shut' ? 'done' : 'partly',
        message: door.how,
        data: { tokens: ids, accepted: door.state === 'open' },
      };
    },
  });
  return door;
}

async function probesOf(target: Target, user: string, description: string): Promise<number[]> {
  const ids: number[] = [];
  for await (const token of target.tokens({ users: [user] })) {
    if (token.description === description) ids.push(token.id);
  }
  return ids;
}

/** What kept one from being revoked; null where nothing did. */
async function revoked(target: Target, ids: readonly number[]): Promise<string | null> {
  let problem: string | null = null;
  for await (const { result, reason } of target.revoke(ids)) {
    if (result === 'failed') problem = reason ?? 'no reason given';
  }
  return problem;
}

async function presented(target: Target, value: Secret): Promise<Door> {
  for await (const { live } of target.identify([value])) {
    if (live) return doorOf('open', 'A token that was made for it, and revoked, was accepted.');
  }
  return doorOf('shut', 'A token that was made for it, and revoked, is refused.');
}

function doorOf(state: Door['state'], how: string): Door {
  return { door: 'revoked_token', state, how };
}

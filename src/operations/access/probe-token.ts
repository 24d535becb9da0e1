import type { Secret } from '@tokenctl/common/secret.ts';
import { type AccessPath, closedPath, openPath, uncheckedPath } from '../../domain/access.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';

/**
 * Creates a token of the caller, revokes it and presents it: the next request must refuse a revoked token.
 * The token has the scope read, and its description names the incident: a token that a killed process left
 * behind is revoked here as well.
 * @throws TokenctlError as {@link OperationRun.step}.
 */
export async function probeToken(work: OperationRun, incident: string): Promise<AccessPath> {
  const { target } = work;
  const description = `tokenctl: probe of ${incident}`;
  let path = uncheckedPath('revoked_token', 'No test token could be created.');
  await work.step({
    name: 'probe',
    title: 'Testing a revoked token',
    common: { incident },
    intent: { description },
    act: async () => {
      const { token, value } = await target.createToken({ scope: 'read', description });
      const left = token.user === null ? [] : await probesOf(target, token.user.username, description);
      const ids = [...new Set([...left, token.id])];
      const problem = await revoked(target, ids);
      if (problem === null) path = await presented(target, value);
      else path = uncheckedPath('revoked_token', `The test token was not revoked: ${problem}.`);
      return {
        result: path.state === 'closed' ? 'done' : 'partly',
        message: path.how,
        data: { tokens: ids, accepted: path.state === 'open' },
      };
    },
  });
  return path;
}

async function probesOf(target: Target, user: string, description: string): Promise<number[]> {
  const ids: number[] = [];
  for await (const token of target.tokens({ users: [user] })) {
    if (token.description === description) ids.push(token.id);
  }
  return ids;
}

/** What kept the token from being revoked; null if nothing did. */
async function revoked(target: Target, ids: readonly number[]): Promise<string | null> {
  let problem: string | null = null;
  for await (const { result, reason } of target.revoke(ids)) {
    if (result === 'failed') problem = reason ?? 'no reason given';
  }
  return problem;
}

async function presented(target: Target, value: Secret): Promise<AccessPath> {
  for await (const { live } of target.identify([value], { liveOnly: true })) {
    if (live) return openPath('revoked_token', 'A test token was accepted after it was revoked.');
  }
  return closedPath('revoked_token', 'A test token was rejected after it was revoked.');
}

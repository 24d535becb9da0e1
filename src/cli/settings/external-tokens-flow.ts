import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { externalUserNames, planRevocation } from '../../operations/revocation/plan-revocation.ts';
import { countText } from '../../reports/counts.ts';
import { type Report, report } from '../../reports/result.ts';
import { revocationFlow } from '../revocation/revocation-flow.ts';
import { changeSwitch, type SwitchRequest, switchText } from './switch-flow.ts';
import { externalTokens } from './switches.ts';

/** What is left of external users' tokens: how many users, how many tokens. */
interface Existing {
  readonly users: number;
  readonly tokens: number;
}

/**
 * Makes sure that `--revoke-existing` stands where it means something.
 *
 * @throws TokenctlError `usage`
 */
export function requireDeny(state: string): void {
  const { off } = externalTokens.words;
  if (state === off) return;
  throw new TokenctlError('usage', `--revoke-existing goes with ${off} only, and this is ${state}.`);
}

/**
 * Denies tokens to external users. The switch leaves the tokens that exist alive, so they are revoked as
 * well where that is asked for, and counted where it is not. The switch comes first: no new ones are
 * made in between.
 */
export async function denyExternalTokens(request: SwitchRequest, revokeExisting: boolean): Promise<Report> {
  const { runtime, setting } = request;
  const state = await changeSwitch(request);
  const users = await externalUserNames({ target: await runtime.target() });
  if (revokeExisting && users.length > 0) {
    const revocation = await revocationFlow({ ...request, selector: { users } });
    return report({
      json: { ...state, revocation: revocation.json },
      text: async (screen) => `${switchText(state, { setting })}\n${await revocation.text(screen)}`,
      failure: revocation.failure,
    });
  }
  const existing = await countExisting(runtime, users);
  return report({
    json: { ...state, existing },
    text: () => switchText(state, { setting }) + existingText(existing),
  });
}

async function countExisting(runtime: Runtime, users: readonly string[]): Promise<Existing> {
  if (users.length === 0) return { users: 0, tokens: 0 };
  const plan: RevocationPlan = await planRevocation({
    target: await runtime.target(),
    selector: { users },
    clock: runtime.clock,
  });
  return { users: users.length, tokens: plan.tokenIds.length + plan.kept.length };
}

function existingText({ users, tokens }: Existing): string {
  if (users === 0) return 'There are no external users.\n';
  if (tokens === 0) return 'No external user has a token.\n';
  return (
    `Stays alive: ${countText(tokens, 'token')} of ${countText(users, 'external user')}, which the switch does not end.\n` +
    'To revoke them, run the command again with --revoke-existing.\n'
  );
}

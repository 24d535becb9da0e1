import { hostname } from 'node:os';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { planRevocation } from '../../operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import type { AccountFlags } from '../flags/flags.ts';
import { revocationEnding } from '../revocation/revocation-ending.ts';

/** The prefix of the description of each login's token. */
const MADE_BY_LOGIN = 'tokenctl on ';

/** The description of tokens created by logins on this machine. */
export const LOGIN_DESCRIPTION = `${MADE_BY_LOGIN}${hostname()}`;

/** The results for tokens that logins created. */
export interface EndedTokens {
  /** No longer listed, ascending. */
  readonly ended: readonly number[];
  /** Possibly valid, ascending. */
  readonly left: readonly number[];
  /** Not visible to this account, ascending: deleted, or another user's. */
  readonly unseen: readonly number[];
  /** Why some may be valid; null if none are. */
  readonly why: string | null;
}

/**
 * Revokes tokens that logins created, the caller's last, recorded like any revocation. A token of another
 * user, or with another description, is skipped: a reinstalled controller may have reused its id. If the
 * target fails, the tokens remain, with the reason.
 * @throws TokenctlError `audit_unavailable` with nothing changed, `outcome_unrecorded`, `interrupted`
 */
export async function endTokens(
  runtime: Runtime,
  { ids, flags }: { ids: readonly number[]; flags: AccountFlags },
): Promise<EndedTokens> {
  const all = ids.toSorted((one, other) => one - other);
  if (all.length === 0) return { ended: [], left: [], unseen: [], why: null };
  try {
    const [target, description] = [await runtime.target(), await runtime.description()];
    const own: number[] = [];
    const foreign: number[] = [];
    for await (const token of target.tokens({ ids: all })) {
      const isOwn = token.user?.id === description.identity.id && token.description.startsWith(MADE_BY_LOGIN);
      (isOwn ? own : foreign).push(token.id);
    }
    if (own.length > 0) {
      const options = { target, description, clock: await runtime.targetClock() };
      const plan = await planRevocation({ ...options, selector: { ids: own }, includeOwn: true });
      const revocation = await revokeTokens({ ...(await runtime.change(flags)), plan });
      const { failure } = revocationEnding({ ...revocation, accessPaths: [] });
      if (failure !== undefined) return { ended: [], left: all, unseen: [], why: failure.message };
    }
    const unlisted = all.filter((id) => !own.includes(id) && !foreign.includes(id));
    // Other accounts may not see an existing token.
    const unseen = description.identity.isSuperuser || description.identity.isSystemAuditor ? [] : unlisted;
    const why = foreign.length === 0 ? null : 'it is not a login token of this user';
    const ended = all.filter((id) => !foreign.includes(id) && !unseen.includes(id));
    return { ended, left: foreign, unseen, why };
  } catch (error) {
    if (!(error instanceof TokenctlError) || UNRECORDED.has(error.code)) throw error;
    return { ended: [], left: all, unseen: [], why: error.message };
  }
}

const UNRECORDED: ReadonlySet<string> = new Set(['audit_unavailable', 'outcome_unrecorded', 'interrupted']);

/** The tokens that may be valid, with the command that ends them; null if there are none. */
export function leftText({ left, why }: Pick<EndedTokens, 'left' | 'why'>): string | null {
  if (left.length === 0) return null;
  const named = `${left.length === 1 ? 'Token' : 'Tokens'} ${left.join(', ')} may still be valid`;
  return `${named}: ${why?.replace(/\.$/, '')}. To revoke: ${revokeCommand(left)}`;
}

/** The tokens that this account does not see; null if there are none. */
export function unseenText({ unseen }: EndedTokens): string | null {
  return leftText({
    left: unseen,
    why: 'this account cannot see it: it was deleted, or belongs to another user',
  });
}

export function revokeCommand(ids: readonly number[]): string {
  return `tokenctl tokens revoke ${ids.map((id) => `--id ${id}`).join(' ')}`;
}

/** Other tokens of the caller from logins on this machine: an interrupted login may have lost them. */
export async function otherLoginTokens(
  runtime: Runtime,
  known: readonly number[],
): Promise<readonly number[]> {
  const [target, { identity }] = [await runtime.target(), await runtime.description()];
  const found: number[] = [];
  if (identity.id === null) return found;
  for await (const { id, description, user } of target.tokens({ userIds: [identity.id] })) {
    if (description === LOGIN_DESCRIPTION && user?.id === identity.id && !known.includes(id)) found.push(id);
  }
  return found;
}

import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { planAccess } from './offboard-user.ts';

/** Who is to lose access, and what keeps it from going wrong. */
export interface PlanOffboardingOptions {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly clock: Clock;
  /** Deactivated users are. */
  readonly inactive: boolean;
  /** Users are that are not among these names; null where that does not matter. */
  readonly present: readonly string[] | null;
  /** Users that never are, each a name or a pattern: service accounts, break-glass accounts. */
  readonly except: readonly string[];
  /** Refuses to begin where more than this share of all tokens would go. */
  readonly stopAbovePercent: number;
}

/** Who would lose access, and what. */
export interface OffboardingPlan {
  /** Null where nobody is to lose anything. */
  readonly plan: RevocationPlan | null;
  /** The names of the users that are gone or deactivated, whether they have anything left or not. */
  readonly users: readonly string[];
  /** How many tokens there are. */
  readonly tokens: number;
}

/**
 * Plans the end of all access tokens, refresh tokens and sessions of users that are deactivated, or gone
 * from a list. Whoever runs this is never among them. Reads only.
 *
 * @throws TokenctlError `usage` for an empty list, which would mean everybody; `plan_too_large` above the
 * allowed share; and whatever the target throws.
 */
export async function planOffboarding(options: PlanOffboardingOptions): Promise<OffboardingPlan> {
  const { target, description, clock, stopAbovePercent } = options;
  const users = await whoIsGone(options);
  if (users.length === 0) return { plan: null, users, tokens: 0 };
  const { capabilities } = description;
  const plan = await planAccess({ target, clock, users, capabilities });
  let tokens = 0;
  for await (const _token of target.tokens({ all: true })) tokens += 1;
  refuseTooMany(plan.tokenIds.length, { tokens, stopAbovePercent, users });
  const sessions = plan.sessions?.count ?? 0;
  const anything = plan.tokenIds.length + plan.refreshTokenIds.length + sessions > 0;
  return { plan: anything ? plan : null, users, tokens };
}

async function whoIsGone(options: PlanOffboardingOptions): Promise<string[]> {
  const { target, description, inactive, present, except } = options;
  if (present?.length === 0) {
    throw new TokenctlError('usage', 'The list of users is empty: everybody would be offboarded', {
      hint: 'Find out why the file or program names nobody.',
    });
  }
  const own = description.identity.username;
  const kept = (name: string) => name === own || matchesAny(name, except);
  const gone = new Set<string>();
  if (inactive) {
    for await (const { username } of target.users({ inactive: true }))
      if (!kept(username)) gone.add(username);
  }
  if (present !== null) {
    const there = new Set(present);
    for await (const { username } of target.users()) {
      if (!there.has(username) && !kept(username)) gone.add(username);
    }
  }
  return [...gone].sort();
}

function refuseTooMany(
  planned: number,
  { tokens, stopAbovePercent, users }: { tokens: number; stopAbovePercent: number; users: readonly string[] },
): void {
  if (planned * 100 <= tokens * stopAbovePercent) return;
  const percent = Math.round((planned / tokens) * 1000) / 10;
  throw new TokenctlError(
    'plan_too_large',
    `${users.length} users would lose ${planned} of ${tokens} tokens (${percent} %), and the job stops above ${stopAbovePercent} %: nothing was revoked`,
    {
      hint: 'Look whether the list is complete. Where it is, raise `stopAbovePercent` for one run.',
      details: { tokens, planned, percent, stopAbovePercent, users: users.length },
    },
  );
}

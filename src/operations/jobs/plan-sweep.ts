import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { type Policy, type RuleName, requireUsable } from '../../domain/policy/policy.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ReadTarget } from '../ports/target.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import { requireFullView } from '../scope/visibility.ts';
import { auditTokens, requireChecked } from '../token-audit/audit-tokens.ts';

/** What a sweep revokes, and its safety limits. */
export interface PlanSweepOptions extends ReadTarget {
  readonly policy: Policy;
  readonly log?: Pick<AuditLog, 'entries'> | undefined;
  /** The rules whose findings are revoked. Each is about single tokens and enabled in the policy. */
  readonly rules: readonly RuleName[];
  /** Keeps tokens younger than this, in milliseconds. */
  readonly keepIfYounger: number;
  /** The maximum number of tokens per run, oldest first; the rest follow in the next runs. */
  readonly atMost: number;
  /** Refuses to start if more than this share of all tokens would be revoked, in this and later runs. */
  readonly stopAbovePercent: number;
  /** Keeps refresh tokens. Default: they are revoked as well, if possible. */
  readonly accessOnly?: boolean;
  /** Stops reading when aborted. */
  readonly signal?: AbortSignal;
}

export interface SweepPlan {
  readonly plan: RevocationPlan;
  readonly tokens: number;
  /** Number of tokens found by the rules, without the young ones. */
  readonly found: number;
  /** Number of tokens found that are too young to revoke. */
  readonly young: number;
  readonly byRule: Readonly<Record<string, number>>;
}

/**
 * Plans the revocation of what a policy finds. Reads only.
 * @returns A plan of `null` if nothing is found.
 * @throws TokenctlError `plan_too_large` if more than the allowed share of all tokens would be revoked, so
 * that a faulty policy or target does not lock everyone out; `unsupported` if a rule cannot be checked;
 * `usage` for a rule that cannot select; `interrupted`.
 */
export async function planSweep(
  options: PlanSweepOptions,
): Promise<SweepPlan | (Omit<SweepPlan, 'plan'> & { readonly plan: null })> {
  requireFullView(options.description, 'A sweep');
  const found = await findSwept(options);
  const counted = {
    tokens: found.tokens,
    found: found.created.size,
    young: found.young.size,
    byRule: found.byRule,
  };
  refuseTooMany(counted, options.stopAbovePercent);
  if (found.created.size === 0) return { ...counted, plan: null };
  const oldestFirst = [...found.created].sort(([a, madeA], [b, madeB]) => madeA - madeB || a - b);
  const plan = await planRevocation({
    target: options.target,
    selector: { ids: oldestFirst.slice(0, options.atMost).map(([id]) => id) },
    clock: options.clock,
    description: options.description,
    accessOnly: options.accessOnly === true,
  });
  return { ...counted, plan };
}

async function findSwept(options: PlanSweepOptions) {
  const { target, policy, rules, clock, keepIfYounger, signal } = options;
  for (const rule of rules) requireUsable(rule, policy);
  const { log } = options;
  const openLog = log && (async () => log);
  const audit = await auditTokens({ target, policy, clock, selector: { all: true }, rules, openLog });
  const youngest = clock.now().getTime() - keepIfYounger;
  const created = new Map<number, number>();
  const young = new Set<number>();
  for await (const { subject } of audit.findings) {
    if (signal?.aborted === true)
      throw new TokenctlError('interrupted', 'The sweep was stopped before it revoked anything');
    if (subject.kind !== 'token') continue;
    const { id, created: made } = subject.token;
    if (made.getTime() > youngest) young.add(id);
    else created.set(id, made.getTime());
  }
  const { tokensRead, byRule } = audit.summary();
  requireChecked(audit, 'Remove it from the rules of this job, or use a database context.');
  return { created, young, tokens: tokensRead, byRule };
}

function refuseTooMany(
  { tokens, found, byRule }: Pick<SweepPlan, 'tokens' | 'found' | 'byRule'>,
  stopAbovePercent: number,
): void {
  if (found * 100 <= tokens * stopAbovePercent) return;
  const percent = Math.round((found / tokens) * 1000) / 10;
  throw new TokenctlError(
    'plan_too_large',
    `The policy would revoke ${numberText(found)} of ${numberText(tokens)} tokens (${percent} %), which exceeds the sweep's limit of ${stopAbovePercent} %: nothing was revoked`,
    {
      hint: 'Check its findings with `tokenctl tokens audit --group-by rule`. If they are correct, revoke the tokens once manually with `tokenctl tokens revoke --finding RULE`.',
      details: { tokens, found, percent, stopAbovePercent, byRule },
    },
  );
}

import { isDeepStrictEqual } from 'node:util';
import type { Audit } from '../../domain/policy/judge.ts';
import { defaultPolicy, type Policy, ruleNames } from '../../domain/policy/policy.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { timeText } from '../tables/text.ts';

/** What a report has to know of the target that was audited. */
export type AuditedTarget = Pick<
  TargetDescription,
  'context' | 'address' | 'installUuid' | 'version' | 'identity' | 'visibility' | 'standby'
>;

/** Where an audit was made, as whom, when and by which policy: a report is read far from the machine that made it. */
export interface AuditOriginJson {
  /** The name of the context. */
  readonly context: string;
  readonly controller: Pick<TargetDescription, 'address' | 'installUuid' | 'version'>;
  /** Whose account read the tokens. */
  readonly account: TargetDescription['identity'];
  /** The instant that ages are counted from, by the controller's clock. */
  readonly at: Date;
  /** Which tokens were audited, in words. */
  readonly selection: string;
  readonly policy: {
    /** The rules whose settings are not the default ones. */
    readonly changed: readonly string[];
    /** The rules that alone were applied; null for all that are enabled. */
    readonly only: readonly string[] | null;
    /** Every rule of the policy as it is set. */
    readonly rules: Readonly<Record<string, object>>;
  };
}

/** Where an audit comes from. */
export function auditOrigin({ now, selection, policy, only }: Audit, target: AuditedTarget): AuditOriginJson {
  const { context, address, installUuid, version, identity: account } = target;
  return {
    context,
    controller: { address, installUuid, version },
    account,
    at: now,
    selection,
    policy: { changed: changedRules(policy), only, rules: policy },
  };
}

/** The same as cells of a row, for CSV, by the names of their columns. */
export function originCells(audit: Audit, target: AuditedTarget): Readonly<Record<string, string>> {
  return {
    context: target.context,
    controller: target.address,
    account: target.identity.username,
    audited_at: timeText(audit.now),
    audited: audit.selection,
    policy: policyText(audit),
  };
}

/** A policy in words: how it differs from the default one, and which of its rules were applied, if not all. */
export function policyText({ policy, only }: Pick<Audit, 'policy' | 'only'>): string {
  const changed = changedRules(policy);
  return [
    changed.length === 0 ? 'default' : `default, with changes to ${changed.join(', ')}`,
    ...(only === null ? [] : [`only ${only.length === 0 ? 'no rule' : only.join(', ')}`]),
  ].join('; ');
}

function changedRules(policy: Policy): string[] {
  return ruleNames.filter((name) => !isDeepStrictEqual(policy[name], defaultPolicy[name]));
}

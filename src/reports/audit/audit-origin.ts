import { isDeepStrictEqual } from 'node:util';
import type { Audit } from '../../domain/policy/judge.ts';
import { defaultPolicy, type Policy, ruleNames } from '../../domain/policy/policy.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { timeText } from '../tables/text.ts';

/** The parts of an audited target that a report needs. */
export type AuditedTarget = Pick<
  TargetDescription,
  'context' | 'address' | 'installUuid' | 'version' | 'identity' | 'visibility' | 'standby'
>;

/** Where, by which account, when and with which policy an audit was made: it is read on other machines. */
export interface AuditOriginJson {
  readonly context: string;
  readonly controller: Pick<TargetDescription, 'address' | 'installUuid' | 'version'>;
  /** The account that read the tokens. */
  readonly account: TargetDescription['identity'];
  /** The reference time for ages, by the controller's clock. */
  readonly at: Date;
  /** The audited tokens, in words. */
  readonly selection: string;
  readonly policy: {
    /** The rules with non-default settings. */
    readonly changed: readonly string[];
    /** The only rules applied; null for all that are enabled. */
    readonly only: readonly string[] | null;
    /** Every rule of the policy, as set. */
    readonly rules: Readonly<Record<string, object>>;
  };
}

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

/** The same as cells of a row, for CSV, by column name. */
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

/** A policy in words: how it differs from the default, and which of its rules were applied, if not all. */
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

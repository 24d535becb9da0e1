import type { Token } from '../token.ts';
import { DAY, daysBetween, type Facts, type Rule } from './rule.ts';

/**
 * Finds tokens that nobody has used for the policy's days. One that was never used counts from its
 * creation. Where tokens do not carry their last use, the target's own selection decides
 * (`Facts.unusedTokenIds`).
 */
export const unusedFor: Rule = ({ token, facts, policy }) => {
  const { days } = policy['unused-for'];
  const { lastUsed } = token;
  if (lastUsed === undefined) {
    return facts.unusedTokenIds.has(token.id) ? `It has not been used for ${days} days or more.` : null;
  }
  if (!isUnused(token, new Date(facts.now.getTime() - days * DAY))) return null;
  return lastUsed === null
    ? `It was made ${age(token.created, facts)} days ago and has never been used.`
    : `It was used last ${age(lastUsed, facts)} days ago.`;
};

function isUnused({ created, lastUsed }: Token, since: Date): boolean {
  return (lastUsed ?? created).getTime() < since.getTime();
}

function age(instant: Date, facts: Facts): number {
  return daysBetween(instant, facts.now);
}

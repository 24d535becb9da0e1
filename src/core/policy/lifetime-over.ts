import { expiresNever } from './never-expires.ts';
import { DAY, daysBetween, type Rule } from './rule.ts';

/**
 * Finds tokens made to live longer than the policy's days. One that never expires is left to the rule of
 * that name while that is enabled: one fault, one finding.
 */
export const lifetimeOver: Rule = ({ token, facts, policy }) => {
  const { days } = policy['lifetime-over'];
  if (token.expires.getTime() - token.created.getTime() <= days * DAY) return null;
  if (policy['never-expires'].enabled && expiresNever(token, facts.now)) return null;
  return `It is valid for ${daysBetween(token.created, token.expires)} days; the limit is ${days}.`;
};

import { daysBetween, hasExpired, type Rule } from './rule.ts';

/** Finds expired tokens: nothing removes them until `cleanup_tokens` runs, if it does. */
export const expiredPresent: Rule = ({ token, facts }) => {
  if (!hasExpired(token, facts.now)) return null;
  return `It expired ${daysBetween(token.expires, facts.now)} days ago and is still there.`;
};

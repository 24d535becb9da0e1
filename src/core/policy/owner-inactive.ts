import type { Rule } from './rule.ts';

/**
 * Finds tokens of deactivated users: controller 24.6.1 goes on answering them, so that deactivating
 * somebody who leaves does not end their access.
 */
export const ownerInactive: Rule = ({ token, facts }) => {
  if (token.user === null || !facts.inactiveUserIds.has(token.user.id)) return null;
  return `Its owner ${token.user.username} is deactivated, and the token may work nevertheless.`;
};

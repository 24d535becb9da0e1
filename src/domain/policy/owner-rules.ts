import type { TokenRule } from './rule.ts';

/**
 * Finds tokens of deactivated users: controller 24.6.1 goes on answering them, so that deactivating
 * somebody who leaves does not end their access.
 */
export const ownerInactive: TokenRule = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'critical', exceptions: [] },
  needs: ['inactive_users'],
  help: {
    finds: 'An access token of a deactivated user.',
    matters:
      'Controllers up to 24.6.1 honour it nevertheless: deactivating somebody who leaves does not end their access.',
    remedy: 'tokenctl tokens revoke --finding owner-inactive.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare: ({ facts }) => ({
    breaks: ({ user }) => user !== null && facts.inactiveUserIds.has(user.id),
    message: ({ user }) =>
      `Its owner ${user?.username ?? ''} is deactivated, and the token may work nevertheless.`,
  }),
};

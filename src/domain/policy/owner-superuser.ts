import { allowsWriting } from '../token.ts';
import type { TokenRule } from './rule.ts';

/** Finds tokens of superusers: whoever holds one holds the controller, or may read all of it. */
export const ownerSuperuser: TokenRule = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['users'],
  help: {
    finds: 'An access token of a superuser.',
    matters: 'No role limits it: whoever holds it may do everything, or with scope read see everything.',
    remedy: 'Have the work done by an account that may do no more than it needs, with a token of its own.',
    reference: 'NIST SP 800-53 AC-6: least privilege',
  },
  prepare: ({ facts }) => ({
    breaks: ({ user }) => user !== null && facts.superuserIds.has(user.id),
    message: (token) =>
      `Its owner ${token.user?.username ?? ''} is a superuser: it may ${allowsWriting(token) ? 'do' : 'see'} everything.`,
  }),
};

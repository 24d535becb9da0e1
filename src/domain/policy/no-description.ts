import type { TokenRule } from './rule.ts';

/** Finds personal access tokens without a description. An application's token has the application's name. */
export const noDescription: TokenRule = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: [],
  help: {
    finds: 'A personal access token without a description.',
    matters: 'Nobody but its owner can say what it is for, and so nobody dares to revoke it.',
    remedy: 'Ask the owner what it is for; have it described, or replaced.',
    reference: 'NIST SP 800-53 AC-2: the purpose of accounts is on record',
  },
  prepare: () => ({
    breaks: ({ application, description }) => application === null && description.trim() === '',
    message: () => 'Nothing says what it is for.',
  }),
};

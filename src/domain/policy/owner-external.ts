import type { TokenRule } from './rule.ts';

/**
 * Finds tokens of users from an identity provider while the controller forbids those: they live on when the
 * provider locks the user out. Turning ALLOW_OAUTH2_FOR_EXTERNAL_USERS off stops new ones and leaves these
 * alive. Where the setting allows them, they are as they should be.
 */
export const ownerExternal: TokenRule = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['users', 'settings'],
  help: {
    finds:
      'An access token of a user from an identity provider, while ALLOW_OAUTH2_FOR_EXTERNAL_USERS forbids such tokens.',
    matters:
      'It was made before that was forbidden, and lives on when the identity provider locks the user out. Forbidding it has ended none of them.',
    remedy:
      'tokenctl settings external-tokens deny --revoke-existing, or tokenctl tokens revoke --finding owner-external.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare({ facts }) {
    const forbidden = facts.settings?.ALLOW_OAUTH2_FOR_EXTERNAL_USERS === false;
    return {
      breaks: ({ user }) => forbidden && user !== null && facts.externalUsers.has(user.id),
      message: ({ user }) =>
        `Its owner ${user?.username ?? ''} signs in by ${facts.externalUsers.get(user?.id ?? 0) ?? 'a provider'}, which cannot end this token.`,
    };
  },
};

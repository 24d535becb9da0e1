import type { Rule } from './rule.ts';

/**
 * Finds tokens of users from an identity provider: they live on when the provider locks the user out.
 * Turning ALLOW_OAUTH2_FOR_EXTERNAL_USERS off stops new ones and leaves these alive.
 */
export const ownerExternal: Rule = ({ token, facts }) => {
  const provider = token.user === null ? undefined : facts.externalUsers.get(token.user.id);
  if (provider === undefined) return null;
  return `Its owner ${token.user?.username ?? ''} signs in by ${provider}, which cannot end this token.`;
};

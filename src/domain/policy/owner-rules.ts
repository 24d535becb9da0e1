import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import {
  checkOfOwner,
  DAY,
  daysBetween,
  daysText,
  type TokenRule,
  type WhoseToken,
  type WithDays,
  type WithUsers,
} from './rule.ts';
import { matchesAny } from './subject.ts';

/** Finds tokens of deactivated users: controller 24.6.1 still accepts them. */
export const ownerInactive: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'critical', exceptions: [] },
  needs: ['inactive_users'],
  help: {
    finds: 'An access token of a deactivated user.',
    matters: 'Controllers up to 24.6.1 still accept it: deactivating a user does not end their access.',
    remedy: 'Run tokenctl tokens revoke --finding owner-inactive.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare: ({ facts }) =>
    checkOfOwner(
      ({ user }) => user !== null && facts.inactiveUserIds.has(user.id),
      ({ user }) => `Its owner ${user?.username ?? ''} is deactivated, but the token may still work.`,
    ),
};

/** Finds tokens of superusers, which give access to the whole controller. */
export const ownerSuperuser: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['users'],
  help: {
    finds: 'An access token of a superuser.',
    matters: 'No role limits it: it can change everything, or read everything with scope read.',
    remedy: 'Use a separate account with only the permissions that the task needs.',
    reference: 'NIST SP 800-53 AC-6: least privilege',
  },
  prepare: ({ facts }) =>
    checkOfOwner(
      ({ user }) => user !== null && facts.superuserIds.has(user.id),
      (token) =>
        `Its owner ${token.user?.username ?? ''} is a superuser: it can ${allowsWriting(token) ? 'change' : 'read'} everything.`,
    ),
};

/**
 * Finds tokens of users from an identity provider although the controller forbids these: they stay valid when
 * the provider locks the user out. Turning ALLOW_OAUTH2_FOR_EXTERNAL_USERS off blocks new tokens and keeps
 * existing ones. If the setting allows them, nothing is found.
 */
export const ownerExternal: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['users', 'settings'],
  help: {
    finds:
      'An access token of a user from an identity provider, while ALLOW_OAUTH2_FOR_EXTERNAL_USERS forbids such tokens.',
    matters:
      'It was created before the setting was turned off, and still works after the identity provider locks the user out. Turning off the setting does not revoke existing tokens.',
    remedy:
      'Run tokenctl settings external-tokens deny --revoke-existing, or tokenctl tokens revoke --finding owner-external.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare({ facts }) {
    const forbidden = facts.settings?.ALLOW_OAUTH2_FOR_EXTERNAL_USERS === false;
    return checkOfOwner(
      ({ user }) => forbidden && user !== null && facts.externalUsers.has(user.id),
      ({ user }) =>
        `Its owner ${user?.username ?? ''} logs in through ${facts.externalUsers.get(user?.id ?? 0) ?? 'an identity provider'}, which cannot revoke this token.`,
    );
  },
};

/** Finds tokens of users who had left according to their directory's last answer. */
export const ownerLeft: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: false, severity: 'critical', exceptions: [] },
  needs: ['directories'],
  help: {
    finds: "An access token of a user who had left according to a directory's last response.",
    matters:
      'The controller does not ask the directory again, so the token works until it expires or is revoked.',
    remedy: 'Run tokenctl users offboard --gone DIRECTORY.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare: ({ facts }) =>
    checkOfOwner(
      ({ user }) => user !== null && facts.left?.has(user.id) === true,
      ({ user }) => {
        const { directory = '', at } = facts.left?.get(user?.id ?? 0) ?? {};
        return `Its owner ${user?.username ?? ''} had left according to the directory ${directory} at ${at?.toISOString() ?? ''}.`;
      },
    ),
};

/** Finds tokens of external users who were not compared with any directory recently. */
export const providerNotAsked: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  defaults: { enabled: false, severity: 'medium', days: 7, exceptions: [] },
  needs: ['directories'],
  help: {
    finds:
      'An access token of a user from an identity provider, if no directory was asked about the user within the given number of days.',
    matters:
      'It is not known whether its owner is still there, because the controller only asks the provider at login.',
    remedy: "Ask the provider's directory: tokenctl users offboard --gone DIRECTORY, or the job offboarding.",
    reference: 'NIST SP 800-53 AC-2(3): disable accounts when they no longer belong to a user',
    parameters: { days: "The maximum age of a directory's response, in days." },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    const last = ({ user }: WhoseToken) => (user === null ? undefined : facts.lastCompared?.get(user.id));
    return checkOfOwner(
      (token) => {
        const at = last(token);
        return at !== undefined && (at === null || at.getTime() < since);
      },
      (token) => {
        const at = last(token) ?? null;
        const owner = `its owner ${token.user?.username ?? ''}`;
        return at === null
          ? `No directory was asked about ${owner}.`
          : `A directory was last asked about ${owner} ${daysText(daysBetween(at, facts.now))} ago.`;
      },
    );
  },
};

/** Finds personal access tokens of service accounts. */
export const personalTokenOfServiceAccount: TokenRule<WithUsers> = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'low', users: [], exceptions: [] },
  help: {
    finds: 'A personal access token of a service account.',
    matters:
      'It is not tied to an application, so the program that uses it is unknown, and the token cannot be revoked with that program.',
    remedy: 'Register the program as an application, and issue its tokens through that application.',
    reference: 'RFC 6749, section 2: client registration',
    parameters: { users: 'The service accounts: names, or patterns such as ci-*.' },
  },
  prepare({ setting: { users } }) {
    const isServiceAccount = cachedMatcher(users);
    return checkOfOwner(
      ({ application, user }) => application === null && user !== null && isServiceAccount(user.username),
      ({ user }) =>
        `It is a personal access token of the service account ${user?.username ?? ''}, so the program that uses it is unknown.`,
    );
  },
};

/** Whether a name matches one of the patterns; evaluates each name once. */
function cachedMatcher(patterns: readonly string[]): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    let match = known.get(name);
    if (match === undefined) {
      match = matchesAny(name, patterns);
      known.set(name, match);
    }
    return match;
  };
}

/** Finds application tokens of people, if programs should use service accounts. */
export const applicationTokenOfPerson: TokenRule<WithUsers> = {
  appliesTo: 'tokens',
  defaults: { enabled: false, severity: 'low', users: [], exceptions: [] },
  help: {
    finds: "An application's access token whose owner is not a service account.",
    matters:
      'The program acts as that person, with all of their permissions, until they leave. Off by default: applications that people sign in to work this way.',
    remedy: 'Create a service account for the program, and issue its tokens to that account.',
    reference: 'OWASP Non-Human Identities Top 10, NHI10: human use of non-human identities',
    parameters: { users: 'The service accounts: names, or patterns such as ci-*.' },
  },
  prepare({ setting: { users } }) {
    const isServiceAccount = cachedMatcher(users);
    return checkOfOwner(
      ({ application, user }) => application !== null && user !== null && !isServiceAccount(user.username),
      ({ application, user }) =>
        `${application?.name ?? ''} acts as ${user?.username ?? ''}, who is not a service account.`,
    );
  },
};

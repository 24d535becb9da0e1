import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import { isTokenOf } from '../leased-token.ts';
import { besideExpiry, refreshTokenState, type Token } from '../token.ts';
import type { Condition } from './condition.ts';
import {
  type AggregateRule,
  DAY,
  daysBetween,
  daysText,
  type Facts,
  type RefreshTokenRule,
  type TokenRule,
  type Violation,
  type WithDays,
  type WithShare,
} from './rule.ts';

const HUNDRED_YEARS = NEVER_DAYS * DAY;

/** Finds tokens that practically never expire: the controller's default lifetime is a thousand years. */
export const neverExpires: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  tells: ['leases'],
  help: {
    finds: 'An access token that expires more than a hundred years from now.',
    matters:
      'A leaked copy works forever. By default, controllers issue every token with a lifetime of a thousand years.',
    remedy:
      'Set a lifetime with tokenctl settings token-lifetime, have the owners replace these tokens, and set an end date for the rest with tokenctl tokens sunset, or revoke them with tokenctl tokens revoke --finding never-expires.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
  },
  prepare: ({ facts }) => ({
    condition: endless(facts.now),
    message: (token) => {
      const lease = leaseOf(token, facts);
      const end = lease === null ? '' : `; its lease ends on ${lease.until.slice(0, 10)}`;
      return `It expires in the year ${token.expires.getUTCFullYear()}${end}.`;
    },
  }),
};

function endless(now: Date): Condition {
  return { expiresAfter: now.getTime() + HUNDRED_YEARS };
}

/** The open lease of a token, if known; null for another token with its id, as after a database restore. */
function leaseOf(token: Token, { leases }: Pick<Facts, 'leases'>) {
  return leases?.get(token.id)?.find((lease) => isTokenOf(lease, token)) ?? null;
}

/** Whether a token expires more than a hundred years from now. */
export function expiresNever(token: Pick<Token, 'expires'>, now: Date): boolean {
  return token.expires.getTime() - now.getTime() > HUNDRED_YEARS;
}

/**
 * Finds tokens with a lifetime above the policy's days. A token that never expires is left to that rule if it
 * is applied, to report each problem once.
 */
export const lifetimeOver: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'medium', days: 366, exceptions: [] },
  help: {
    finds: 'An access token whose lifetime exceeds the given number of days.',
    matters: 'The longer a token lives, the longer a leaked copy works.',
    remedy: 'Have the owner replace it with a token with a shorter lifetime, and then revoke it.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
    parameters: { days: 'The maximum lifetime.' },
  },
  prepare({ setting: { days }, facts, applied }) {
    const others = applied('never-expires') ? [{ not: endless(facts.now) }] : [];
    return {
      condition: { all: [{ livesLongerThan: days * DAY }, ...others] },
      message: ({ created, expires }) =>
        `It is valid for ${daysText(daysBetween(created, expires))}; the limit is ${days}.`,
    };
  },
};

/** Finds tokens that tokenctl should have ended, and that are still accepted. */
export const leaseOverdue: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['leases'],
  help: {
    finds: 'An access token that is past the end of its lease.',
    matters:
      'tokenctl exec or the job lease-end should have revoked it by then. The controller accepts it until its own expiry.',
    remedy: 'Run tokenctl tokens leases --due, and schedule the job lease-end.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
  },
  prepare({ facts }) {
    const overdue = [...(facts.leases?.values() ?? [])].flat().some(({ isOverdue }) => isOverdue);
    return {
      // Only a whole token shows whether it is the lease's.
      ...(!overdue && { parts: { condition: { all: [] }, whose: () => false } }),
      violates: (token) => leaseOf(token, facts)?.isOverdue === true,
      message(token) {
        const lease = leaseOf(token, facts);
        return `Its lease ${lease?.id ?? ''} should have ended it at ${lease?.until ?? ''}.`;
      },
    };
  },
};

/** Finds expired tokens: nothing removes them until `cleanup_tokens` runs, if it does. */
export const expiredPresent: TokenRule = {
  appliesTo: 'tokens',
  tokens: 'expired',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  help: {
    finds: 'An expired access token that is still in the database.',
    matters: 'It authenticates nothing, but it clutters every list, and its refresh token may still be live.',
    remedy: 'Run tokenctl tokens cleanup, or tokenctl tokens revoke --expired.',
    reference: 'NIST SP 800-53 IA-5: authenticators are removed at the end of their lifetime',
  },
  prepare: ({ facts }) => ({
    condition: { all: [] },
    message: (token) =>
      `It expired ${daysText(daysBetween(token.expires, facts.now))} ago and is still in the database.${refreshText(token, facts)}`,
  }),
};

/** The state of an expired token's refresh token, as a further sentence; empty without one. */
function refreshText(token: Token, { now, settings }: Facts): string {
  if (!token.hasRefreshToken) return '';
  const lifetime = settings?.OAUTH2_PROVIDER?.REFRESH_TOKEN_EXPIRE_SECONDS;
  if (lifetime === undefined) return ' Its refresh token may still be live.';
  const end = besideExpiry(token, lifetime);
  return end < now
    ? ' Its refresh token is expired as well.'
    : ` Its refresh token is live until ${end.toISOString().slice(0, 10)}.`;
}

/** Finds access tokens whose unexpired refresh token outlives them, by the controller's setting. */
export const refreshOutlivesAccess: TokenRule = {
  appliesTo: 'tokens',
  tokens: 'all',
  defaults: { enabled: false, severity: 'low', exceptions: [] },
  needs: ['settings', 'token_lifetimes'],
  help: {
    finds: 'An access token whose refresh token is valid now and outlives it.',
    matters:
      'Access continues after the access token expires. Off by default: with access tokens that live for minutes, this is how OAuth is meant to work.',
    remedy: 'Lower REFRESH_TOKEN_EXPIRE_SECONDS, or revoke these tokens together with their refresh tokens.',
    reference: 'RFC 9700, section 4.14: refresh token protection',
  },
  prepare({ facts }) {
    const lifetime = facts.settings?.OAUTH2_PROVIDER?.REFRESH_TOKEN_EXPIRE_SECONDS ?? 0;
    const end = (token: Token) => besideExpiry(token, lifetime).getTime();
    return {
      violates: (token) =>
        token.hasRefreshToken && end(token) > facts.now.getTime() && end(token) > token.expires.getTime(),
      message: (token) =>
        `Its refresh token stays valid for ${daysText(daysBetween(token.expires, new Date(end(token))))} after it expires.`,
    };
  },
};

/** Finds refresh tokens without an access token, which the controller's clean-up never removes. */
export const refreshOrphaned: RefreshTokenRule = {
  appliesTo: 'refreshTokens',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  severityHere: ({ orphanUse }) => (orphanUse === 'refused' ? 'low' : null),
  needs: ['refresh_tokens'],
  help: {
    finds: 'A refresh token that is not revoked, but whose access token was deleted.',
    matters:
      "Controller 24.6.1 and the platform gateway reject it, so the severity is low there. On an unknown version, it is assumed to be able to obtain tokens, so the severity is high. The controller's REST API does not list it, and its cleanup never removes it.",
    remedy:
      'List them with tokenctl refresh-tokens list --state orphaned, and delete them with tokenctl tokens cleanup.',
    reference: 'RFC 7009, section 2.1: revoking a token ends the grant that it belongs to',
  },
  prepare: ({ facts }) => ({
    violates: (token) => refreshTokenState(token) === 'orphaned',
    message: ({ created }) =>
      `It was created ${daysText(daysBetween(created, facts.now))} ago, and its access token was deleted. ${
        facts.orphanUse === 'refused'
          ? 'This version rejects it.'
          : 'Assumed to be usable: the behavior of this version is not known.'
      }`,
  }),
};

/** Finds days on which many tokens expire together: clients fail at the same time. */
export const expiryCliff: AggregateRule<WithShare> = {
  appliesTo: 'aggregates',
  defaults: { enabled: true, severity: 'low', tokens: 20, percent: 10, exceptions: [] },
  help: {
    finds: 'A day (UTC) on which at least the given number and percentage of access tokens expire.',
    matters: 'Everything that uses these tokens stops on the same day.',
    remedy: 'Replace some of them earlier, and notify their owners with tokenctl tokens notices.',
    reference: 'NIST SP 800-57 part 1, section 5.3: cryptoperiods are planned',
    parameters: {
      tokens: 'The minimum number of tokens that expire on one day.',
      percent: 'Their minimum percentage of all unexpired tokens.',
    },
  },
  prepare({ setting: { tokens: atLeast, percent }, facts }) {
    const days = new Map<number, number>();
    let live = 0;
    return {
      add(token) {
        live += 1;
        if (expiresNever(token, facts.now)) return;
        const day = Math.floor(token.expires.getTime() / DAY);
        days.set(day, (days.get(day) ?? 0) + 1);
      },
      *violations(): Iterable<Violation> {
        for (const [number, tokens] of [...days].sort(([one], [other]) => one - other)) {
          if (tokens < atLeast || tokens * 100 < live * percent) continue;
          const day = new Date(number * DAY).toISOString().slice(0, 10);
          const share = Math.round((tokens * 100) / live);
          yield {
            subject: { kind: 'day', day },
            message: `${tokens} tokens expire on ${day}, ${share} % of all unexpired tokens.`,
          };
        }
      },
    };
  },
};

import { HashCounter, textHash } from '../compact-collections.ts';
import type { Token, UserReference } from '../token.ts';
import type { Condition } from './condition.ts';
import {
  type AggregateRule,
  DAY,
  daysBetween,
  daysText,
  type Facts,
  type TokenRule,
  type Violation,
  type WithDays,
  type WithTokens,
} from './rule.ts';
import type { Purpose } from './subject.ts';

const NEVER_USED: Condition = { is: 'never_used' };
const USED: Condition = { not: NEVER_USED };
const WRITING: Condition = { is: 'writing' };

/** Finds tokens created some days ago that never authenticated anything. */
export const neverUsedRule: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'medium', days: 30, exceptions: [] },
  needs: ['never_used_tokens'],
  help: {
    finds: 'An access token that was never used and is older than the given number of days.',
    matters: 'It works, but is not needed. Its value may be stored in a forgotten file.',
    remedy: 'Run tokenctl tokens revoke --finding never-used.',
    reference: 'NIST SP 800-53 AC-2(3): disable what is inactive',
    parameters: { days: 'The maximum age of an unused token.' },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    return {
      condition: { all: [{ createdBefore: since }, NEVER_USED] },
      message: ({ created }) =>
        `It was created ${daysText(daysBetween(created, facts.now))} ago and has never been used.`,
    };
  },
};

/**
 * Finds tokens that were not used for the policy's number of days. A token that was never used counts from
 * its creation; `never-used` reports it instead while that rule is enabled. If tokens do not include their
 * last use, the target's own selection decides (`Facts.unusedTokenIds`).
 */
export const unusedFor: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'medium', days: 90, exceptions: [] },
  needs: ['unused_tokens'],
  help: {
    finds: 'An access token that was used before, but not within the given number of days.',
    matters: 'It is probably no longer needed, and its misuse would go unnoticed.',
    remedy: 'Run tokenctl tokens revoke --finding unused-for.',
    reference: 'NIST SP 800-53 AC-2(3): disable what is inactive',
    parameters: { days: 'The maximum number of days without use.' },
  },
  prepare({ setting: { days }, facts, applied }) {
    const since = facts.now.getTime() - days * DAY;
    const others = applied('never-used') ? [USED] : [];
    return {
      condition: { all: [...others, { unusedSince: since }] },
      message: (token) => unusedText(token, { days, now: facts.now }),
    };
  },
};

function unusedText({ created, lastUsed }: Token, { days, now }: { days: number; now: Date }): string {
  if (lastUsed === undefined) return `It has not been used for ${daysText(days)} or more.`;
  return lastUsed === null
    ? `It was created ${daysText(daysBetween(created, now))} ago and has never been used.`
    : `It was last used ${daysText(daysBetween(lastUsed, now))} ago.`;
}

/** Finds tokens with write access: all that are created without a scope. */
export const writeScope: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  help: {
    finds: 'An access token whose scope includes write.',
    matters:
      'It can change everything that its owner can change. Tokens get this scope unless another one is requested.',
    remedy:
      'Replace it with a token with scope read where that is sufficient. The rule write-unneeded finds likely candidates.',
    reference: 'RFC 9700, section 2.3: access token privilege restriction',
  },
  prepare: () => ({
    condition: WRITING,
    message: () => 'It can change everything that its owner can change.',
  }),
};

/**
 * Finds tokens with write access that are used, but whose owner changed nothing for the policy's days: as far
 * as the activity stream shows, they only read. Younger tokens are skipped.
 */
export const writeUnneeded: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  defaults: { enabled: false, severity: 'medium', days: 90, exceptions: [] },
  needs: ['last_changes', 'never_used_tokens'],
  help: {
    finds:
      'An access token with scope write that is in use, although its owner has changed nothing within the given number of days, according to the activity stream.',
    matters: 'It is only used to read. A stolen copy could also make changes.',
    remedy:
      'Replace it with a token with scope read. Off by default: it requests the activity of every owner.',
    reference:
      'RFC 9700, section 2.3: access token privilege restriction; NIST SP 800-53 AC-6: least privilege',
    parameters: { days: 'The number of days without a change by the owner. Newer tokens are not checked.' },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    return {
      condition: { all: [WRITING, { createdBefore: since }, USED] },
      whose: ({ user }) => user !== null && (facts.lastChanges.get(user.id)?.getTime() ?? 0) < since,
      message: ({ user }) =>
        `It has scope write and is in use, and its owner ${user?.username ?? ''} ${idle(user, facts)}.`,
    };
  },
};

function idle(user: Token['user'], { lastChanges, now }: Facts): string {
  const last = user === null ? undefined : lastChanges.get(user.id);
  if (last === undefined) return 'has never changed anything';
  return `has changed nothing for ${daysText(daysBetween(last, now))}`;
}

/** Finds personal access tokens without a description. An application's token has the application's name. */
export const noDescription: TokenRule = {
  appliesTo: 'tokens',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  help: {
    finds: 'A personal access token without a description.',
    matters: 'Only its owner knows what it is for, which makes it risky to revoke.',
    remedy: 'Ask the owner what it is for. Add a description, or replace it.',
    reference: 'NIST SP 800-53 AC-2: the purpose of accounts is on record',
  },
  prepare: () => ({
    condition: { all: [{ is: 'personal' }, { is: 'undescribed' }] },
    message: () => 'It has no description.',
  }),
};

/**
 * Finds several tokens with the same owner, application and description. Stores a hash of 53 bits for each
 * purpose, and the purpose only if it occurs twice: among a million purposes, two different ones collide
 * about once in ten thousand audits.
 */
export const duplicatePurpose: AggregateRule = {
  appliesTo: 'aggregates',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  help: {
    finds: 'Several access tokens with the same owner, application and description.',
    matters: 'Probably only the newest is in use, and the others were never revoked.',
    remedy: 'Find the one in use by its last use, and revoke the others.',
    reference: 'NIST SP 800-53 IA-5: authenticators are revoked when they are replaced',
  },
  prepare() {
    const counter = new HashCounter();
    const repeated = new Map<number, Purpose>();
    return {
      add({ user, application, description }) {
        if (user === null || description === '') return;
        const hash = textHash(`${user.id} ${application?.id ?? 0} ${description}`);
        if (counter.add(hash) === 2) repeated.set(hash, { user, application, description });
      },
      *violations(): Iterable<Violation> {
        for (const [hash, purpose] of repeated) {
          yield { subject: { kind: 'purpose', purpose }, message: sentence(purpose, counter.count(hash)) };
        }
      },
    };
  },
};

function sentence({ user, application, description }: Purpose, tokens: number): string {
  const place = application === null ? 'personal tokens' : `tokens of ${application.name}`;
  return `${user.username} has ${tokens} ${place} described as "${description}".`;
}

/** Finds users with more tokens than anyone can keep track of. */
export const tooManyPerUser: AggregateRule<WithTokens> = {
  appliesTo: 'aggregates',
  defaults: { enabled: true, severity: 'low', tokens: 20, exceptions: [] },
  help: {
    finds: 'A user who owns more than the given number of unexpired access tokens.',
    matters: 'Each token that is replaced but not revoked is one more that can leak.',
    remedy: 'List them with tokenctl tokens list --user NAME, and revoke those that are not used.',
    reference: 'OWASP Non-Human Identities Top 10, NHI9: NHI reuse',
    parameters: { tokens: 'The maximum number of tokens for each user.' },
  },
  prepare({ setting: { tokens: limit } }) {
    const counts = new Map<number, { readonly user: UserReference; tokens: number }>();
    return {
      add({ user }) {
        if (user === null) return;
        const count = counts.get(user.id);
        if (count === undefined) counts.set(user.id, { user, tokens: 1 });
        else count.tokens += 1;
      },
      *violations(): Iterable<Violation> {
        for (const { user, tokens } of counts.values()) {
          if (tokens <= limit) continue;
          yield {
            subject: { kind: 'user', user },
            message: `${user.username} owns ${tokens} tokens; the limit is ${limit}.`,
          };
        }
      },
    };
  },
};

import { HashCounter, textHash } from '../compact-collections.ts';
import { allowsWriting, type Token, type UserReference } from '../token.ts';
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

/** Finds tokens that were made some days ago and have never authenticated anything. */
export const neverUsedRule: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', days: 30, exceptions: [] },
  needs: ['never_used_tokens'],
  help: {
    finds: 'An access token that was never used, made longer ago than the given days.',
    matters: 'Nobody needs it, and it works. Its value may lie in a file that nobody remembers.',
    remedy: 'tokenctl tokens revoke --finding never-used.',
    reference: 'NIST SP 800-53 AC-2(3): disable what is inactive',
    parameters: { days: 'How long a new token may wait for its first use.' },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    return {
      violates: (token) => token.created.getTime() < since && neverUsed(token, facts),
      message: ({ created }) =>
        `It was made ${daysText(daysBetween(created, facts.now))} ago and has never been used.`,
    };
  },
};

/**
 * Finds tokens that nobody has used for the policy's days. One that was never used counts from its
 * creation, and is left to `never-used` while that is applied. Where tokens do not carry their last use, the
 * target's own selection decides (`Facts.unusedTokenIds`).
 */
export const unusedFor: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', days: 90, exceptions: [] },
  needs: ['unused_tokens'],
  help: {
    finds: 'An access token that was used once, and not for the given days.',
    matters: 'Nobody would notice that it is used by somebody else, and nobody would miss it.',
    remedy: 'tokenctl tokens revoke --finding unused-for.',
    reference: 'NIST SP 800-53 AC-2(3): disable what is inactive',
    parameters: { days: 'How long a token may stay unused.' },
  },
  prepare({ setting: { days }, facts, applied }) {
    const since = facts.now.getTime() - days * DAY;
    const otherFindsNeverUsed = applied('never-used');
    return {
      violates: (token) => {
        if (otherFindsNeverUsed && neverUsed(token, facts)) return false;
        const { id, lastUsed, created } = token;
        if (lastUsed === undefined) return facts.unusedTokenIds.has(id);
        return (lastUsed ?? created).getTime() < since;
      },
      message: (token) => unusedText(token, { days, now: facts.now }),
    };
  },
};

/** Whether a token was never used, by itself or by the target's own selection. */
export function neverUsed({ id, lastUsed }: Token, facts: Pick<Facts, 'neverUsedTokenIds'>): boolean {
  return lastUsed === undefined ? facts.neverUsedTokenIds.has(id) : lastUsed === null;
}

function unusedText({ created, lastUsed }: Token, { days, now }: { days: number; now: Date }): string {
  if (lastUsed === undefined) return `It has not been used for ${daysText(days)} or more.`;
  return lastUsed === null
    ? `It was made ${daysText(daysBetween(created, now))} ago and has never been used.`
    : `It was used last ${daysText(daysBetween(lastUsed, now))} ago.`;
}

/** Finds tokens that may change things: all that are made without naming a scope. */
export const writeScope: TokenRule = {
  appliesTo: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: [],
  help: {
    finds: 'An access token whose scope includes write.',
    matters:
      'It may change whatever its owner may change. Write is what a token gets when nobody asks for less.',
    remedy:
      'Where reading is enough, replace it by a token of scope read. write-unneeded says where that is likely.',
    reference: 'RFC 9700, section 2.3: access token privilege restriction',
  },
  prepare: () => ({ violates: allowsWriting, message: () => 'It may change whatever its owner may change.' }),
};

/**
 * Finds tokens that may write, are used, and whose owner has changed nothing for the policy's days: they
 * read only, as far as the activity stream tells. What is younger than that is given the time.
 */
export const writeUnneeded: TokenRule<WithDays> = {
  appliesTo: 'tokens',
  tokens: 'live',
  defaults: { enabled: false, severity: 'medium', days: 90, exceptions: [] },
  needs: ['last_changes', 'never_used_tokens'],
  help: {
    finds:
      'An access token of scope write that is in use, while its owner has changed nothing for the given days by the activity stream.',
    matters:
      'It reads only, and could do more: whoever steals it could change things that its owner never does.',
    remedy: 'Replace it by a token of scope read. Off by default: it asks for the activity of every owner.',
    reference:
      'RFC 9700, section 2.3: access token privilege restriction; NIST SP 800-53 AC-6: least privilege',
    parameters: { days: 'How long the owner must have changed nothing; younger tokens are not judged.' },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    return {
      violates: (token) =>
        token.user !== null &&
        allowsWriting(token) &&
        token.created.getTime() < since &&
        wasUsed(token, facts) &&
        (facts.lastChanges.get(token.user.id)?.getTime() ?? 0) < since,
      message: ({ user }) =>
        `It may write and is used, and its owner ${user?.username ?? ''} ${idle(user, facts)}.`,
    };
  },
};

function wasUsed({ id, lastUsed }: Token, facts: Facts): boolean {
  return lastUsed === undefined ? !facts.neverUsedTokenIds.has(id) : lastUsed !== null;
}

function idle(user: Token['user'], { lastChanges, now }: Facts): string {
  const last = user === null ? undefined : lastChanges.get(user.id);
  if (last === undefined) return 'has never changed anything';
  return `has changed nothing for ${daysText(daysBetween(last, now))}`;
}

/** Finds personal access tokens without a description. An application's token has the application's name. */
export const noDescription: TokenRule = {
  appliesTo: 'tokens',
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
    violates: ({ application, description }) => application === null && description.trim() === '',
    message: () => 'Nothing says what it is for.',
  }),
};

/**
 * Finds several tokens with one owner, one application and one description. Keeps a hash of 53 bits for each
 * purpose, and what it is only of those that came twice: among a million purposes, two that differ are taken
 * for one once in about ten thousand audits.
 */
export const duplicatePurpose: AggregateRule = {
  appliesTo: 'aggregates',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: [],
  help: {
    finds: 'Several access tokens of one user, for one application, with one description.',
    matters: 'Most likely one is in use, and the others were left behind when it was made.',
    remedy: 'Find out by their last use which one it is, and revoke the others.',
    reference: 'NIST SP 800-53 IA-5: authenticators are replaced, not gathered',
  },
  prepare() {
    const counter = new HashCounter();
    const repeated = new Map<number, Purpose>();
    return {
      add({ user, application, description }) {
        if (user === null || description === '') return;
        const hash = textHash(description, Math.imul(user.id, 31) ^ Math.imul(application?.id ?? 0, 8191));
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

/** Finds users who own more tokens than anybody keeps an eye on. */
export const tooManyPerUser: AggregateRule<WithTokens> = {
  appliesTo: 'aggregates',
  defaults: { enabled: true, severity: 'low', tokens: 20, exceptions: [] },
  needs: [],
  help: {
    finds: 'A user who owns more than the given number of access tokens that have not expired.',
    matters: 'Tokens that gather are tokens that nobody ends: each is one more copy to lose.',
    remedy: 'Look at them with tokenctl tokens list --user NAME, and revoke what is not used.',
    reference: 'OWASP Non-Human Identities Top 10, NHI9: NHI reuse',
    parameters: { tokens: 'How many tokens a user may have.' },
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

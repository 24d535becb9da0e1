import type { Token } from '../token.ts';
import type { Policy } from './policy.ts';

/** What a rule knows besides the token and the policy: gathered before, so that rules stay pure. */
export interface Facts {
  /** The instant at which tokens are judged. */
  readonly now: Date;
  /** Ids of tokens unused for the policy's days; needed where tokens do not carry their last use. */
  readonly unusedTokenIds: ReadonlySet<number>;
  /** Ids of deactivated users. */
  readonly inactiveUserIds: ReadonlySet<number>;
  /** The kind of identity provider by user id, for external users. */
  readonly externalUsers: ReadonlyMap<number, string>;
}

/** What one token is judged in. */
export interface Case {
  readonly token: Token;
  readonly facts: Facts;
  readonly policy: Policy;
}

/** Judges one token. Pure. Returns what is wrong with it as a sentence, or null. */
export type Rule = (subject: Case) => string | null;

/** A day in milliseconds. */
export const DAY = 86_400_000;

/** Whether a token has expired: it authenticates nothing from its expiry on. */
export function hasExpired(token: Pick<Token, 'expires'>, now: Date): boolean {
  return token.expires.getTime() <= now.getTime();
}

/** Days between two instants, rounded down, at least 0. */
export function daysBetween(from: Date, to: Date): number {
  return Math.max(0, Math.floor((to.getTime() - from.getTime()) / DAY));
}

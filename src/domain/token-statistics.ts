import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import { neverUsed } from './policy/condition.ts';
import { expiresNever } from './policy/lifetime-rules.ts';
import { DAY, type Facts, hasExpired } from './policy/rule.ts';
import type { Token } from './token.ts';

export interface Bar {
  readonly label: string;
  readonly tokens: number;
}

/** The number of days that are counted individually: a year. */
const CALENDAR_DAYS = 366;

const AGES: readonly (readonly [days: number, label: string])[] = [
  [7, 'up to a week'],
  [30, 'up to a month'],
  [90, 'up to 3 months'],
  [365, 'up to a year'],
  [730, 'up to 2 years'],
  [Number.POSITIVE_INFINITY, 'older'],
];
/** The steps of the last use: days ago, and their label. The last one is open-ended. */
export const useSteps: readonly (readonly [days: number, label: string])[] = [
  [1, 'within a day'],
  [7, 'within a week'],
  [30, 'within a month'],
  [90, 'within 3 months'],
  [365, 'within a year'],
  [Number.POSITIVE_INFINITY, 'longer ago'],
];
/** The steps of the expiry: days from now, and their label. The first is expired, the last open-ended. */
export const expirySteps: readonly (readonly [days: number, label: string])[] = [
  [0, 'expired'],
  [7, 'within a week'],
  [30, 'within a month'],
  [90, 'within 3 months'],
  [365, 'within a year'],
  [1825, 'within 5 years'],
  [NEVER_DAYS, 'within 100 years'],
  [Number.POSITIVE_INFINITY, 'never'],
];
const NEVER = 'never';

/**
 * Counts tokens by age, scope, last use and day of expiry, in a few hundred numbers, however many there are.
 * If tokens do not include their last use, the target's own selections provide it approximately.
 */
export class TokenStatistics {
  readonly #facts: Facts;
  readonly #unusedDays: number;
  readonly #ages = new Map(AGES.map(([, label]) => [label, 0]));
  readonly #uses = new Map<string, number>();
  readonly #scopes = new Map<string, number>();
  readonly #expirySteps = new Map(expirySteps.map(([, label]) => [label, 0]));
  readonly #calendar = new Uint32Array(CALENDAR_DAYS);
  readonly #kinds = { personal: 0, ofApplications: 0 };
  readonly #expiries = { expired: 0, later: 0, never: 0 };

  /** @param unusedDays The days that `Facts.unusedTokenIds` is about. */
  constructor(facts: Facts, { unusedDays }: { unusedDays: number }) {
    this.#facts = facts;
    this.#unusedDays = unusedDays;
  }

  add(token: Token): void {
    const age = (this.#facts.now.getTime() - token.created.getTime()) / DAY;
    increment(this.#ages, labelFor(AGES, age));
    increment(this.#scopes, token.scope === '' ? '(none)' : token.scope);
    increment(this.#uses, this.#useOf(token));
    this.#kinds[token.application === null ? 'personal' : 'ofApplications'] += 1;
    const left = (token.expires.getTime() - this.#facts.now.getTime()) / DAY;
    increment(this.#expirySteps, labelFor(expirySteps, left));
    this.#addExpiry(token);
  }

  byAge(): Bar[] {
    return bars(this.#ages);
  }

  /** Soonest first; tokens that practically never expire come last. */
  byExpiry(): Bar[] {
    return bars(this.#expirySteps);
  }

  /** In descending order. */
  byScope(): Bar[] {
    return bars(this.#scopes).sort((one, other) => other.tokens - one.tokens);
  }

  byKind(): { readonly personal: number; readonly ofApplications: number } {
    return { ...this.#kinds };
  }

  /** Most recent first, never used ones last. */
  byLastUse(): Bar[] {
    const order = [...useSteps.map(([, label]) => label), ...this.#coarseLabels(), NEVER];
    const known = order.filter((label) => this.#uses.has(label) || useSteps.some(([, use]) => use === label));
    const coarse = this.#coarseLabels().some((label) => this.#uses.has(label));
    return known
      .map((label) => ({ label, tokens: this.#uses.get(label) ?? 0 }))
      .filter(({ tokens }) => !coarse || tokens > 0);
  }

  /** Number of tokens that expire on each of the next days (UTC), starting today. */
  calendar(): readonly number[] {
    return [...this.#calendar];
  }

  /** Number of tokens that have expired, expire after the calendar's end, and practically never expire. */
  outsideCalendar(): { readonly expired: number; readonly later: number; readonly never: number } {
    return { ...this.#expiries };
  }

  #useOf(token: Token): string {
    const { id, lastUsed } = token;
    if (neverUsed(token, this.#facts)) return NEVER;
    if (lastUsed instanceof Date) {
      return labelFor(useSteps, (this.#facts.now.getTime() - lastUsed.getTime()) / DAY);
    }
    const [recent = '', long = ''] = this.#coarseLabels();
    return this.#facts.unusedTokenIds.has(id) ? long : recent;
  }

  #coarseLabels(): readonly string[] {
    return [`within ${this.#unusedDays} days`, `over ${this.#unusedDays} days ago`];
  }

  #addExpiry(token: Token): void {
    const { now } = this.#facts;
    if (hasExpired(token, now)) this.#expiries.expired += 1;
    else if (expiresNever(token, now)) this.#expiries.never += 1;
    else {
      const day = Math.floor(token.expires.getTime() / DAY) - Math.floor(now.getTime() / DAY);
      if (day < CALENDAR_DAYS) this.#calendar[day] = (this.#calendar[day] ?? 0) + 1;
      else this.#expiries.later += 1;
    }
  }
}

function labelFor(steps: readonly (readonly [number, string])[], days: number): string {
  return steps.find(([limit]) => days <= limit)?.[1] ?? '';
}

function increment(counts: Map<string, number>, label: string): void {
  counts.set(label, (counts.get(label) ?? 0) + 1);
}

function bars(counts: ReadonlyMap<string, number>): Bar[] {
  return Array.from(counts, ([label, tokens]) => ({ label, tokens }));
}

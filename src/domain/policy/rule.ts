import type { Application, RefreshToken, Token } from '../token.ts';
import type { Exception } from './exception.ts';
import type { Fact, Facts, JudgedSettings } from './facts.ts';
import type { Severity } from './severity.ts';
import type { Subject } from './subject.ts';

/** What every rule can be told. */
export interface RuleSetting {
  readonly enabled: boolean;
  readonly severity: Severity;
  readonly exceptions: readonly Exception[];
}

/** What a rule is to people: for `--explain`, SARIF and the documentation. Sentences, parameters by name. */
export interface RuleHelp {
  /** What it finds. */
  readonly finds: string;
  /** Why that matters. */
  readonly matters: string;
  /** What to do about a finding. */
  readonly remedy: string;
  /** Where the demand comes from. */
  readonly reference: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** What a rule is made ready with. */
interface Given<Setting> {
  readonly setting: Setting;
  readonly facts: Facts;
  /** Whether another rule is applied as well, which then finds what both would. */
  readonly applied: (rule: string) => boolean;
}

/** A rule that is ready to judge. Both functions are pure; a message is only asked for about what breaks. */
export interface Check<Item> {
  breaks(item: Item): boolean;
  /** What is wrong with it, as a sentence. */
  message(item: Item): string;
}

interface RuleBase<Setting extends RuleSetting> {
  readonly defaults: Setting;
  readonly help: RuleHelp;
  /** What must be known for it. */
  readonly needs: readonly Fact[];
}

/** A rule about tokens, each judged by itself. */
export interface TokenRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly judges: 'tokens';
  /** An expired token authenticates nothing, so that most rules leave it alone. */
  readonly tokens: 'live' | 'expired' | 'all';
  prepare(given: Given<Setting>): Check<Token>;
}

/** A rule about many tokens together. It sees those that have not expired. */
export interface SumRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly judges: 'sums';
  prepare(given: Given<Setting>): Sum;
}

/** Tokens being counted: keeps no tokens, only numbers and names. */
export interface Sum {
  add(token: Token): void;
  /** What is wrong, once every token was added. */
  breaches(): Iterable<Breach>;
}

/** What a sum finds. */
export interface Breach {
  readonly subject: Subject;
  readonly message: string;
}

/** A rule about OAuth2 applications. */
export interface ApplicationRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly judges: 'applications';
  prepare(given: Given<Setting>): Check<Application>;
}

/** A rule about refresh tokens. */
export interface RefreshTokenRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly judges: 'refreshTokens';
  prepare(given: Given<Setting>): Check<RefreshToken>;
}

/** A rule about one of the controller's settings. */
export interface SettingsRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly judges: 'settings';
  readonly about: keyof JudgedSettings;
  prepare(given: Given<Setting>): Check<JudgedSettings>;
}

/** The rule about the policy's own exceptions. */
export interface ExceptionRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly judges: 'exceptions';
  prepare(given: Given<Setting>): Check<Exception>;
}

/** Any rule. */
export type Rule = TokenRule | SumRule | ApplicationRule | RefreshTokenRule | SettingsRule | ExceptionRule;

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

/** A number of days in words. */
export function daysText(days: number): string {
  return days === 1 ? '1 day' : `${days} days`;
}

import type { OrphanUse } from '../dialect.ts';
import type { Application, RefreshToken, Token } from '../token.ts';
import { type Condition, holds, type Ids, type KnownUses } from './condition.ts';
import type { Exception, Subject } from './subject.ts';

/** The common parameters of every rule. */
interface RuleSetting {
  readonly enabled: boolean;
  readonly severity: Severity;
  readonly exceptions: readonly Exception[];
}

/** A rule's description: for `--explain`, SARIF and the documentation. Sentences, parameters by name. */
export interface RuleHelp {
  readonly finds: string;
  readonly matters: string;
  readonly remedy: string;
  /** The source of the requirement. */
  readonly reference: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

interface RuleContext<Setting> {
  readonly setting: Setting;
  readonly facts: Facts;
  /** Whether another rule is applied as well, which then reports what both find. */
  readonly applied: (rule: string) => boolean;
}

/** A prepared rule. Both functions are pure; a message is only requested for a violation. */
export interface Check<Item> {
  violates(item: Item): boolean;
  /** The problem as a sentence. */
  message(item: Item): string;
}

/** The ownership of a token: all that some rules need. */
export type WhoseToken = Pick<Token, 'id' | 'user' | 'application'>;

/** The parts of a token that are needed if the database evaluates the conditions of the rules. */
export type CountedToken = WhoseToken & Pick<Token, 'description' | 'expires'>;

/** A check of tokens in two parts that must both match; absent if only the whole can be evaluated. */
export interface TokenCheck extends Check<Token> {
  readonly parts?: TokenParts;
}

interface TokenParts {
  /** The condition on the token itself. */
  readonly condition: Condition;
  /** The condition on its ownership; default: any. */
  readonly whose?: ((token: WhoseToken) => boolean) | undefined;
}

type PartsCheck = TokenParts & Pick<Check<Token>, 'message'>;

/** The check of a rule, as a whole or from its parts. */
export function checkOf(prepared: TokenCheck | PartsCheck, facts: Facts): TokenCheck {
  if ('violates' in prepared) return prepared;
  const { condition, whose, message } = prepared;
  const isMet = holds(condition, facts);
  const violates = whose === undefined ? isMet : (token: Token) => isMet(token) && whose(token);
  return { parts: { condition, whose }, violates, message };
}

/** The check of a rule that only concerns ownership. */
export function checkOfOwner(
  whose: (token: WhoseToken) => boolean,
  message: Check<Token>['message'],
): TokenCheck {
  return { parts: { condition: { all: [] }, whose }, violates: whose, message };
}

interface RuleBase<Setting extends RuleSetting> {
  readonly defaults: Setting;
  readonly help: RuleHelp;
  /** The facts that it needs in addition to the tokens. */
  readonly needs?: readonly Fact[];
  /** The facts that its messages include if known. */
  readonly tells?: readonly Fact[];
  /** The severity if facts make findings less severe; replaces only the default severity. */
  readonly severityHere?: (facts: Facts) => Severity | null;
}

/** A rule that evaluates each token separately. */
export interface TokenRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'tokens';
  /** Default: live tokens. An expired token authenticates nothing, so that most rules skip it. */
  readonly tokens?: 'expired' | 'all';
  prepare(given: RuleContext<Setting>): TokenCheck | PartsCheck;
}

/** A rule about many tokens together. It gets the tokens that have not expired. */
export interface AggregateRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'aggregates';
  prepare(given: RuleContext<Setting>): Aggregate;
}

/** Counts tokens: stores no tokens, only numbers and names. */
export interface Aggregate {
  add(token: CountedToken): void;
  /** The violations, after every token was added. */
  violations(): Iterable<Violation>;
}

export interface Violation {
  readonly subject: Subject;
  readonly message: string;
}

export interface ApplicationRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'applications';
  prepare(given: RuleContext<Setting>): Check<Application>;
}

export interface RefreshTokenRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'refreshTokens';
  prepare(given: RuleContext<Setting>): Check<RefreshToken>;
}

export interface SettingsRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'settings';
  readonly about: keyof PolicySettings;
  prepare(given: RuleContext<Setting>): Check<PolicySettings>;
}

export interface ExceptionRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'exceptions';
  prepare(given: RuleContext<Setting>): Check<Exception>;
}

export type Rule =
  | TokenRule
  | AggregateRule
  | ApplicationRule
  | RefreshTokenRule
  | SettingsRule
  | ExceptionRule;

export const DAY = 86_400_000;

/** Whether a token has expired: it no longer authenticates anything. */
export function hasExpired(token: Pick<Token, 'expires'>, now: Date): boolean {
  return token.expires.getTime() <= now.getTime();
}

/** Days between two instants, rounded down, at least 0. */
export function daysBetween(from: Date, to: Date): number {
  return Math.max(0, Math.floor((to.getTime() - from.getTime()) / DAY));
}

export function daysText(days: number): string {
  return days === 1 ? '1 day' : `${days} days`;
}

export interface WithDays extends RuleSetting {
  readonly days: number;
}

export interface WithHours extends RuleSetting {
  readonly hours: number;
}

export interface WithTokens extends RuleSetting {
  readonly tokens: number;
}

/** A rule with a number and a share of tokens; both must be reached. */
export interface WithShare extends WithTokens {
  /** Of the tokens that have not expired. */
  readonly percent: number;
}

/** A rule about certain users, as names or patterns; without any it finds nothing. */
export interface WithUsers extends RuleSetting {
  readonly users: readonly string[];
}

/** The severities of findings, lowest first. */
export const severities = ['low', 'medium', 'high', 'critical'] as const;

export type Severity = (typeof severities)[number];

export function atLeast(severity: Severity, threshold: Severity): boolean {
  return severities.indexOf(severity) >= severities.indexOf(threshold);
}

/** For sorting: the most severe first. */
export function mostSevereFirst(one: { severity: Severity }, other: { severity: Severity }): number {
  return severities.indexOf(other.severity) - severities.indexOf(one.severity);
}

export function zeroBySeverity(): Record<Severity, number> {
  return { low: 0, medium: 0, high: 0, critical: 0 };
}

/** The settings that rules evaluate, by the controller's names. Times are in seconds; null if missing. */
export interface PolicySettings {
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean | null;
  readonly SESSION_COOKIE_AGE: number;
  /** The maximum number of sessions per user; -1 for no limit. Null on a gateway: it counts differently. */
  readonly SESSIONS_PER_USER: number | null;
  /** A gateway's limit, not counting the newest. */
  readonly MAX_EXTRA_SESSIONS_PER_USER?: number | null;
  readonly OAUTH2_PROVIDER: {
    readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
    readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
  } | null;
}

/** The parts of an open lease that rules need, from `Lease` in leases.ts. */
interface KnownLease {
  readonly id: string;
  readonly until: string;
  readonly token: (Pick<Token, 'id' | 'fingerprint'> & { readonly created: string }) | null;
  readonly owner: { readonly id: number | null };
  readonly isOverdue: boolean;
}

/** Facts about the target that rules need, collected before the audit, so that rules stay pure. */
export interface Facts extends KnownUses {
  /** The reference time of the audit. */
  readonly now: Date;
  readonly inactiveUserIds: Ids;
  readonly superuserIds: Ids;
  /** The kind of identity provider by user id, for external users. */
  readonly externalUsers: ReadonlyMap<number, string>;
  /** When a directory last compared an external user; null if none did. Read only if a rule needs it. */
  readonly lastCompared?: ReadonlyMap<number, Date | null>;
  /** Users who had left by a directory's last answer, with its name and time. */
  readonly left?: ReadonlyMap<number, { readonly directory: string; readonly at: Date }>;
  /** The open leases by token id, those that end first in front. Read only if a rule needs them. */
  readonly leases?: ReadonlyMap<number, readonly KnownLease[]>;
  /** A user's last change in the activity stream; users without one are missing. */
  readonly lastChanges: ReadonlyMap<number, Date>;
  /** What a refresh token without its access token can do there; default: `assumed`. */
  readonly orphanUse?: OrphanUse;
  /** Null if no applied rule needs them. */
  readonly settings: PolicySettings | null;
  /** Whether a gateway stores working tokens in clear text. */
  readonly tokensInClear: boolean;
}

/** A kind of fact that a target may refuse to provide: the rules that need it are then not checked. */
export type Fact =
  | 'unused_tokens'
  | 'never_used_tokens'
  | 'users'
  | 'inactive_users'
  | 'directories'
  | 'leases'
  | 'last_changes'
  | 'settings'
  | 'external_tokens'
  | 'token_lifetimes'
  | 'session_limit'
  | 'pkce'
  | 'applications'
  | 'refresh_tokens'
  | 'token_storage';

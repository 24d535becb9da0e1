import type { OrphanUse } from '../dialect.ts';
import type { Application, RefreshToken, Token } from '../token.ts';
import { type Condition, holds, type Ids, type KnownUses } from './condition.ts';
import type { Exception, Subject } from './subject.ts';

/** What every rule can be told. */
interface RuleSetting {
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

interface RuleContext<Setting> {
  readonly setting: Setting;
  readonly facts: Facts;
  /** Whether another rule is applied as well, which then finds what both would. */
  readonly applied: (rule: string) => boolean;
}

/** A rule that is ready to judge. Both functions are pure; a message is only asked for about what breaks. */
export interface Check<Item> {
  violates(item: Item): boolean;
  /** What is wrong with it, as a sentence. */
  message(item: Item): string;
}

/** Whose a token is: all that some rules look at. */
export type WhoseToken = Pick<Token, 'id' | 'user' | 'application'>;

/** A token as far as it is judged where the database decides the conditions of the rules. */
export type CountedToken = WhoseToken & Pick<Token, 'description' | 'expires'>;

/** A check of tokens in two parts, both of which must hold; absent where only the whole can be judged. */
export interface TokenCheck extends Check<Token> {
  readonly parts?: TokenParts;
}

interface TokenParts {
  /** What the token must be by itself. */
  readonly condition: Condition;
  /** Whose it must be; anybody's where absent. */
  readonly whose?: ((token: WhoseToken) => boolean) | undefined;
}

/** A check of tokens by its parts alone. */
type PartsCheck = TokenParts & Pick<Check<Token>, 'message'>;

/** The check of a rule, as a whole or by its parts. */
export function checkOf(prepared: TokenCheck | PartsCheck, facts: Facts): TokenCheck {
  if ('violates' in prepared) return prepared;
  const { condition, whose, message } = prepared;
  const isMet = holds(condition, facts);
  const violates = whose === undefined ? isMet : (token: Token) => isMet(token) && whose(token);
  return { parts: { condition, whose }, violates, message };
}

/** The check of a rule that only asks whose a token is. */
export function checkOfOwner(
  whose: (token: WhoseToken) => boolean,
  message: Check<Token>['message'],
): TokenCheck {
  return { parts: { condition: { all: [] }, whose }, violates: whose, message };
}

interface RuleBase<Setting extends RuleSetting> {
  readonly defaults: Setting;
  readonly help: RuleHelp;
  /** What must be known for it, beside the tokens. */
  readonly needs?: readonly Fact[];
  /** What its messages have as well where it is known. */
  readonly tells?: readonly Fact[];
  /** The severity where the facts make findings less severe; replaces only the default severity. */
  readonly severityHere?: (facts: Facts) => Severity | null;
}

/** A rule about tokens, each judged by itself. */
export interface TokenRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'tokens';
  /** Live tokens where absent: an expired token authenticates nothing, so that most rules leave it alone. */
  readonly tokens?: 'expired' | 'all';
  prepare(given: RuleContext<Setting>): TokenCheck | PartsCheck;
}

/** A rule about many tokens together. It sees those that have not expired. */
export interface AggregateRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'aggregates';
  prepare(given: RuleContext<Setting>): Aggregate;
}

/** Tokens being counted: keeps no tokens, only numbers and names. */
export interface Aggregate {
  add(token: CountedToken): void;
  /** What is wrong, once every token was added. */
  violations(): Iterable<Violation>;
}

/** One violation that an aggregate finds. */
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

/** A rule about one of the controller's settings. */
export interface SettingsRule<Setting extends RuleSetting = RuleSetting> extends RuleBase<Setting> {
  readonly appliesTo: 'settings';
  readonly about: keyof PolicySettings;
  prepare(given: RuleContext<Setting>): Check<PolicySettings>;
}

/** The rule about the policy's own exceptions. */
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

/** A rule with a limit in days. */
export interface WithDays extends RuleSetting {
  readonly days: number;
}

/** A rule with a limit in hours. */
export interface WithHours extends RuleSetting {
  readonly hours: number;
}

/** A rule with a number of tokens. */
export interface WithTokens extends RuleSetting {
  readonly tokens: number;
}

/** A rule with a number and a share of tokens; both must be reached. */
export interface WithShare extends WithTokens {
  /** Of the tokens that have not expired. */
  readonly percent: number;
}

/** A rule that knows some users by name, each a name or a pattern; without any it finds nothing. */
export interface WithUsers extends RuleSetting {
  readonly users: readonly string[];
}

/** How much a finding matters, least first. */
export const severities = ['low', 'medium', 'high', 'critical'] as const;

export type Severity = (typeof severities)[number];

/** Whether a severity is at or above another. */
export function atLeast(severity: Severity, threshold: Severity): boolean {
  return severities.indexOf(severity) >= severities.indexOf(threshold);
}

/** A count of nothing yet for each severity. */
export function zeroBySeverity(): Record<Severity, number> {
  return { low: 0, medium: 0, high: 0, critical: 0 };
}

/** The settings that rules judge, in the controller's names. Times are in seconds; null is what a target has not. */
export interface PolicySettings {
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean | null;
  readonly SESSION_COOKIE_AGE: number;
  /** How many sessions a user has at most; -1 for any number. Null on a gateway, which counts in another way. */
  readonly SESSIONS_PER_USER: number | null;
  /** Beside the newest: a gateway's limit. */
  readonly MAX_EXTRA_SESSIONS_PER_USER?: number | null;
  readonly OAUTH2_PROVIDER: {
    readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
    readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
  } | null;
}

/** What rules need to know of an open lease, as `Lease` of leases.ts has it. */
interface KnownLease {
  readonly id: string;
  readonly until: string;
  readonly token: (Pick<Token, 'id' | 'fingerprint'> & { readonly created: string }) | null;
  readonly owner: { readonly id: number | null };
  readonly isOverdue: boolean;
}

/** What rules need to know about the target: collected before the audit, so that rules stay pure. */
export interface Facts extends KnownUses {
  /** The instant at which everything is judged. */
  readonly now: Date;
  readonly inactiveUserIds: Ids;
  /** Ids of users who may do everything. */
  readonly superuserIds: Ids;
  /** The kind of identity provider by user id, for external users. */
  readonly externalUsers: ReadonlyMap<number, string>;
  /** When a directory last compared an external user; null if none did. Read where a rule needs it. */
  readonly lastCompared?: ReadonlyMap<number, Date | null>;
  /** Who had left by the last answer of a directory, with its name and time. */
  readonly left?: ReadonlyMap<number, { readonly directory: string; readonly at: Date }>;
  /** The open leases by the ids of their tokens, those that end first before others. Read where a rule needs them. */
  readonly leases?: ReadonlyMap<number, readonly KnownLease[]>;
  /** When a user last changed anything by the activity stream; none for who never did. */
  readonly lastChanges: ReadonlyMap<number, Date>;
  /** What a refresh token without its access token can do there; `assumed` where absent. */
  readonly orphanUse?: OrphanUse;
  /** Null where no applied rule needs them. */
  readonly settings: PolicySettings | null;
  /** Whether a gateway stores working tokens in clear. */
  readonly tokensInClear: boolean;
}

/** A kind of fact that a target may refuse to tell: the rules that need it are not checked then. */
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

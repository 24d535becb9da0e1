import { HashCounter, textHash } from '../compact-collections.ts';
import type { Rows } from '../rows.ts';
import type { Application, RefreshToken, Token } from '../token.ts';
import type { TokenStatistics } from '../token-statistics.ts';
import type { Condition } from './condition.ts';
import { enabledRules, type Policy, type RuleName, ruleOf } from './policy.ts';
import {
  type Aggregate,
  type Check,
  type CountedToken,
  checkOf,
  type Facts,
  hasExpired,
  type PolicySettings,
  type Rule,
  type Severity,
  type TokenCheck,
} from './rule.ts';
import {
  type Exception,
  type Excusable,
  exceptionMatches,
  excusable,
  isExpiredException,
  type Subject,
  subjectKey,
} from './subject.ts';

/** One rule's verdict on one subject. */
export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly subject: Subject;
  // Made when it is asked for: most findings of a large audit are only counted.
  /** What is wrong, as a sentence. */
  readonly message: string;
  /** Present on findings that the baseline has. */
  readonly isKnown?: true;
}

/** A finding of the baseline that is neither found nor suppressed any more. */
export interface FixedFinding {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** As of `subjectKey`. */
  readonly key: string;
}

/** A finding whose message its rule makes when asked for it. */
class LazyFinding<Item> implements Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly subject: Subject;
  readonly #check: Check<Item>;
  readonly #item: Item;

  constructor(
    { rule, severity, check }: { rule: RuleName; severity: Severity; check: Check<Item> },
    subject: Subject,
    item: Item,
  ) {
    this.rule = rule;
    this.severity = severity;
    this.subject = subject;
    this.#check = check;
    this.#item = item;
  }

  get message(): string {
    return this.#check.message(this.#item);
  }
}

/** What names a finding from run to run: the rule and the subject, as `never-used token:17`. */
export function findingKey({ rule, subject }: Pick<Finding, 'rule' | 'subject'>): string {
  return `${rule} ${subjectKey(subject)}`;
}

/**
 * Findings that are known already, by their keys: those do not count. Kept as hashes of 53 bits, so that a
 * million of them take little memory; that a new finding is taken for a known one has a chance of one in ten
 * thousand million then.
 */
export class Baseline {
  readonly #keys = new HashCounter();
  readonly #byRule = new Map<string, number>();
  /** In the order of the file; null if they are not kept. */
  readonly #names: string[] | null;
  readonly #seen = new HashCounter();

  /** @param keepsKeys Keeps the keys themselves as well, for {@link Baseline.unseen}. */
  constructor(keepsKeys = false) {
    this.#names = keepsKeys ? [] : null;
  }

  /** @param key As of `findingKey`. */
  add(key: string): void {
    if (this.#keys.add(textHash(key)) > 1) return;
    this.#names?.push(key);
    const rule = key.slice(0, Math.max(0, key.indexOf(' ')));
    this.#byRule.set(rule, this.sizeOf(rule) + 1);
  }

  /** How many findings of a rule it knows. */
  sizeOf(rule: string): number {
    return this.#byRule.get(rule) ?? 0;
  }

  has(key: string): boolean {
    return this.#keys.count(textHash(key)) > 0;
  }

  /** Notes that a finding exists. */
  see(key: string): void {
    if (this.#names !== null) this.#seen.add(textHash(key));
  }

  /** The keys of findings that were not noted to exist; none if the keys are not kept. */
  *unseen(): Iterable<string> {
    for (const key of this.#names ?? []) if (this.#seen.count(textHash(key)) === 0) yield key;
  }

  /** How many findings it knows. */
  get size(): number {
    return this.#keys.size;
  }
}

interface PolicyEvaluatorOptions {
  readonly policy: Policy;
  readonly facts: Facts;
  /** The rules to judge by; the policy's other rules are as if they were applied elsewhere. */
  readonly rules: readonly RuleName[];
  /** Told what an exception keeps away. */
  readonly onExcused?: ((rule: RuleName, subject: Subject) => void) | undefined;
}

interface Prepared {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** Those that still hold. */
  readonly exceptions: readonly Exception[];
}

type PreparedCheck<Item> = Prepared & { readonly check: Check<Item> };

type PreparedTokenCheck = Prepared & {
  readonly check: TokenCheck;
  /** That of its condition among all. */
  readonly bit: number;
};

/** As many conditions of tokens as an integer of SQL has bits, its sign left out. */
const MOST_CONDITIONS = 31;

/**
 * Judges by a policy, one thing after the other. Findings are appended to the list that is handed in, so
 * that a token without one costs no memory at all. What an exception is meant for is counted in `excused`.
 */
export class PolicyEvaluator {
  readonly #now: Date;
  readonly #live: PreparedTokenCheck[] = [];
  readonly #expired: PreparedTokenCheck[] = [];
  readonly #conditions: Condition[] = [];
  #hasWhole = false;
  readonly #aggregates: (Prepared & { readonly aggregate: Aggregate })[] = [];
  readonly #applications: PreparedCheck<Application>[] = [];
  readonly #refreshTokens: PreparedCheck<RefreshToken>[] = [];
  readonly #settings: (PreparedCheck<PolicySettings> & { readonly about: string })[] = [];
  readonly #exceptions: PreparedCheck<Exception>[] = [];
  readonly #policy: Policy;
  readonly #rules: readonly RuleName[];
  readonly #excused = new Map<RuleName, number>();
  readonly #onExcused: PolicyEvaluatorOptions['onExcused'];

  constructor({ policy, facts, rules, onExcused }: PolicyEvaluatorOptions) {
    this.#onExcused = onExcused;
    this.#now = facts.now;
    this.#policy = policy;
    this.#rules = rules;
    const appliedAtAll = new Set<string>(enabledRules(policy));
    const applied = (rule: string) => appliedAtAll.has(rule);
    for (const name of rules) {
      const setting = policy[name];
      const exceptions = setting.exceptions.filter((exception) => !isExpiredException(exception, facts.now));
      const rule = ruleOf(name);
      const isDefault = setting.severity === rule.defaults.severity;
      const severity = (isDefault ? rule.severityHere?.(facts) : null) ?? setting.severity;
      const prepared = { rule: name, severity, exceptions };
      this.#prepare(rule, prepared, { setting, facts, applied });
    }
  }

  /** How many findings exceptions have kept away, by rule. */
  get excused(): ReadonlyMap<RuleName, number> {
    return this.#excused;
  }

  /** Judges a token, and adds it to what is judged of many together. */
  token(token: Token, into: Finding[]): void {
    const expired = hasExpired(token, this.#now);
    for (const each of expired ? this.#expired : this.#live) {
      if (each.check.violates(token)) this.#report(each, { kind: 'token', token }, { item: token, into });
    }
    if (expired) return;
    for (const { aggregate } of this.#aggregates) aggregate.add(token);
  }

  /**
   * What the target may decide of each token by itself, for {@link countedToken}; null if a rule has to see tokens whole.
   */
  get conditions(): readonly Condition[] | null {
    return this.#hasWhole || this.#conditions.length > MOST_CONDITIONS ? null : this.#conditions;
  }

  /**
   * Judges a token of which the conditions are decided, and adds it to what is judged of many together.
   * @param met The conditions that it meets: a bit each, the lowest for the first.
   * @param count Told the rule of each finding.
   */
  countedToken(
    token: CountedToken,
    met: number,
    count: (finding: { readonly rule: RuleName; readonly severity: Severity }) => void,
  ): void {
    const expired = hasExpired(token, this.#now);
    for (const each of expired ? this.#expired : this.#live) {
      if ((met & each.bit) === 0 || each.check.parts?.whose?.(token) === false) continue;
      if (each.exceptions.length > 0 && this.#countExcused(each.rule, each.exceptions, token)) continue;
      count(each);
    }
    if (expired) return;
    for (const { aggregate } of this.#aggregates) aggregate.add(token);
  }

  /** Judges what only shows once every token was there. */
  aggregates(into: Finding[]): void {
    for (const { aggregate, rule, severity, exceptions } of this.#aggregates) {
      for (const { subject, message } of aggregate.violations()) {
        if (!this.#isExcused(rule, exceptions, subject)) into.push({ rule, severity, subject, message });
      }
    }
  }

  application(application: Application, into: Finding[]): void {
    for (const each of this.#applications) {
      if (!each.check.violates(application)) continue;
      this.#report(each, { kind: 'application', application }, { item: application, into });
    }
  }

  refreshToken(refreshToken: RefreshToken, into: Finding[]): void {
    for (const each of this.#refreshTokens) {
      if (!each.check.violates(refreshToken)) continue;
      this.#report(each, { kind: 'refreshToken', refreshToken }, { item: refreshToken, into });
    }
  }

  settings(settings: PolicySettings, into: Finding[]): void {
    for (const each of this.#settings) {
      if (!each.check.violates(settings)) continue;
      this.#report(each, { kind: 'setting', setting: each.about }, { item: settings, into });
    }
  }

  /** Judges the exceptions of the rules that are applied. */
  exceptions(into: Finding[]): void {
    for (const each of this.#exceptions) {
      for (const rule of this.#rules) {
        this.#policy[rule].exceptions.forEach((exception, index) => {
          if (!each.check.violates(exception)) return;
          const reference = { rule, number: index + 1, reason: exception.reason };
          this.#report(each, { kind: 'exception', exception: reference }, { item: exception, into });
        });
      }
    }
  }

  #report<Item>(
    each: PreparedCheck<Item>,
    subject: Subject,
    { item, into }: { item: Item; into: Finding[] },
  ): void {
    if (this.#isExcused(each.rule, each.exceptions, subject)) return;
    into.push(new LazyFinding(each, subject, item));
  }

  #isExcused(rule: RuleName, exceptions: readonly Exception[], subject: Subject): boolean {
    if (exceptions.length === 0 || !this.#countExcused(rule, exceptions, excusable(subject))) return false;
    this.#onExcused?.(rule, subject);
    return true;
  }

  #countExcused(rule: RuleName, exceptions: readonly Exception[], of: Excusable): boolean {
    if (!exceptions.some((exception) => exceptionMatches(exception, of))) return false;
    this.#excused.set(rule, (this.#excused.get(rule) ?? 0) + 1);
    return true;
  }

  #prepare(rule: Rule, prepared: Prepared, given: Parameters<Rule['prepare']>[0]): void {
    switch (rule.appliesTo) {
      case 'tokens': {
        const check = checkOf(rule.prepare(given), given.facts);
        if (check.parts === undefined) this.#hasWhole = true;
        const number = check.parts === undefined ? 0 : this.#conditions.push(check.parts.condition) - 1;
        const each = { ...prepared, check, bit: 1 << number };
        if (rule.tokens !== 'expired') this.#live.push(each);
        if (rule.tokens !== undefined) this.#expired.push(each);
        break;
      }
      case 'aggregates':
        this.#aggregates.push({ ...prepared, aggregate: rule.prepare(given) });
        break;
      case 'applications':
        this.#applications.push({ ...prepared, check: rule.prepare(given) });
        break;
      case 'refreshTokens':
        this.#refreshTokens.push({ ...prepared, check: rule.prepare(given) });
        break;
      case 'settings':
        this.#settings.push({ ...prepared, about: rule.about, check: rule.prepare(given) });
        break;
      case 'exceptions':
        this.#exceptions.push({ ...prepared, check: rule.prepare(given) });
        break;
    }
  }
}

/** A rule that could not be checked, and why. */
export interface NotChecked {
  readonly rule: RuleName;
  readonly why: string;
}

export interface AuditSummary {
  readonly tokensRead: number;
  /** How many findings there are, known ones left out. */
  readonly found: number;
  readonly bySeverity: Readonly<Record<Severity, number>>;
  /** By every rule that was checked, those that found nothing included. */
  readonly byRule: Readonly<Record<string, number>>;
  /** The severities that differ from the policy's, because of the version of the target; absent if none does. */
  readonly severities?: Partial<Readonly<Record<RuleName, Severity>>>;
  /** How many findings exceptions have kept away, by rule. */
  readonly excused: Readonly<Record<string, number>>;
  /** How many findings the baseline knows already; null without one. */
  readonly known: number | null;
  /**
   * How many findings of the baseline, of rules that were checked, are neither found nor suppressed any more;
   * null without a baseline, for a selection, and for an account that sees only part.
   */
  readonly fixed: number | null;
  /** Applied rules that could not be checked here, and why: what they would find is not known. */
  readonly notChecked: readonly NotChecked[];
}

/** An audit under way. */
export interface Audit {
  readonly policy: Policy;
  /** The instant that ages are counted from. */
  readonly now: Date;
  /** Which tokens are audited, in words. */
  readonly selection: string;
  /** The rules that were asked for; null for all that the policy has enabled. */
  readonly only: readonly RuleName[] | null;
  /** Streams what is found, to be read once: what is read is counted, and nothing is kept. Some may only be counted. */
  readonly findings: Rows<Finding>;
  /** What was counted, once the findings have ended. */
  summary(): AuditSummary;
  /** What `summary` counts as fixed, once the findings have ended, if the baseline keeps its keys; none otherwise. */
  fixed(): Iterable<FixedFinding>;
  /** The tokens in numbers, once the findings have ended; null if they were not requested. */
  readonly statistics: TokenStatistics | null;
}

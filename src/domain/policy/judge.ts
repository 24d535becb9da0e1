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

/** A rule's finding for one subject. */
export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly subject: Subject;
  // Created lazily: most findings of a large audit are only counted.
  /** The problem as a sentence. */
  readonly message: string;
  /** Present on findings that are in the baseline. */
  readonly isKnown?: true;
}

/** A finding of the baseline that is neither found nor suppressed any more. */
export interface FixedFinding {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** As returned by `subjectKey`. */
  readonly key: string;
}

/** A finding whose rule creates its message lazily. */
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

/** The key of a finding, stable between runs: the rule and the subject, such as `never-used token:17`. */
export function findingKey({ rule, subject }: Pick<Finding, 'rule' | 'subject'>): string {
  return `${rule} ${subjectKey(subject)}`;
}

/**
 * Known findings, by key: they do not count. Stored as hashes of 53 bits, so that a million take little
 * memory; a new finding then has a chance of one in ten billion to be taken for a known one.
 */
export class Baseline {
  readonly #keys = new HashCounter();
  readonly #byRule = new Map<string, number>();
  /** In the order of the file; null if not stored. */
  readonly #names: string[] | null;
  readonly #seen = new HashCounter();

  /** @param keepsKeys Also stores the keys themselves, for {@link Baseline.unseen}. */
  constructor(keepsKeys = false) {
    this.#names = keepsKeys ? [] : null;
  }

  /** @param key As returned by `findingKey`. */
  add(key: string): void {
    if (this.#keys.add(textHash(key)) > 1) return;
    this.#names?.push(key);
    const rule = key.slice(0, Math.max(0, key.indexOf(' ')));
    this.#byRule.set(rule, this.sizeOf(rule) + 1);
  }

  /** The number of a rule's findings. */
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

  /** The keys of findings not noted to exist; empty if the keys are not stored. */
  *unseen(): Iterable<string> {
    for (const key of this.#names ?? []) if (this.#seen.count(textHash(key)) === 0) yield key;
  }

  get size(): number {
    return this.#keys.size;
  }
}

interface PolicyEvaluatorOptions {
  readonly policy: Policy;
  readonly facts: Facts;
  /** The rules to evaluate; the policy's other rules count as evaluated elsewhere. */
  readonly rules: readonly RuleName[];
  /** Called for what an exception suppresses. */
  readonly onExcused?: ((rule: RuleName, subject: Subject) => void) | undefined;
}

interface Prepared {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** Unexpired exceptions. */
  readonly exceptions: readonly Exception[];
}

type PreparedCheck<Item> = Prepared & { readonly check: Check<Item> };

type PreparedTokenCheck = Prepared & { readonly check: TokenCheck; readonly bit: number };

/** The maximum number of token conditions: the bits of an SQL integer without its sign. */
const MOST_CONDITIONS = 31;

/**
 * Evaluates a policy, one subject after the other. Findings are appended to the given list, so that a token
 * without one costs no memory. What an exception suppresses is counted in `excused`.
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

  /** Number of findings suppressed by exceptions, by rule. */
  get excused(): ReadonlyMap<RuleName, number> {
    return this.#excused;
  }

  /** Evaluates a token, and adds it to the aggregate rules. */
  token(token: Token, into: Finding[]): void {
    const expired = hasExpired(token, this.#now);
    for (const each of expired ? this.#expired : this.#live) {
      if (each.check.violates(token)) this.#report(each, { kind: 'token', token }, { item: token, into });
    }
    if (expired) return;
    for (const { aggregate } of this.#aggregates) aggregate.add(token);
  }

  /** The conditions for a target to evaluate, for {@link countedToken}; null if a rule needs whole tokens. */
  get conditions(): readonly Condition[] | null {
    return this.#hasWhole || this.#conditions.length > MOST_CONDITIONS ? null : this.#conditions;
  }

  /**
   * Evaluates a token whose conditions are decided, and adds it to the aggregate rules.
   * @param met The conditions that it meets: one bit each, the lowest for the first.
   * @param count Called with the rule of each finding.
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

  /** Evaluates the aggregate rules after all tokens. */
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

  /** Evaluates the exceptions of the applied rules. */
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
  /** Number of findings, without known ones. */
  readonly found: number;
  readonly bySeverity: Readonly<Record<Severity, number>>;
  /** By every rule that was checked, including rules without findings. */
  readonly byRule: Readonly<Record<string, number>>;
  /** The severities that differ from the policy's because of the target's version; absent if none do. */
  readonly severities?: Partial<Readonly<Record<RuleName, Severity>>>;
  /** Number of findings suppressed by exceptions, by rule. */
  readonly excused: Readonly<Record<string, number>>;
  /** Number of findings that the baseline contains; null without one. */
  readonly known: number | null;
  /**
   * Number of baseline findings, of rules that were checked, that are neither found nor suppressed any more;
   * null without a baseline, for a selection, and for an account that does not see everything.
   */
  readonly fixed: number | null;
  /** Applied rules that could not be checked here, and why: their findings are unknown. */
  readonly notChecked: readonly NotChecked[];
}

export interface Audit {
  readonly policy: Policy;
  /** The instant for all ages. */
  readonly now: Date;
  /** The audited tokens, in words. */
  readonly selection: string;
  /** The requested rules; null for all that the policy has enabled. */
  readonly only: readonly RuleName[] | null;
  /** Streams the findings, to be read once: each is counted when read, not stored. Some are only counted. */
  readonly findings: Rows<Finding>;
  /** The counts, after the findings have ended. */
  summary(): AuditSummary;
  /** The findings counted as fixed, after the findings have ended, if the baseline stores its keys. */
  fixed(): Iterable<FixedFinding>;
  /** The statistics of the tokens, after the findings have ended; null if not requested. */
  readonly statistics: TokenStatistics | null;
}

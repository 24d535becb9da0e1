import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  type Audit,
  type AuditSummary,
  type Baseline,
  type Finding,
  type FixedFinding,
  findingKey,
  type NotChecked,
  PolicyEvaluator,
} from '../../domain/policy/judge.ts';
import { enabledRules, type RuleName, requireUsable, ruleOf } from '../../domain/policy/policy.ts';
import { type Facts, type Rule, type Severity, zeroBySeverity } from '../../domain/policy/rule.ts';
import { Rows } from '../../domain/rows.ts';
import { describeSelector, type Selector, validateSelector, wholeSelection } from '../../domain/selector.ts';
import { TokenStatistics } from '../../domain/token-statistics.ts';
import type { Clock } from '../ports/clock.ts';
import type { RefreshTokenSelector } from '../ports/target-parts.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { partOf } from '../scope/target-parts.ts';
import { type FactsWanted, type Gathered, gatherFacts, isRefusal } from './audit-facts.ts';

export interface AuditTokensOptions extends Pick<FactsWanted, 'target' | 'selector' | 'policy' | 'openLog'> {
  readonly clock: Clock;
  /** Restricts the policy's enabled rules to these. */
  readonly rules?: readonly RuleName[] | undefined;
  /** Known findings, which do not count. */
  readonly baseline?: Baseline | undefined;
  /** Also yields findings of the baseline, marked as known. They are not counted as found. */
  readonly withKnown?: boolean;
  /** Called with the key of every finding, including known ones. */
  readonly onKey?: ((key: string) => void) | undefined;
  /** Only counts the findings of single tokens, without yielding them, if that is cheaper. */
  readonly countOnly?: boolean;
  /** Also counts tokens by age, scope, use and expiry. */
  readonly statistics?: boolean;
}

/**
 * Checks the selected tokens against a policy, and if every token is selected, the applications and settings
 * as well. Reads only. Uses the same memory for a million tokens as for one.
 *
 * A rule whose facts the target refuses is listed in `notChecked`: it never passes silently.
 * @throws TokenctlError `usage` for an invalid selector, `not_found` for an unknown name, and whatever the
 * target throws; errors while tokens are read are thrown by `findings`.
 */
export async function auditTokens(options: AuditTokensOptions): Promise<Audit> {
  const { target, selector, policy } = options;
  validateSelector(selector);
  await resolveNames(target, selector);
  const now = options.clock.now();
  // The rules for the selection. A selection of tokens excludes rules about settings and applications.
  const rules = (options.rules ?? enabledRules(policy)).filter((name) => isFor(selector, ruleOf(name)));
  const gathered = await gatherFacts({ target, selector, policy, rules, now, openLog: options.openLog });
  const statistics =
    options.statistics === true
      ? new TokenStatistics(gathered.facts, { unusedDays: policy['unused-for'].days })
      : null;
  const isWhole =
    options.baseline !== undefined &&
    selector.all === true &&
    (await target.describe()).visibility.kind === 'all';
  const run = new AuditRun(options, { ...gathered, statistics, isWhole });
  return {
    policy,
    now,
    selection: describeSelector(selector),
    only: options.rules === undefined ? null : rules,
    findings: run.findings(),
    summary: () => run.summary(),
    fixed: () => run.fixed(),
    statistics,
  };
}

/** One reading of all tokens, with its counters. */
class AuditRun {
  readonly #options: AuditTokensOptions;
  readonly #gathered: Gathered;
  readonly #facts: Facts;
  readonly #statistics: TokenStatistics | null;
  readonly #evaluator: PolicyEvaluator;
  readonly #bySeverity = zeroBySeverity();
  readonly #severities = new Map<RuleName, Severity>();
  readonly #byRule: Map<RuleName, number>;
  readonly #notChecked: NotChecked[];
  #tokensRead = 0;
  #found = 0;
  #known = 0;
  /** Number of the baseline's findings that still exist, found or suppressed, by rule. */
  readonly #remaining = new Map<RuleName, number>();
  readonly #isWhole: boolean;

  constructor(
    options: AuditTokensOptions,
    gathered: Gathered & { readonly statistics: TokenStatistics | null; readonly isWhole: boolean },
  ) {
    this.#options = options;
    this.#gathered = gathered;
    this.#facts = gathered.facts;
    this.#statistics = gathered.statistics;
    this.#evaluator = new PolicyEvaluator({
      policy: options.policy,
      facts: gathered.facts,
      rules: gathered.rules,
      onExcused: options.baseline && ((rule, subject) => this.#note(rule, findingKey({ rule, subject }))),
    });
    this.#isWhole = gathered.isWhole;
    this.#byRule = new Map(gathered.rules.map((rule) => [rule, 0]));
    this.#notChecked = [...gathered.notChecked];
  }

  findings(): Rows<Finding> {
    return Rows.inTurn([
      Rows.once(() =>
        this.#judged((into) => {
          this.#evaluator.exceptions(into);
          if (this.#facts.settings !== null) this.#evaluator.settings(this.#facts.settings, into);
          for (const application of this.#gathered.applications)
            this.#evaluator.application(application, into);
        }),
      ),
      this.#tokens(),
      Rows.once(() => this.#judged((into) => this.#evaluator.aggregates(into))),
      Rows.from(this.#refreshTokens()),
    ]);
  }

  #tokens(): Rows<Finding> {
    let counted: Promise<boolean> | undefined;
    const judged = this.#options.target.tokens(this.#options.selector).map((page) => {
      this.#tokensRead += page.length;
      return this.#judged((into) => {
        for (const token of page) {
          this.#statistics?.add(token);
          this.#evaluator.token(token, into);
        }
      });
    });
    return new Rows(async () => {
      counted ??= this.#countTokens();
      return (await counted) ? null : await judged.next();
    });
  }

  /**
   * Lets the target evaluate the rules' conditions for each token, and counts the findings; false if more
   * than counts is needed, a rule needs whole tokens, or the target cannot do it.
   */
  async #countTokens(): Promise<boolean> {
    const { countOnly, baseline, onKey, target, selector } = this.#options;
    const { conditions } = this.#evaluator;
    if (countOnly !== true || baseline !== undefined || onKey !== undefined) return false;
    if (this.#statistics !== null || conditions === null || target.countTokens === undefined) return false;
    const count = (finding: Pick<Finding, 'rule' | 'severity'>) => this.#count(finding);
    return await target.countTokens(selector, conditions, (token, met) => {
      this.#tokensRead += 1;
      this.#evaluator.countedToken(token, met, count);
    });
  }

  async *#refreshTokens(): AsyncIterable<readonly Finding[]> {
    const orphans = orphansOf(this.#options.selector);
    if (!this.#byRule.has('refresh-orphaned') || orphans === null) return;
    try {
      for await (const refreshToken of partOf(this.#options.target, 'refreshTokens').list(orphans)) {
        yield this.#judged((into) => this.#evaluator.refreshToken(refreshToken, into));
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#byRule.delete('refresh-orphaned');
      this.#notChecked.push({ rule: 'refresh-orphaned', why: error.message });
    }
  }

  /** The findings to yield, counted. One list per page: a list for each token would dominate the cost. */
  #judged(judge: (into: Finding[]) => void): readonly Finding[] {
    const { baseline, onKey, withKnown } = this.#options;
    const found: Finding[] = [];
    judge(found);
    if (baseline === undefined && onKey === undefined) {
      for (const finding of found) this.#count(finding);
      return found;
    }
    return found.flatMap((finding) => {
      const key = findingKey(finding);
      onKey?.(key);
      if (!this.#note(finding.rule, key)) {
        this.#count(finding);
        return [finding];
      }
      this.#known += 1;
      return withKnown === true ? [asKnown(finding)] : [];
    });
  }

  #count({ rule, severity }: Pick<Finding, 'rule' | 'severity'>): void {
    this.#found += 1;
    this.#bySeverity[severity] += 1;
    if (severity !== this.#options.policy[rule].severity) this.#severities.set(rule, severity);
    this.#byRule.set(rule, (this.#byRule.get(rule) ?? 0) + 1);
  }

  /** Whether the baseline contains a finding; counts it if so. */
  #note(rule: RuleName, key: string): boolean {
    const { baseline } = this.#options;
    if (baseline?.has(key) !== true) return false;
    baseline.see(key);
    this.#remaining.set(rule, (this.#remaining.get(rule) ?? 0) + 1);
    return true;
  }

  #fixed(): number | null {
    const { baseline } = this.#options;
    if (baseline === undefined || !this.#isWhole) return null;
    return [...this.#byRule.keys()]
      .map((rule) => Math.max(0, baseline.sizeOf(rule) - (this.#remaining.get(rule) ?? 0)))
      .reduce((sum, count) => sum + count, 0);
  }

  *fixed(): Iterable<FixedFinding> {
    const { baseline, policy } = this.#options;
    if (baseline === undefined || !this.#isWhole) return;
    const rules = [...this.#byRule.keys()];
    for (const named of baseline.unseen()) {
      const end = named.indexOf(' ');
      const rule = rules.find((name) => name === named.slice(0, end));
      if (rule === undefined) continue;
      const severity = this.#severities.get(rule) ?? policy[rule].severity;
      yield { rule, severity, key: named.slice(end + 1) };
    }
  }

  summary(): AuditSummary {
    return {
      tokensRead: this.#tokensRead,
      found: this.#found,
      bySeverity: { ...this.#bySeverity },
      byRule: Object.fromEntries(this.#byRule),
      ...(this.#severities.size > 0 && { severities: Object.fromEntries(this.#severities) }),
      excused: Object.fromEntries(this.#evaluator.excused),
      known: this.#options.baseline === undefined ? null : this.#known,
      fixed: this.#fixed(),
      notChecked: this.#notChecked,
    };
  }
}

/** The finding, marked as known. Its message is still created lazily. */
function asKnown(finding: Finding): Finding {
  const { rule, severity, subject } = finding;
  return {
    rule,
    severity,
    subject,
    isKnown: true,
    get message() {
      return finding.message;
    },
  };
}

function isFor(selector: Selector, { appliesTo }: Rule): boolean {
  if (selector.all === true) return true;
  if (appliesTo === 'refreshTokens') return orphansOf(selector) !== null;
  return appliesTo === 'tokens' || appliesTo === 'aggregates' || appliesTo === 'exceptions';
}

/**
 * The refresh tokens without an access token that belong to a selection of tokens: those of the same users
 * and applications; null if the selection uses criteria that only access tokens have.
 */
function orphansOf(selector: Selector): RefreshTokenSelector | null {
  const whole = wholeSelection(selector);
  return whole && { states: ['orphaned'], ...whole };
}

export interface FindingSelectorOptions
  extends Pick<AuditTokensOptions, 'target' | 'policy' | 'clock' | 'openLog'> {
  readonly rule: RuleName;
  /** Restricts the search to these tokens. Default: every token. */
  readonly selector?: Selector;
}

/**
 * The ids of the access tokens that a rule finds, in the target's order, ascending: what an audit by the same
 * policy reports for it, without exceptions.
 * @throws TokenctlError `usage` for a rule that is not about single tokens, or that the policy does not
 * enable; `unsupported` if it cannot be checked on this target.
 */
export async function findingSelector(options: FindingSelectorOptions): Promise<readonly number[]> {
  const { target, policy, rule, clock, selector = { all: true }, openLog } = options;
  requireUsable(rule, policy);
  const audit = await auditTokens({ target, policy, clock, selector, rules: [rule], openLog });
  const ids: number[] = [];
  await audit.findings.each((page) => {
    for (const { subject } of page) if (subject.kind === 'token') ids.push(subject.token.id);
  });
  requireChecked(audit);
  return ids;
}

/** Refuses to act on an audit that could not check one of its rules. Throws `unsupported`. */
export function requireChecked(audit: Pick<Audit, 'summary'>, hint?: string): void {
  const [skipped] = audit.summary().notChecked;
  if (skipped === undefined) return;
  const message = `The rule ${skipped.rule} cannot be checked on this target: ${skipped.why}`;
  throw new TokenctlError('unsupported', message, { hint });
}

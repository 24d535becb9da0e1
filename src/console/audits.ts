import type { Runtime } from '../app/runtime.ts';
import { policyOf } from '../cli/flags/policy-flags.ts';
import { incompleteText } from '../domain/claims.ts';
import type { Baseline, Finding } from '../domain/policy/judge.ts';
import { ruleNames, rules } from '../domain/policy/policy.ts';
import { mostSevereFirst } from '../domain/policy/rule.ts';
import { excusable, subjectKey } from '../domain/policy/subject.ts';
import { auditTokens } from '../operations/token-audit/audit-tokens.ts';
import { trendText, Worst } from '../reports/audit/audit-result.ts';
import { calendarPicture } from '../reports/audit/charts.ts';
import { inTurns, type Places } from './places.ts';

/** The maximum number of findings per rule and state that the page can list; the exports have all. */
export const MAX_OF_RULE = 200;
/** The maximum number of findings that are gone since the baseline. */
const MAX_FIXED = 1_000;
/** The maximum number of owners and applications to name per rule. */
const MAX_NAMES = 30;
/** Concurrent audits: over REST each reads every token. */
const AT_ONCE = 2;

export type AuditRead = Awaited<ReturnType<typeof audited>>;

/** The audits of the contexts, each made once and cached until it is requested again or something changed. */
export class Audits {
  readonly #places: Places;
  readonly #kept = new Map<string, Promise<AuditRead>>();
  readonly #inTurn = inTurns(AT_ONCE);

  constructor(places: Places) {
    this.#places = places;
  }

  /** Makes a new one on the next request. */
  forget(place?: string): void {
    if (place === undefined) this.#kept.clear();
    else this.#kept.delete(place);
  }

  /** The audit of a context. Throws what the audit throws; the next call tries again. */
  read(place: string): Promise<AuditRead> {
    const known = this.#kept.get(place);
    if (known !== undefined) return known;
    const read = this.#audit(place, undefined);
    this.#kept.set(place, read);
    read.catch(() => this.#kept.get(place) === read && this.#kept.delete(place));
    return read;
  }

  /** An audit that is compared with a baseline; not cached. */
  compare(place: string, baseline: Baseline): Promise<AuditRead> {
    return this.#audit(place, baseline);
  }

  #audit(place: string, baseline: Baseline | undefined): Promise<AuditRead> {
    return this.#inTurn(() => this.#places.work(place, (runtime) => audited(runtime, baseline)));
  }
}

async function audited(runtime: Runtime, baseline: Baseline | undefined) {
  const audit = await auditTokens({
    target: await runtime.target(),
    clock: await runtime.targetClock(),
    policy: policyOf(runtime, {}),
    selector: { all: true },
    baseline,
    withKnown: baseline !== undefined,
    statistics: true,
    openLog: () => runtime.auditLog(),
  });
  const owners = new Counts();
  const ofRules = new Map<string, { readonly owners: Counts; readonly applications: Counts }>();
  const [found, known] = [new WorstByRule(), new WorstByRule()];
  await audit.findings.each((page) => {
    for (const finding of page) {
      const { rule, subject, isKnown } = finding;
      (isKnown === true ? known : found).add(finding);
      if (isKnown === true) continue;
      const ofRule = ofRules.get(rule) ?? { owners: new Counts(), applications: new Counts() };
      ofRules.set(rule, ofRule);
      for (const counts of [owners, ofRule.owners]) counts.add(excusable(subject).user?.username);
      ofRule.applications.add(excusable(subject).application?.name);
    }
  });
  const whole = audit.summary();
  const { byRule, ...summary } = whole;
  const fixed = [];
  for (const finding of audit.fixed()) if (fixed.push(finding) >= MAX_FIXED) break;
  return {
    at: audit.now,
    incomplete: incompleteText(await runtime.description()),
    summary,
    /** The difference from the baseline, as the command prints it; null without one. */
    trend: trendText(whole),
    rules: ruleNames
      .filter((rule) => byRule[rule] !== undefined)
      .map((rule) => {
        const { help, appliesTo } = rules[rule];
        const { finds, matters, remedy } = help;
        const { severity, exceptions } = audit.policy[rule];
        return {
          rule,
          count: byRule[rule] ?? 0,
          severity: summary.severities?.[rule] ?? severity,
          selects: appliesTo === 'tokens',
          finds,
          matters,
          remedy,
          /** The number of its exceptions in the policy. */
          exceptions: exceptions.length,
          owners: ofRules.get(rule)?.owners ?? new Counts(),
          applications: ofRules.get(rule)?.applications ?? new Counts(),
        };
      }),
    owners,
    findings: [
      ...found.all().map((finding) => findingRow(finding, baseline === undefined ? null : 'new')),
      ...known.all().map((finding) => findingRow(finding, 'known')),
      ...fixed.map(({ rule, severity, key }) => ({
        rule,
        severity,
        subject: key,
        owner: null,
        state: 'fixed' as const,
        message: 'Neither found nor suppressed any more.',
        tokenId: null,
      })),
    ],
    kinds: audit.statistics?.byKind() ?? null,
    calendar: audit.statistics && calendarPicture(audit.statistics, audit.now),
  };
}

function findingRow({ rule, severity, subject, message }: Finding, state: 'new' | 'known' | null) {
  return {
    rule,
    severity,
    message,
    subject: subjectKey(subject),
    /** The state relative to the baseline; null without one. */
    state,
    owner: excusable(subject).user?.username ?? null,
    tokenId: subject.kind === 'token' ? subject.token.id : null,
  };
}

/** The most severe findings of each rule, so that the page has the first ones for any filter. */
class WorstByRule {
  readonly #ofRules = new Map<string, Worst>();

  add(finding: Finding): void {
    const kept = this.#ofRules.get(finding.rule) ?? new Worst(MAX_OF_RULE);
    this.#ofRules.set(finding.rule, kept);
    kept.add(finding);
  }

  /** Most severe first. */
  all(): Finding[] {
    const kept = [...this.#ofRules.values()].flatMap((worst) => worst.all());
    return kept.sort(mostSevereFirst);
  }
}

/** Number of findings by name. */
export class Counts {
  readonly #counts = new Map<string, number>();

  static of(all: readonly Counts[]): Counts {
    const sum = new Counts();
    for (const each of all) for (const [name, count] of each.#counts) sum.add(name, count);
    return sum;
  }

  add(name: string | undefined, count = 1): void {
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  /** Most frequent first. */
  most() {
    return Array.from(this.#counts, ([name, count]) => ({ name, count }))
      .sort((one, other) => other.count - one.count)
      .slice(0, MAX_NAMES);
  }
}

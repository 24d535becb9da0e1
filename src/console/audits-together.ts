import { ruleNames } from '../domain/policy/policy.ts';
import { mostSevereFirst, severities } from '../domain/policy/rule.ts';
import { type AuditRead, Counts, MAX_OF_RULE } from './audits.ts';

export type AuditsTogether = ReturnType<typeof auditsTogether>;

interface AuditAt {
  readonly place: string;
  readonly read: AuditRead;
}

/** Joins audits: counts and lists are of the same ones, and each finding names its context. */
export function auditsTogether(audits: readonly AuditAt[]) {
  const reads = audits.map(({ read }) => read);
  const ofEach = <T>(of: (read: AuditRead) => readonly T[]) =>
    audits.flatMap(({ place, read }) => of(read).map((each) => ({ place, ...each })));
  const sum = (of: (read: AuditRead) => number | null) =>
    reads.reduce<number | null>((total, read) => {
      const count = of(read);
      return total === null || count === null ? null : total + count;
    }, 0);
  const whole = (of: (read: AuditRead) => number) => sum(of) ?? 0;
  return {
    /** When the oldest of them was made; null if there are none. */
    at: reads.map(({ at }) => at).sort((one, other) => one.getTime() - other.getTime())[0] ?? null,
    /** Why not all tokens of a context were audited. */
    incomplete: ofEach(({ incomplete }) => (incomplete === null ? [] : [{ text: incomplete }])),
    summary: {
      tokensRead: whole(({ summary }) => summary.tokensRead),
      found: whole(({ summary }) => summary.found),
      bySeverity: Object.fromEntries(
        severities.map((severity) => [severity, whole(({ summary }) => summary.bySeverity[severity])]),
      ),
      excused: whole(({ summary }) => Object.values(summary.excused).reduce((all, each) => all + each, 0)),
      known: sum(({ summary }) => summary.known),
      fixed: sum(({ summary }) => summary.fixed),
      notChecked: ofEach(({ summary }) => summary.notChecked),
    },
    byContext: audits.map(({ place, read: { summary, rules } }) => ({
      ...{ place, found: summary.found, bySeverity: summary.bySeverity },
      byRule: Object.fromEntries(rules.map(({ rule, count }) => [rule, count])),
    })),
    /** The difference from the baseline, as the command prints it; null without one. */
    trend: reads.flatMap(({ trend }) => trend ?? [])[0] ?? null,
    /** Rules with the most findings first. */
    rules: ruleNames
      .flatMap((name) => {
        const found = reads.flatMap(({ rules }) => rules.find(({ rule }) => rule === name) ?? []);
        const [first] = found;
        if (first === undefined) return [];
        return {
          ...first,
          count: found.reduce((total, { count }) => total + count, 0),
          // A controller's version can make a rule more severe.
          severity: found.toSorted(mostSevereFirst)[0]?.severity ?? first.severity,
          owners: Counts.of(found.map(({ owners }) => owners)).most(),
          applications: Counts.of(found.map(({ applications }) => applications)).most(),
        };
      })
      .sort((one, other) => other.count - one.count),
    owners: Counts.of(reads.map(({ owners }) => owners)).most(),
    findings: worstOf(ofEach(({ findings }) => findings)),
  };
}

/** The most severe findings of each rule and state, sorted as in a single audit. */
function worstOf<Finding extends AuditRead['findings'][number]>(findings: readonly Finding[]): Finding[] {
  const sorted = findings.toSorted(mostSevereFirst);
  const counts = new Map<string, number>();
  return sorted.filter(({ rule, state }) => {
    const key = `${rule} ${state}`;
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return count < MAX_OF_RULE;
  });
}

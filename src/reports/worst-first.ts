import type { Finding } from '../domain/policy/judge.ts';
import { severities } from '../domain/policy/rule.ts';

/** So many findings are sorted; more than that come as they are found. */
const FEW = 10_000;

/** The worst first, those of one severity in the order in which they came. */
function sorted(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
}

/**
 * Hands findings on, the worst first where there are few: up to ten thousand are held for that. From a large
 * audit the first ten thousand come sorted and the others after them, as they are found.
 */
export async function* worstFirstWhereFew(
  findings: AsyncIterable<Finding>,
  few: number = FEW,
): AsyncIterable<Finding> {
  let held: Finding[] | null = [];
  for await (const finding of findings) {
    if (held === null) {
      yield finding;
    } else if (held.push(finding) > few) {
      yield* sorted(held);
      held = null;
    }
  }
  if (held !== null) yield* sorted(held);
}

/** Keeps so many findings, the worst of those that came. */
export class Worst {
  readonly #most: number;
  readonly #bySeverity = new Map<string, Finding[]>(severities.map((severity) => [severity, []]));

  constructor(most: number) {
    this.#most = most;
  }

  add(finding: Finding): void {
    const kept = this.#bySeverity.get(finding.severity);
    if (kept !== undefined && kept.length < this.#most) kept.push(finding);
  }

  /** The worst first. */
  all(): Finding[] {
    return severities
      .toReversed()
      .flatMap((severity) => this.#bySeverity.get(severity) ?? [])
      .slice(0, this.#most);
  }
}

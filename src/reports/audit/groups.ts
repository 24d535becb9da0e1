import type { Finding } from '../../domain/policy/judge.ts';
import { type Severity, severities, zeroBySeverity } from '../../domain/policy/rule.ts';
import { excusable } from '../../domain/policy/subject.ts';
import type { Rows } from '../../domain/rows.ts';
import { type Listing, listing } from '../tables/listing.ts';
import { numberText } from '../tables/text.ts';

export type Grouping = 'user' | 'application' | 'rule' | 'severity';

/** Findings with the same owner, application, rule or severity. */
export interface Group {
  readonly name: string;
  readonly findings: number;
  readonly bySeverity: Readonly<Record<Severity, number>>;
}

/** Counts findings by group. Largest first; findings without one are under `(none)`. */
export async function grouped(findings: Rows<Finding>, by: Grouping): Promise<Group[]> {
  const groups = new Map<string, { findings: number; bySeverity: Record<Severity, number> }>();
  await findings.each((page) => {
    for (const finding of page) {
      const name = nameOf(finding, by);
      let group = groups.get(name);
      if (group === undefined) {
        group = { findings: 0, bySeverity: zeroBySeverity() };
        groups.set(name, group);
      }
      group.findings += 1;
      group.bySeverity[finding.severity] += 1;
    }
  });
  return Array.from(groups, ([name, group]) => ({ name, ...group })).sort(
    (one, other) => other.findings - one.findings || (one.name < other.name ? -1 : 1),
  );
}

function nameOf({ rule, severity, subject }: Finding, by: Grouping): string {
  if (by === 'rule') return rule;
  if (by === 'severity') return severity;
  const { user, application } = excusable(subject);
  const name = by === 'user' ? user?.username : application?.name;
  return name ?? '(none)';
}

/** Groups as rows, for the table and for CSV. */
export function groupListing(groups: readonly Group[], by: Grouping): Listing<Group> {
  return listing({
    rows: groups,
    columns: [
      { name: by, cell: ({ name }) => name, whole: true },
      { name: 'findings', cell: count(({ findings }) => findings), csv: ({ findings }) => String(findings) },
      ...severities
        .toReversed()
        .map((severity) => ({
          name: severity,
          cell: count(({ bySeverity }) => bySeverity[severity]),
          csv: ({ bySeverity }: Group) => String(bySeverity[severity]),
        })),
    ],
    json: (group) => group,
    none: 'No findings.',
  });
}

function count(of: (group: Group) => number): (group: Group) => string {
  return (group) => numberText(of(group));
}

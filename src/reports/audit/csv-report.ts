import type { Audit, Finding, FixedFinding } from '../../domain/policy/judge.ts';
import { csvLines, type Listing, listing } from '../tables/listing.ts';
import { firstOf, type LastUseReader, worstFirstWhereFew } from './audit-result.ts';
import { findingListing } from './json-report.ts';

/** The findings as CSV; with a baseline, also those that are known, and at the end those that are fixed. */
export function csvReport(audit: Audit, lastUses?: LastUseReader): AsyncIterable<string> {
  async function* rows(): AsyncIterable<ComparedFinding> {
    yield* firstOf(worstFirstWhereFew(audit.findings), { lastUses });
    yield* audit.fixed();
  }
  return csvLines(comparedListing(rows(), audit.summary().known !== null));
}

/** A finding, or one of the baseline that is fixed. */
type ComparedFinding = Finding | FixedFinding;

/** What is said of a fixed finding. */
export const FIXED = 'Neither found nor excused any more: fixed.';

/**
 * Findings and fixed findings as rows, for CSV: the columns of {@link findingListing}, and the state.
 *
 * @param isCompared Whether there is a baseline, without which no finding is new.
 */
function comparedListing(
  rows: AsyncIterable<ComparedFinding>,
  isCompared: boolean,
): Listing<ComparedFinding> {
  const { columns, none, json } = findingListing(noFindings());
  return listing<ComparedFinding>({
    rows,
    columns: [
      ...columns.map(({ name, cell, csv = cell }) => ({
        name,
        cell: (row: ComparedFinding) => ('key' in row ? fixedCell(row, name) : csv(row)),
      })),
      {
        name: 'state',
        cell: (row) => ('key' in row ? 'fixed' : row.isKnown ? 'known' : isCompared ? 'new' : ''),
      },
    ],
    json: (row) => ('key' in row ? row : json(row)),
    none,
  });
}

async function* noFindings(): AsyncIterable<Finding> {}

/** What is known of a fixed finding: no more than the baseline has. */
function fixedCell({ severity, rule, key }: FixedFinding, name: string): string {
  switch (name) {
    case 'severity':
      return severity;
    case 'rule':
      return rule;
    case 'subject':
      return key;
    case 'finding':
      return FIXED;
    case 'id':
      return /^token:(\d+)$/.exec(key)?.[1] ?? '';
    default:
      return '';
  }
}

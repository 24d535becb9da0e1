import type { Audit, Finding, FixedFinding } from '../../domain/policy/judge.ts';
import { csvLines, type Listing, listing } from '../tables/listing.ts';
import { type AuditedTarget, originCells } from './audit-origin.ts';
import { firstOf, type LastUseReader, worstFirstWhereFew } from './audit-result.ts';
import { findingListing } from './json-report.ts';

/**
 * The findings as CSV; with a baseline, also those that are known, and at the end those that are fixed. Each row names where
 * the audit comes from: rows of several controllers are put together, and a comment is no CSV (RFC 4180).
 */
export function csvReport(
  audit: Audit,
  target: AuditedTarget,
  lastUses?: LastUseReader,
): AsyncIterable<string> {
  async function* rows(): AsyncIterable<ComparedFinding> {
    yield* firstOf(worstFirstWhereFew(audit.findings), { lastUses });
    yield* audit.fixed();
  }
  return csvLines(
    comparedListing(rows(), {
      isCompared: audit.summary().known !== null,
      origin: originCells(audit, target),
    }),
  );
}

/** A finding, or one of the baseline that is fixed. */
type ComparedFinding = Finding | FixedFinding;

/** What is said of a fixed finding. */
export const FIXED = 'Neither found nor excused any more: fixed.';

/**
 * Findings and fixed findings as rows, for CSV: the columns of {@link findingListing}, the state, and those of the origin.
 */
function comparedListing(
  rows: AsyncIterable<ComparedFinding>,
  {
    isCompared,
    origin,
  }: {
    /** Whether there is a baseline, without which no finding is new. */
    readonly isCompared: boolean;
    readonly origin: Readonly<Record<string, string>>;
  },
): Listing<ComparedFinding> {
  const { columns, none, json } = findingListing([]);
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
      ...Object.entries(origin).map(([name, value]) => ({ name, cell: () => value })),
    ],
    json: (row) => ('key' in row ? row : json(row)),
    none,
  });
}

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

import { incompleteText } from '../../domain/claims.ts';
import type { Audit, Finding, FixedFinding } from '../../domain/policy/judge.ts';
import { csvLines, type Listing, listing } from '../tables/listing.ts';
import { countText } from '../tables/text.ts';
import { type AuditedTarget, originCells } from './audit-origin.ts';
import { firstOf, type LastUseReader, worstFirstWhereFew } from './audit-result.ts';
import { findingListing } from './json-report.ts';

/**
 * The findings as CSV; with a baseline, including known ones, and fixed ones at the end. Each row has the
 * audit's origin: rows of several controllers may be merged, and CSV has no comments (RFC 4180).
 */
export function csvReport(
  audit: Audit,
  target: AuditedTarget,
  lastUses?: LastUseReader,
): AsyncIterable<string> {
  async function* rows(): AsyncIterable<Row> {
    let isEmpty = true;
    for await (const finding of firstOf(worstFirstWhereFew(audit.findings), { lastUses })) {
      isEmpty = false;
      yield finding;
    }
    for (const fixed of audit.fixed()) {
      isEmpty = false;
      yield fixed;
    }
    if (isEmpty) yield { nothing: nothingText(audit, target) };
  }
  return csvLines(
    comparedListing(rows(), {
      isCompared: audit.summary().known !== null,
      origin: originCells(audit, target),
    }),
  );
}

/** A finding, a fixed one, or a note that there is none: an empty file would not say what it is about. */
type Row = Finding | FixedFinding | { readonly nothing: string };

/** The row if nothing was found, with what was not checked. */
function nothingText(audit: Audit, target: AuditedTarget): string {
  const { found, known, notChecked: unchecked } = audit.summary();
  const notChecked = unchecked.map(({ rule }) => rule);
  const incomplete = incompleteText(target);
  return [
    found > 0
      ? `${countText(found, 'finding')} of lower severity, not listed.`
      : known !== null && known > 0
        ? 'No new findings.'
        : 'No findings.',
    ...(notChecked.length === 0 ? [] : [`Not checked: ${notChecked.join(', ')}.`]),
    ...(incomplete === null ? [] : [`${incomplete}.`]),
  ].join(' ');
}

/** The message of a fixed finding. */
export const FIXED = 'Fixed: neither found nor suppressed any more.';

/** Findings and fixed findings as rows for CSV: the columns of {@link findingListing}, state and origin. */
function comparedListing(
  rows: AsyncIterable<Row>,
  options: {
    /** Whether there is a baseline: without one, no finding is new. */
    isCompared: boolean;
    origin: Readonly<Record<string, string>>;
  },
): Listing<Row> {
  const { isCompared, origin } = options;
  const { columns, none, json } = findingListing([]);
  return listing<Row>({
    rows,
    columns: [
      ...columns.map(({ name, cell, csv = cell }) => ({ name, cell: (row: Row) => cellOf(row, name, csv) })),
      { name: 'state', cell: (row) => stateOf(row, isCompared) },
      ...Object.entries(origin).map(([name, value]) => ({ name, cell: () => value })),
    ],
    json: (row) => ('key' in row || 'nothing' in row ? row : json(row)),
    none,
  });
}

function cellOf(row: Row, name: string, cell: (finding: Finding) => string): string {
  if ('nothing' in row) return name === 'finding' ? row.nothing : '';
  return 'key' in row ? fixedCell(row, name) : cell(row);
}

function stateOf(row: Row, isCompared: boolean): string {
  if ('nothing' in row) return 'none';
  if ('key' in row) return 'fixed';
  if (row.isKnown) return 'known';
  return isCompared ? 'new' : '';
}

/** The cells of a fixed finding, from the baseline only. */
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

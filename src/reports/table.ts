import Table from 'cli-table3';
import { printable } from './printable.ts';
import type { Listing } from './result.ts';
import { GAP, type Layout, layoutFor } from './table-layout.ts';
import { wrapped } from './wrapped.ts';

/** Rows that are measured and laid out together; a long list is printed block by block. */
const BLOCK = 500;
/** Before what stands under a row instead of beside it. */
const INDENT = '  ';
/** What stands under a row is never broken into shorter parts than this. */
const NARROWEST_TEXT = 20;

const noBorders = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap((side) => [
      side,
      `${side}-mid`,
      `${side}-left`,
      `${side}-right`,
      `${side}-bottom`,
      `${side}-top`,
    ])
    .concat('left-mid', 'mid-mid', 'right-mid', 'middle')
    .map((name) => [name, '']),
);

/**
 * Lays rows out as a table without lines, as wide as the terminal at most. The first block of rows
 * decides the columns and their widths ({@link layoutFor}); what is wider ends in an ellipsis. Nothing for
 * no rows.
 */
export async function* tableLines<Row>(listing: Listing<Row>, width: number): AsyncIterable<string> {
  let layout: Layout<Row> | undefined;
  for await (const block of inBlocks(listing.rows)) {
    if (layout === undefined) {
      layout = layoutFor(listing.columns, { rows: block, width });
      yield headingLines(layout);
    }
    yield rowLines(block, { ...layout, width });
  }
}

/** The rows as lines, under each of them what the layout puts below it, indented. */
function rowLines<Row>(
  rows: readonly Row[],
  { columns, widths, below, width }: Layout<Row> & { readonly width: number },
): string {
  const table = lines(
    rows.map((row) => columns.map(({ cell }) => printable.value(cell(row)))),
    widths,
  );
  if (below.length === 0) return table;
  return table
    .trimEnd()
    .split('\n')
    .flatMap((line, index) => [line, ...belowLines(rows[index], { below, width })])
    .map((line) => `${line}\n`)
    .join('');
}

function belowLines<Row>(
  row: Row | undefined,
  { below, width }: Pick<Layout<Row>, 'below'> & { readonly width: number },
): string[] {
  if (row === undefined) return [];
  return below
    .map(({ cell }) => printable.value(cell(row)))
    .filter((text) => text !== '')
    .flatMap((text) => wrapped(text, Math.max(NARROWEST_TEXT, width - INDENT.length)))
    .map((part) => INDENT + part);
}

function headingLines({ columns, widths, below }: Layout<never>): string {
  const headings = lines([columns.map(({ name }) => name.toUpperCase())], widths);
  return headings + below.map(({ name }) => `${INDENT}${name.toUpperCase()}\n`).join('');
}

function lines(rows: string[][], widths: readonly number[]): string {
  const table = new Table({
    chars: noBorders,
    style: { 'padding-left': 0, 'padding-right': GAP, head: [], border: [] },
    colWidths: [...widths],
  });
  table.push(...rows);
  const text = table.toString();
  return `${text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

async function* inBlocks<Row>(rows: AsyncIterable<Row> | Iterable<Row>): AsyncIterable<Row[]> {
  let block: Row[] = [];
  for await (const row of rows) {
    block.push(row);
    if (block.length < BLOCK) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

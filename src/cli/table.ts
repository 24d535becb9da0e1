import Table from 'cli-table3';
import { printable } from './printable.ts';
import type { Column, Listing } from './result.ts';

/** Rows that are measured and laid out together; a long list is printed block by block. */
const BLOCK = 500;
const GAP = 2;
/** A column never shrinks below this, whatever the terminal's width. */
const NARROWEST = 6;

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
 * decides the columns and their widths; what is wider ends in an ellipsis. Nothing for no rows.
 */
export async function* tableLines<Row>(listing: Listing<Row>, width: number): AsyncIterable<string> {
  let layout: Layout<Row> | undefined;
  for await (const block of inBlocks(listing.rows)) {
    if (layout === undefined) {
      layout = layoutFor(listing.columns, block, width);
      yield lines([layout.columns.map(({ name }) => name.toUpperCase())], layout.widths);
    }
    const { columns, widths } = layout;
    yield lines(
      block.map((row) => columns.map((column) => printable.value(column.cell(row)))),
      widths,
    );
  }
}

interface Layout<Row> {
  readonly columns: readonly Column<Row>[];
  readonly widths: readonly number[];
}

function layoutFor<Row>(all: readonly Column<Row>[], block: readonly Row[], width: number): Layout<Row> {
  const columns = all.filter(
    (column) =>
      column.only === undefined ||
      (column.only === 'unlessEmpty' && block.some((row) => column.cell(row) !== '')),
  );
  const widest = columns.map((column) =>
    Math.max(column.name.length, ...block.map((row) => printable.value(column.cell(row)).length)),
  );
  return { columns, widths: fitted(columns, widest, width) };
}

/** Takes away from the widest column, again and again, until the table fits; from whole ones last. */
function fitted(
  columns: readonly { readonly whole?: true }[],
  widest: readonly number[],
  width: number,
): number[] {
  const widths = widest.map((cells) => cells + GAP);
  const cuttable = columns.map(({ whole }) => whole !== true);
  for (let excess = sum(widths) - width; excess > 0; excess -= 1) {
    const index = widestOf(widths, cuttable) ?? widestOf(widths);
    if (index === undefined) break;
    widths[index] = (widths[index] ?? 0) - 1;
  }
  return widths;
}

/** The position of the widest column that can still shrink; undefined where none can. */
function widestOf(widths: readonly number[], allowed?: readonly boolean[]): number | undefined {
  const candidates = widths.map((width, index) => (allowed?.[index] === false ? 0 : width));
  const largest = Math.max(...candidates);
  return largest > NARROWEST + GAP ? candidates.indexOf(largest) : undefined;
}

function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width, 0);
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

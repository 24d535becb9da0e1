import Table from 'cli-table3';
import type { Column, Listing } from './listing.ts';
import { columnsOf, type Paint, printable, type Screen, type Tone, wrapped } from './text.ts';

/** The number of rows laid out together; a long list is printed block by block. */
const BLOCK = 500;
/** The indentation of cells below a row. */
const INDENT = '  ';
/** The minimum line width of cells below a row. */
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
 * Lays rows out as a table without lines, at most as wide as the terminal. The first block of rows decides
 * the columns ({@link layoutFor}). Further blocks widen them if there is space, and `whole` columns always: a
 * truncated id means another token. Empty without rows.
 */
export async function* tableLines<Row>(
  listing: Listing<Row>,
  { width, paint }: Screen,
): AsyncIterable<string> {
  let layout: Layout<Row> | undefined;
  for await (const block of inBlocks(listing.rows)) {
    if (layout === undefined) {
      layout = layoutFor(listing.columns, { rows: block, width });
      yield headingLines(layout, paint);
    } else {
      layout = widened(layout, { rows: block, width });
    }
    yield rowLines(block, { ...layout, width, paint });
  }
}

/** The rows as lines, each followed by the cells that the layout puts below it, indented. */
function rowLines<Row>(rows: readonly Row[], { columns, widths, below, width, paint }: Layout<Row> & Screen) {
  const table = lines(
    rows.map((row) =>
      columns.map(({ cell, tone }) => {
        const text = printable.value(cell(row));
        const color = tone?.(row);
        return color === undefined || text === '' ? text : paint(color, text);
      }),
    ),
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
  { below, width }: Pick<Layout<Row>, 'below'> & { width: number },
): string[] {
  if (row === undefined) return [];
  return below
    .map(({ cell }) => printable.value(cell(row)))
    .filter((text) => text !== '')
    .flatMap((text) => wrapped(text, Math.max(NARROWEST_TEXT, width - INDENT.length)))
    .map((part) => INDENT + part);
}

function headingLines({ columns, widths, below }: Layout<never>, paint: Paint): string {
  const heading = (name: string) => paint('strong', name.toUpperCase());
  const headings = lines([columns.map(({ name }) => heading(name))], widths);
  return headings + below.map(({ name }) => `${INDENT}${heading(name)}\n`).join('');
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

const GAP = 2;
/** The minimum width of a column, whatever the terminal's width. */
const NARROWEST = 6;
/** A droppable column is dropped before another one gets narrower than this. */
const LEGIBLE = 12;

interface LaidOutColumn<Row> {
  readonly name: string;
  readonly cell: (row: Row) => string;
  readonly tone?: ((row: Row) => Tone | undefined) | undefined;
}

/** The columns of a table with their widths, and the columns shown below each row. */
interface Layout<Row> {
  readonly measured: readonly Measured<Row>[];
  readonly columns: readonly LaidOutColumn<Row>[];
  /** With the gap after each column. */
  readonly widths: readonly number[];
  readonly below: readonly LaidOutColumn<Row>[];
}

/**
 * Lays out the columns for these rows and this terminal width. If they do not fit, in this order: columns use
 * their short forms, are moved below rows or dropped if they allow it, and cells are truncated, `whole` ones
 * last.
 */
function layoutFor<Row>(
  all: readonly Column<Row>[],
  { rows, width }: { rows: readonly Row[]; width: number },
): Layout<Row> {
  const columns = all.filter(
    (column) =>
      column.only === undefined ||
      (column.only === 'unlessEmpty' && rows.some((row) => column.cell(row) !== '')),
  );
  const measured = columns.map((column) => measure(column, { rows, cell: column.cell }));
  if (total(measured) <= width) return layout(measured, { width, below: [] });
  const short = columns.map((column) => measure(column, { rows, cell: column.short ?? column.cell }));
  const below = short.filter(({ column }) => column.narrow === 'below').map(({ column }) => column);
  const beside = short.filter(({ column }) => column.narrow !== 'below');
  return layout(withoutDroppable(beside, width), { width, below });
}

interface Measured<Row> {
  readonly column: Column<Row>;
  readonly cell: (row: Row) => string;
  /** The width of the widest cell, including the heading and the gap after it. */
  readonly widest: number;
}

function measure<Row>(
  column: Column<Row>,
  { rows, cell }: { rows: readonly Row[]; cell: (row: Row) => string },
): Measured<Row> {
  const cells = rows.map((row) => columnsOf(printable.value(cell(row))));
  return { column, cell, widest: Math.max(columnsOf(column.name), ...cells) + GAP };
}

function layout<Row>(
  measured: readonly Measured<Row>[],
  { width, below }: { width: number; below: Layout<Row>['below'] },
): Layout<Row> {
  return {
    measured,
    columns: measured.map(({ column, cell }) => ({ name: column.name, cell, tone: column.tone })),
    widths: fitted(measured, width),
    below,
  };
}

/** The same columns, at least as wide, for further rows. */
function widened<Row>(
  { measured, below }: Layout<Row>,
  { rows, width }: { rows: readonly Row[]; width: number },
): Layout<Row> {
  const again = measured.map(({ column, cell, widest }) => ({
    ...{ column, cell },
    widest: Math.max(widest, measure(column, { rows, cell }).widest),
  }));
  return layout(again, { width, below });
}

/** The last column needs no gap after it. */
function total(measured: readonly { readonly widest: number }[]): number {
  return sum(measured.map(({ widest }) => widest)) - GAP;
}

/** Drops droppable columns from the right, until the rest fits with all cells legible. */
function withoutDroppable<Row>(measured: readonly Measured<Row>[], width: number): readonly Measured<Row>[] {
  const last = measured.findLastIndex(({ column }) => column.narrow === 'drop');
  const least = measured.map(({ column, widest }) => ({
    widest: column.whole === true ? widest : Math.min(widest, LEGIBLE + GAP),
  }));
  return last === -1 || total(least) <= width
    ? measured
    : withoutDroppable(measured.toSpliced(last, 1), width);
}

/** Narrows the widest column repeatedly until the table fits; `whole` columns last. */
function fitted<Row>(measured: readonly Measured<Row>[], width: number): number[] {
  const widths = measured.map(({ widest }) => widest);
  const cuttable = measured.map(({ column }) => column.whole !== true);
  for (let excess = total(measured) - width; excess > 0; excess -= 1) {
    const index = widestOf(widths, cuttable) ?? widestOf(widths);
    if (index === undefined) break;
    widths[index] = (widths[index] ?? 0) - 1;
  }
  return widths;
}

/** The position of the widest column that can still shrink; undefined if none can. */
function widestOf(widths: readonly number[], allowed?: readonly boolean[]): number | undefined {
  const candidates = widths.map((width, index) => (allowed?.[index] === false ? 0 : width));
  const largest = Math.max(...candidates);
  return largest > NARROWEST + GAP ? candidates.indexOf(largest) : undefined;
}

function sum(widths: readonly number[]): number {
  return widths.reduce((all, width) => all + width, 0);
}

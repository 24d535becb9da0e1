import { type Document, type Line, type Part, partsOf, plainText } from '../reports/document.ts';
import { printable, type Tone } from '../reports/tables/text.ts';

/** One line as the page shows it. */
export interface ShownLine {
  readonly text: string;
  /** How deep it is indented; lines of lists have 1 or more. */
  readonly depth: number;
  /** How something ended or how grave it is (`done`, `OPEN`, `high`); null without such a mark. */
  readonly mark: string | null;
  /** What its first words say; null where they say nothing. */
  readonly tone: Tone | null;
  /** The cells of a line of columns; null for any other line. */
  readonly cells: readonly string[] | null;
}

/** A part of a document as the page shows it. Nothing in a text can reorder what is around it. */
export type ShownPart =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly text: string }
  | {
      readonly kind: 'lines';
      readonly lines: readonly ShownLine[];
      readonly strong: boolean;
      /** What stands for the lines until they are unfolded; null where they are always shown. */
      readonly fold: string | null;
    }
  | {
      readonly kind: 'facts';
      readonly title: string | null;
      readonly facts: readonly { readonly name: string; readonly values: readonly string[] }[];
    }
  | {
      readonly kind: 'counts';
      readonly title: string | null;
      readonly counts: readonly { readonly count: number; readonly what: string }[];
      readonly rest: string | null;
    }
  | {
      readonly kind: 'table';
      readonly heads: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: 'code'; readonly lines: readonly string[] };

/** A document as data for the page, which lays it out. */
export function shownDocument(document: Document): readonly ShownPart[] {
  return partsOf(document).map(shownPart);
}

const { value } = printable;

function shownPart(part: Part): ShownPart {
  switch (part.kind) {
    case 'heading':
      return { ...part, text: value(part.text) };
    case 'lines':
      return {
        kind: 'lines',
        lines: part.lines.flatMap(shownLines),
        strong: part.strong === true,
        fold: titleOf(part.fold),
      };
    case 'picture':
      return { kind: 'lines', lines: part.lines.flatMap(shownLines), strong: false, fold: null };
    case 'facts':
      return {
        kind: 'facts',
        title: part.title === undefined ? null : value(plainText({ text: part.title })),
        facts: part.facts.map(([name, values]) => ({
          name: value(name),
          values: [values].flat().map((each) => value(each)),
        })),
      };
    case 'counts':
      return {
        kind: 'counts',
        title: titleOf(part.title),
        counts: part.counts.map(([count, what]) => ({ count, what: value(what) })),
        rest: titleOf(part.rest),
      };
    case 'table':
      return {
        kind: 'table',
        heads: part.heads.map((head) => value(head)),
        rows: part.rows.map((row) => row.map((cell) => value(cell))),
      };
    case 'code':
      return { kind: 'code', lines: part.lines.map((line) => value(line)) };
  }
}

function titleOf(title: string | undefined): string | null {
  return title === undefined ? null : value(title);
}

/** A line in the words of the console; none where it has nothing to say. */
function shownLines(line: Line): readonly ShownLine[] {
  const { inConsole } = typeof line === 'string' || 'columns' in line ? {} : line;
  if (inConsole === '') return [];
  return [shownLine(inConsole === undefined ? line : { ...(line as object), text: inConsole })];
}

function shownLine(line: Line): ShownLine {
  const text = value(plainText(line));
  const mark = typeof line !== 'string' && 'mark' in line ? (line.mark ?? null) : null;
  const depth = typeof line === 'string' ? 0 : (line.depth ?? (mark === null ? 0 : 1));
  const cells =
    typeof line !== 'string' && 'columns' in line
      ? line.columns.map((cell) => value(plainText({ columns: [cell] })))
      : null;
  return { text, depth, mark: mark === null ? null : value(mark), tone: toneOf(line), cells };
}

function toneOf(line: Line): Tone | null {
  if (typeof line === 'string' || 'columns' in line) return null;
  const [first] = [line.text].flat();
  return typeof first === 'object' ? first.tone : null;
}

import { type Document, type Line, type Part, partsOf, plainText, type Text } from '../reports/document.ts';
import { printable, type Tone } from '../reports/tables/text.ts';

/** One line as the page shows it. */
export interface ShownLine {
  readonly text: string;
  /** Shown after the text, to be copied. */
  readonly commands: readonly string[];
  /** For a step; null for any other line. */
  readonly number: number | null;
  /** A result or a severity (`done`, `OPEN`, `high`); null without one. */
  readonly mark: string | null;
  /** The meaning of its first words; null without one. */
  readonly tone: Tone | null;
  /** The cells of a line of columns; null for any other line. */
  readonly cells: readonly string[] | null;
  /** The lines indented below it. */
  readonly under: readonly ShownLine[];
}

/** A part of a document as the page shows it. No text can reorder its surroundings. */
export type ShownPart =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly text: string }
  | {
      readonly kind: 'lines';
      readonly lines: readonly ShownLine[];
      readonly strong: boolean;
      /** Shown instead of the lines until they are unfolded; null if they are always shown. */
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
      return { ...part, lines: nested(part.lines), strong: part.strong === true, fold: titleOf(part.fold) };
    case 'picture':
      return { kind: 'lines', lines: nested(part.lines), strong: false, fold: null };
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

/** The lines for the console: paragraphs, each with the list below it, if any. */
function nested(all: readonly Line[]): readonly ShownLine[] {
  const paragraphs: Nested[] = [];
  let item: Nested | undefined;
  for (const line of all) {
    const shown = { ...shownLine(typeof line === 'string' ? { text: line } : line), under: [] };
    if (typeof line === 'object' && 'inConsole' in line && line.inConsole === '') continue;
    if (shown.depth === 0) {
      paragraphs.push(shown);
      item = undefined;
    } else if (item !== undefined && shown.mark === null && shown.depth > item.depth) item.under.push(shown);
    else {
      item = shown;
      // A list without an introduction.
      if (paragraphs.length === 0) paragraphs.push({ ...shownLine({ text: '' }), under: [] });
      paragraphs.at(-1)?.under.push(shown);
    }
  }
  return paragraphs;
}

type Nested = ReturnType<typeof shownLine> & { readonly under: Nested[] };

function shownLine(line: Exclude<Line, string>): Omit<ShownLine, 'under'> & { readonly depth: number } {
  if ('columns' in line) {
    const cells = line.columns.map((cell) => value(plainText({ columns: [cell] })));
    const none = { text: '', commands: [], number: null, mark: null, tone: null };
    return { ...none, cells, depth: Math.max(1, line.depth ?? 0) };
  }
  const { text, commands = [], mark, number = null, inConsole, depth = mark === undefined ? 0 : 1 } = line;
  return {
    text: value(plainText({ text: inConsole ?? text })),
    commands: inConsole === undefined ? commands.map((each) => value(each)) : [],
    number,
    mark: mark === undefined ? null : value(mark),
    tone: toneOf(text),
    cells: null,
    depth,
  };
}

function toneOf(text: Text): Tone | null {
  const [first] = [text].flat();
  return typeof first === 'object' && 'tone' in first ? first.tone : null;
}

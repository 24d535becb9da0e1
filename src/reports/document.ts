import { numberText, type Paint, printable, type Tone, unpainted } from './tables/text.ts';

/** An omitted value, which allows a condition in place of a line or a part. */
export type Absent = null | undefined | false | '';

interface Toned {
  readonly word: string;
  readonly tone: Tone;
  /** The replacement once a plan is confirmed. */
  readonly confirmed?: string;
}

/** Plain text: the renderers escape it. */
export type Text = string | readonly (string | Toned)[];

export type Line =
  | string
  | {
      readonly text: Text;
      /** The indentation level; 0 by default. */
      readonly depth?: number | undefined;
      /** For a step: shown before the text. */
      readonly number?: number | undefined;
      /** Shown after the text, to be copied. */
      readonly commands?: readonly string[] | undefined;
      /** The result (`done`, `OPEN`), in a separate column. */
      readonly mark?: string | undefined;
      /** The text in the console, which can do itself what the text has a command for; omitted if empty. */
      readonly inConsole?: string | undefined;
      /** It is not specific to this run: a page folds it. */
      readonly usual?: boolean | undefined;
      /** The user it is about, and whether that user stays deactivated. */
      readonly account?: { readonly name: string; readonly staysDeactivated: boolean } | undefined;
    }
  | {
      /** Aligned with the lines above and below, numbers on the right. */
      readonly columns: readonly (number | string | Toned)[];
      readonly depth?: number | undefined;
    };

export type Lines = Line | Absent | readonly Lines[];

/** A name with a value or a list of values, and the color of the name. */
export type Fact = readonly [name: string, value: string | readonly string[], tone?: Tone];

/** Names and values, under a title. */
export interface Facts {
  readonly kind: 'facts';
  readonly title?: Text | undefined;
  readonly facts: readonly Fact[];
}

/** A part of a document, separated from the others. A part without content is omitted. */
export type Part =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly text: string }
  /** Sentences, and indented lines as lists. */
  | {
      readonly kind: 'lines';
      readonly lines: readonly Line[];
      readonly strong?: boolean | undefined;
      /** A short summary: the console shows it, and the lines once unfolded. */
      readonly fold?: string | undefined;
    }
  | Facts
  /** Numbers and what they count, under a title without its colon. */
  | {
      readonly kind: 'counts';
      readonly title?: string | undefined;
      readonly counts: readonly (readonly [count: number, what: string])[];
      /** What is omitted. */
      readonly rest?: string | undefined;
    }
  | {
      readonly kind: 'table';
      readonly heads: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  /** Lines to be copied, such as commands. */
  | { readonly kind: 'code'; readonly lines: readonly string[] }
  /** A picture for HTML, as finished SVG, and the lines that replace it elsewhere. */
  | { readonly kind: 'picture'; readonly svg: string; readonly lines: readonly Line[] };

/** Text for display, as data. The renderers for terminals, HTML and Markdown lay it out. */
export type Document = readonly (Part | Absent)[];

/** A line that is not specific to a run. */
export function usual(text: Text): { readonly text: Text; readonly usual: true } {
  return { text, usual: true };
}

/** A line whose first words have a color. */
interface TonedLine {
  readonly text: readonly [Toned, ...string[]];
}

/**
 * Creates a tag for a line whose first words state a result: the words before the first colon or full stop of
 * the template. Inserted values neither end nor start them, so that no name gains or loses color.
 */
function toned(tone: Tone) {
  return (own: readonly string[], ...values: readonly (string | number)[]): TonedLine => {
    const end = own.findIndex((part) => /[:.]/.test(part));
    const last = own[end];
    if (last === undefined) return { text: [{ word: filled(own, values), tone }] };
    const length = last.search(/[:.]/);
    const word = filled(own.slice(0, end), values) + last.slice(0, length);
    const rest = filled([last.slice(length), ...own.slice(end + 1)], values.slice(end));
    return { text: [{ word, tone }, rest] };
  };
}

/** A tag for a line with faint words. */
export function faint(own: readonly string[], ...values: readonly (string | number)[]): TonedLine {
  return { text: [{ word: filled(own, values), tone: 'faint' }] };
}

function filled(own: readonly string[], values: readonly (string | number)[]): string {
  return own.map((part, place) => `${part}${values[place] ?? ''}`).join('');
}

/** Tags for lines: good`Verified: none of ${count} tokens is listed any more.` */
export const good = toned('good');
export const warning = toned('warning');
export const bad = toned('bad');
export const emphasized = toned('strong');

/** A tag for a plan's first line: would`end ${count}: ${selection}.` It becomes "will" once confirmed. */
export function would(own: readonly string[], ...values: readonly (string | number)[]): TonedLine {
  const [{ word, tone }, ...rest] = emphasized(own, ...values).text;
  return { text: [{ word: `Would ${word}`, tone, confirmed: `Will ${word}` }, ...rest] };
}

export function section(text: string): Part {
  return { kind: 'heading', level: 2, text };
}

/** Lines to be copied. */
export function code(...all: readonly string[]): Part {
  return { kind: 'code', lines: all };
}

/** A part of sentences and lists. */
export function lines(...all: readonly Lines[]): Extract<Part, { kind: 'lines' }> {
  return { kind: 'lines', lines: present(all) };
}

/** Sentences that the console folds under a summary, if there is one. */
export function folded(fold: string | Absent, ...all: readonly Lines[]): Part {
  return { ...lines(...all), fold: fold || undefined };
}

export function strong(text: string): Part {
  return { kind: 'lines', lines: [text], strong: true };
}

/** A list: indented lines, by one level unless they state another. */
export function list(...all: readonly Lines[]): Line[] {
  return present(all).map((line) =>
    typeof line === 'string' ? { text: line, depth: 1 } : { ...line, depth: line.depth ?? 1 },
  );
}

export function steps(texts: readonly string[]): readonly Line[] {
  return texts.map((text, place) => ({ text, number: place + 1, depth: 1 }));
}

/** Names and values; a name without a value is omitted. */
export function facts(
  all: readonly (readonly [name: string, value: string | readonly string[] | Absent, tone?: Tone])[],
  title?: Text,
): Facts {
  const found = all.flatMap(([name, value, ...tone]): Fact[] =>
    value === null || value === undefined || value === false || value.length === 0
      ? []
      : [[name, value, ...tone]],
  );
  return { kind: 'facts', title, facts: found };
}

function present(all: readonly Lines[]): Line[] {
  return all.flatMap((each) => {
    if (Array.isArray(each)) return present(each);
    return each === null || each === undefined || each === false || each === '' ? [] : [each as Line];
  });
}

export function partsOf(document: Document): Part[] {
  return document.filter((part): part is Part => {
    if (part === null || part === undefined || part === false || part === '') return false;
    if (part.kind === 'facts') return part.facts.length > 0;
    if (part.kind === 'counts') return part.counts.length > 0;
    return part.kind === 'heading' || part.kind === 'table' || part.lines.length > 0;
  });
}

const STEP = '  ';
/** The colors of result marks. */
const MARK_TONES: ReadonlyMap<string, Tone> = new Map([
  ['done', 'good'],
  ['closed', 'good'],
  ['as before', 'faint'],
  ['PARTLY', 'bad'],
  ['FAILED', 'bad'],
  ['OPEN', 'bad'],
  ['NOT TRIED', 'warning'],
  ['NOT CHECKED', 'warning'],
]);
/** The minimum width of the mark column, so that consecutive lists line up. */
const MARKS = 10;

/** A document for a terminal, with a blank line between parts: finished lines of any length, or nothing. */
export function documentText(document: Document, paint: Paint = unpainted): string {
  return partsOf(document)
    .map((part, index, all) => {
      const gap = index === 0 || all[index - 1]?.kind === 'heading' ? '' : '\n';
      return (
        gap +
        textLines(part, paint)
          .map((line) => `${line}\n`)
          .join('')
      );
    })
    .join('');
}

function textLines(part: Part, paint: Paint): string[] {
  switch (part.kind) {
    case 'heading':
      return [paint('strong', `== ${printable.value(part.text)} ==`)];
    case 'lines':
    case 'picture':
      return indentedLines(part.lines, paint);
    case 'facts': {
      const [title, indent] = titled(part.title, paint);
      const width = Math.max(...part.facts.map(([name]) => name.length)) + 1;
      const rows = part.facts.flatMap(([name, value, tone]) =>
        (typeof value === 'string' ? [value] : value).map((each, index) => {
          const column = (index === 0 ? `${name}:` : '').padEnd(width);
          return `${tone === undefined ? column : paint(tone, column)}  ${printable.value(each)}`;
        }),
      );
      return [...title, ...rows.map((row) => indent + row)];
    }
    case 'counts': {
      const [title] = titled(part.title && `${part.title}:`, paint);
      const width = Math.max(...part.counts.map(([count]) => numberText(count).length));
      return [
        ...title,
        ...part.counts.map(
          ([count, what]) => `${STEP}${numberText(count).padStart(width)}  ${printable.value(what)}`,
        ),
        ...(part.rest === undefined ? [] : [`${STEP}${printable.value(part.rest)}`]),
      ];
    }
    case 'table':
      return tableText([part.heads.map((head) => head.toUpperCase()), ...part.rows]);
    case 'code':
      return part.lines.map((line) => printable.value(line));
  }
}

function titled(title: Text | undefined, paint: Paint): readonly [title: readonly string[], indent: string] {
  return title === undefined ? [[], ''] : [[painted(title, paint)], STEP];
}

function indentedLines(all: readonly Line[], paint: Paint): string[] {
  const marks = all.map((line) =>
    typeof line === 'string' || !('mark' in line) ? 0 : (line.mark?.length ?? 0),
  );
  const width = Math.max(MARKS, ...marks);
  const widths = columnWidths(all);
  return all.map((line) => {
    if (typeof line === 'string') return printable.value(line);
    if ('columns' in line) {
      const cells = line.columns.map((cell, place) => columnText(cell, widths[place] ?? 0, paint));
      return `${STEP.repeat(line.depth ?? 0)}${cells.join(STEP)}`.trimEnd();
    }
    const { text, mark, depth = mark === undefined ? 0 : 1 } = line;
    const column =
      mark === undefined ? '' : `${paintedMark(mark, paint)}${' '.repeat(width + 1 - mark.length)}`;
    return `${STEP.repeat(depth)}${column}${numberOf(line)}${painted(text, paint)}${printable.value(commandsOf(line))}`;
  });
}

function paintedMark(mark: string, paint: Paint): string {
  const tone = MARK_TONES.get(mark);
  return tone === undefined ? mark : paint(tone, mark);
}

function columnWidths(all: readonly Line[]): readonly number[] {
  const widths: number[] = [];
  for (const line of all) {
    if (typeof line === 'string' || !('columns' in line)) continue;
    line.columns.forEach((cell, place) => {
      widths[place] = Math.max(widths[place] ?? 0, cellText(cell).length);
    });
  }
  return widths;
}

function columnText(cell: number | string | Toned, width: number, paint: Paint): string {
  const text = printable.value(cellText(cell));
  if (typeof cell === 'number') return text.padStart(width);
  if (typeof cell === 'string') return text.padEnd(width);
  return paint(cell.tone, text) + ' '.repeat(Math.max(0, width - text.length));
}

function cellText(cell: number | string | Toned): string {
  if (typeof cell === 'number') return numberText(cell);
  return typeof cell === 'string' ? cell : cell.word;
}

function painted(text: Text, paint: Paint): string {
  return [text]
    .flat()
    .map((each) =>
      typeof each === 'string' ? printable.value(each) : paint(each.tone, printable.value(each.word)),
    )
    .join('');
}

function numberOf({ number }: { number?: number | undefined }): string {
  return number === undefined ? '' : `${number}. `;
}

function commandsOf({ commands }: { commands?: readonly string[] | undefined }): string {
  return commands === undefined ? '' : ` ${commands.join(', ')}`;
}

/** A line without its colors and columns. */
export function plainText(line: Line): string {
  if (typeof line === 'string') return line;
  if ('columns' in line) return line.columns.map(cellText).join(' ');
  const words = [line.text].flat().map((each) => (typeof each === 'string' ? each : each.word));
  return numberOf(line) + words.join('') + commandsOf(line);
}

function tableText(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, place) => printable.value(cell).padEnd(widths[place] ?? 0))
      .join(STEP)
      .trimEnd(),
  );
}

import { numberText, printable } from './tables/text.ts';

/** What is left out, so that a condition can be written where a line or a part would be. */
export type Absent = null | undefined | false | '';

/** One line of text. Texts are plain: the renderers escape them. */
export type Line =
  | string
  | {
      readonly text: string;
      /** How deep it is indented; 0 by default. */
      readonly depth?: number | undefined;
      /** How something ended (`done`, `OPEN`), in a column of its own. */
      readonly mark?: string | undefined;
    };

/** Lines, and conditions for lines. */
export type Lines = Line | Absent | readonly Lines[];

/** A name with a value or a list of values. */
export type Fact = readonly [name: string, value: string | readonly string[]];

/** Names and values, under a title. */
export interface Facts {
  readonly kind: 'facts';
  readonly title?: string | undefined;
  readonly facts: readonly Fact[];
}

/** A part of a document, set apart from the others. A part without content is left out. */
export type Part =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly text: string }
  /** Sentences, and indented lines as lists. */
  | { readonly kind: 'lines'; readonly lines: readonly Line[]; readonly strong?: boolean | undefined }
  | Facts
  /** Numbers and what they count, under a title. */
  | {
      readonly kind: 'counts';
      readonly title?: string | undefined;
      readonly counts: readonly (readonly [count: number, what: string])[];
      /** What is not shown of them. */
      readonly rest?: string | undefined;
    }
  | {
      readonly kind: 'table';
      readonly heads: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  /** Lines to be copied, such as commands. */
  | { readonly kind: 'code'; readonly lines: readonly string[] }
  /** A picture for HTML, as finished SVG, and the lines that stand for it elsewhere. */
  | { readonly kind: 'picture'; readonly svg: string; readonly lines: readonly Line[] };

/** Text for people as data. The renderers for terminals, HTML and Markdown lay it out. */
export type Document = readonly (Part | Absent)[];

/** The heading of a section. */
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

/** A sentence that is emphasized. */
export function strong(text: string): Part {
  return { kind: 'lines', lines: [text], strong: true };
}

/** A list: lines that are indented, by one level where they name none. */
export function list(...all: readonly Lines[]): Line[] {
  return present(all).map((line) =>
    typeof line === 'string' ? { text: line, depth: 1 } : { ...line, depth: line.depth ?? 1 },
  );
}

/** Names and values; a name without a value is left out. */
export function facts(
  all: readonly (readonly [name: string, value: string | readonly string[] | Absent])[],
  title?: string,
): Facts {
  const found = all.flatMap(([name, value]): Fact[] =>
    value === null || value === undefined || value === false || value.length === 0 ? [] : [[name, value]],
  );
  return { kind: 'facts', title, facts: found };
}

function present(all: readonly Lines[]): Line[] {
  return all.flatMap((each) => {
    if (Array.isArray(each)) return present(each);
    return each === null || each === undefined || each === false || each === '' ? [] : [each as Line];
  });
}

/** The parts that a document has. */
export function partsOf(document: Document): Part[] {
  return document.filter((part): part is Part => {
    if (part === null || part === undefined || part === false || part === '') return false;
    if (part.kind === 'facts') return part.facts.length > 0;
    if (part.kind === 'counts') return part.counts.length > 0;
    return part.kind === 'heading' || part.kind === 'table' || part.lines.length > 0;
  });
}

const STEP = '  ';
/** The narrowest column of marks, so that lists under each other line up. */
const MARKS = 10;

/**
 * A document for a terminal, a blank line between its parts.
 *
 * @returns Finished lines of any length, the last one with its line feed; empty for an empty document.
 */
export function documentText(document: Document): string {
  return partsOf(document)
    .map((part, index, all) => {
      const gap = index === 0 || all[index - 1]?.kind === 'heading' ? '' : '\n';
      return (
        gap +
        textLines(part)
          .map((line) => `${line}\n`)
          .join('')
      );
    })
    .join('');
}

function textLines(part: Part): string[] {
  switch (part.kind) {
    case 'heading':
      return [`== ${printable.value(part.text)} ==`];
    case 'lines':
    case 'picture':
      return indentedLines(part.lines);
    case 'facts': {
      const [title, indent] = titled(part.title);
      const width = Math.max(...part.facts.map(([name]) => name.length)) + 1;
      const rows = part.facts.flatMap(([name, value]) =>
        (typeof value === 'string' ? [value] : value).map(
          (each, index) => `${(index === 0 ? `${name}:` : '').padEnd(width)}  ${printable.value(each)}`,
        ),
      );
      return [...title, ...rows.map((row) => indent + row)];
    }
    case 'counts': {
      const [title] = titled(part.title);
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

function titled(title: string | undefined): readonly [title: readonly string[], indent: string] {
  return title === undefined ? [[], ''] : [[printable.value(title)], STEP];
}

function indentedLines(all: readonly Line[]): string[] {
  const width = Math.max(
    MARKS,
    ...all.map((line) => (typeof line === 'string' ? 0 : (line.mark?.length ?? 0))),
  );
  return all.map((line) => {
    if (typeof line === 'string') return printable.value(line);
    const { text, mark, depth = mark === undefined ? 0 : 1 } = line;
    const column = mark === undefined ? '' : `${mark.padEnd(width)} `;
    return `${STEP.repeat(depth)}${column}${printable.value(text)}`;
  });
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

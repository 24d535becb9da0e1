import { type Document, type Fact, type Line, type Part, partsOf, plainText, type Text } from './document.ts';
import { html, PAGE_END, pageStart } from './html.ts';
import { numberText, printable } from './tables/text.ts';

/** A document as it arrives: a long one is not held in memory. */
type Parts = Document | AsyncIterable<Part>;

/** The styles of a document, in addition to those of the audit report. */
const STYLE = `
h3{font-size:15px;margin:22px 0 6px}
dl{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:4px 16px;margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;break-inside:avoid}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}dd ul{margin:0;padding-left:1.2em}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;overflow-x:auto;font-size:13px}
ul{margin:0 0 10px;padding-left:1.3em}li{overflow-wrap:anywhere}td{overflow-wrap:anywhere}@media(min-width:641px){td:not(.fixed){min-width:9em}}
.picture{overflow-x:auto}.picture svg{min-width:900px}
`;

/** A document as one HTML page without scripts or network access. All texts are escaped. */
export async function* htmlDocument(parts: Parts, title: string): AsyncIterable<string> {
  yield pageStart(title, STYLE);
  for await (const part of presentParts(parts)) yield `${htmlPart(part)}\n`;
  yield PAGE_END;
}

/** A document as Markdown (CommonMark, with GitHub's tables). All texts are escaped. */
export async function* markdownDocument(parts: Parts): AsyncIterable<string> {
  let separator = '';
  for await (const part of presentParts(parts)) {
    yield separator + markdownPart(part);
    separator = '\n';
  }
}

function presentParts(parts: Parts): Iterable<Part> | AsyncIterable<Part> {
  return Symbol.asyncIterator in parts ? parts : partsOf(parts);
}

/** Escapes text, and keeps durations with their unit, times and flags from being broken across lines. */
function htmlText(text: string): string {
  return html(text)
    .replace(/(?<=\d) (?=(?:ms|s|min|h|d)\b)/g, '&nbsp;')
    .replace(WHOLE, '<span class="nb">$&</span>');
}

/** Hyphenated text that must not be broken: instants, dates, and flags of commands. */
const WHOLE = /\b\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|(?<![\w-])--[a-z][a-z-]*/g;

function htmlPart(part: Part): string {
  switch (part.kind) {
    case 'heading':
      return `<h${part.level}>${htmlText(part.text)}</h${part.level}>`;
    case 'lines':
    case 'counts':
      return paragraphsAndLists(part)
        .map((each) =>
          typeof each === 'string'
            ? `<p>${isStrong(part) ? `<strong>${htmlText(each)}</strong>` : htmlText(each)}</p>`
            : htmlList(each.map(({ text }) => text)),
        )
        .join('\n');
    case 'facts':
      return `${htmlTitle(part.title)}<dl>\n${part.facts.map(htmlFact).join('\n')}\n</dl>`;
    case 'table':
      return `<div class="scroll"><table class="stack"><thead><tr>${part.heads.map((head) => `<th>${html(head)}</th>`).join('')}</tr></thead><tbody>
${part.rows.map((row) => `<tr>${row.map((cell, place) => htmlCell(cell, place === 0 ? null : part.heads[place])).join('')}</tr>`).join('\n')}
</tbody></table></div>`;
    case 'code':
      return `<pre><code>${part.lines.map(html).join('\n')}</code></pre>`;
    case 'picture':
      return `<figure class="wide picture" tabindex="0" role="group" aria-label="Picture">${part.svg}</figure>`;
  }
}

/** A cell. On a phone, where a row is displayed as a list, it has its column's title next to it. */
function htmlCell(cell: string, title: string | null | undefined): string {
  const about = title == null ? ' class="fixed"' : cell === '' ? '' : ` data-label="${html(title)}"`;
  return `<td${about}>${htmlText(cell)}</td>`;
}

function htmlTitle(title: Text | undefined): string {
  return title === undefined ? '' : `<p>${html(plainText({ text: title }))}</p>\n`;
}

function htmlList(texts: readonly string[]): string {
  return `<ul>${texts.map((text) => `<li>${htmlText(text)}</li>`).join('\n')}</ul>`;
}

function htmlFact([name, value]: Fact): string {
  return `<dt>${html(name)}</dt><dd>${typeof value === 'string' ? htmlText(value) : htmlList(value)}</dd>`;
}

function markdownPart(part: Part): string {
  switch (part.kind) {
    case 'heading':
      return `${'#'.repeat(part.level)} ${markdown(part.text)}\n`;
    case 'lines':
    case 'counts':
    case 'picture':
      return paragraphsAndLists(part)
        .map((each) =>
          typeof each === 'string'
            ? `${isStrong(part) ? `**${markdown(each)}**` : markdown(each)}\n`
            : each.map(({ text, depth }) => `${'  '.repeat(depth - 1)}- ${markdown(text)}\n`).join(''),
        )
        .join('\n');
    case 'facts':
      return `${part.title === undefined ? '' : `${markdown(plainText({ text: part.title }))}\n\n`}${part.facts.map(markdownFact).join('')}`;
    case 'table':
      return [part.heads, part.heads.map(() => '---'), ...part.rows]
        .map((row, place) => `| ${row.map((cell) => (place === 1 ? cell : markdown(cell))).join(' | ')} |\n`)
        .join('');
    case 'code':
      // Indented, so that no line can end the block.
      return part.lines.map((line) => `    ${printable.value(line)}\n`).join('');
  }
}

function markdownFact([name, value]: Fact): string {
  if (typeof value === 'string') return `- **${name}**: ${markdown(value)}\n`;
  return `- **${name}**:\n${value.map((each) => `  - ${markdown(each)}\n`).join('')}`;
}

/** Characters that can start markup, including HTML and the links of `://`, `www.` and `@`. */
const MARKUP = /[\\`*_[\]<>|&~#!@]|:(?=\/\/)|(?<=www)\.|^(?:[-+=]|\d+[.)])/gi;

function markdown(text: string): string {
  return printable.value(text).replace(MARKUP, (found) => `${found.slice(0, -1)}\\${found.slice(-1)}`);
}

function isStrong(part: Part): boolean {
  return part.kind === 'lines' && part.strong === true;
}

/** The lines of a part: unindented ones as paragraphs, the others in lists. */
function paragraphsAndLists(part: Extract<Part, { kind: 'lines' | 'counts' | 'picture' }>) {
  const groups: (string | { readonly text: string; readonly depth: number }[])[] = [];
  for (const line of linesOf(part)) {
    const text = plainText(line);
    const mark = typeof line !== 'string' && 'mark' in line ? line.mark : undefined;
    const deep = typeof line === 'string' ? undefined : line.depth;
    const depth = deep ?? (mark === undefined ? 0 : 1);
    const marked = mark === undefined ? text : `${mark}: ${text}`;
    const last = groups.at(-1);
    if (depth === 0) groups.push(marked);
    else if (Array.isArray(last)) last.push({ text: marked, depth });
    else groups.push([{ text: marked, depth }]);
  }
  return groups;
}

function linesOf(part: Extract<Part, { kind: 'lines' | 'counts' | 'picture' }>): readonly Line[] {
  if (part.kind !== 'counts') return part.lines;
  return [
    ...(part.title === undefined ? [] : [`${part.title}:`]),
    ...part.counts.map(([count, what]) => ({ text: `${numberText(count)} ${what}`, depth: 1 })),
    ...(part.rest === undefined ? [] : [{ text: part.rest, depth: 1 }]),
  ];
}

import { html, PAGE_END, pageStart } from './html.ts';
import type { Block, Fact } from './log-report.ts';
import { printable } from './tables/text.ts';

/** The styles of the page, in addition to those of the audit report. */
const STYLE = `
h3{font-size:15px;margin:22px 0 6px}
dl{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:4px 16px;margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;break-inside:avoid}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}dd ul{margin:0;padding-left:1.2em}
`;

/** Blocks as one HTML page without scripts or network access. All texts are escaped. */
export async function* htmlOf(blocks: AsyncIterable<Block>, title: string): AsyncIterable<string> {
  yield pageStart(title, STYLE);
  for await (const block of blocks) yield `${htmlBlock(block)}\n`;
  yield PAGE_END;
}

function htmlBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `<h${block.level}>${html(block.text)}</h${block.level}>`;
    case 'paragraph':
      return `<p>${html(block.text)}</p>`;
    case 'facts':
      return `<dl>\n${block.facts.map(factLine).join('\n')}\n</dl>`;
  }
}

function factLine({ name, value }: Fact): string {
  const text =
    typeof value === 'string'
      ? html(value)
      : `<ul>${value.map((each) => `<li>${html(each)}</li>`).join('')}</ul>`;
  return `<dt>${html(name)}</dt><dd>${text}</dd>`;
}

/** Blocks as Markdown (CommonMark). All texts are escaped. */
export async function* markdownOf(blocks: AsyncIterable<Block>): AsyncIterable<string> {
  let separator = '';
  for await (const block of blocks) {
    yield separator + markdownBlock(block);
    separator = '\n';
  }
}

function markdownBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${markdown(block.text)}\n`;
    case 'paragraph':
      return `${markdown(block.text)}\n`;
    case 'facts':
      return block.facts.map(factLines).join('');
  }
}

function factLines({ name, value }: Fact): string {
  if (typeof value === 'string') return `- **${name}**: ${markdown(value)}\n`;
  return `- **${name}**:\n${value.map((each) => `  - ${markdown(each)}\n`).join('')}`;
}

/** Characters that can start markup, including HTML and the links of `://`, `www.` and `@`. */
const MARKUP = /[\\`*_[\]<>|&~#!@]|:(?=\/\/)|(?<=www)\.|^(?:[-+=]|\d+[.)])/gi;

/** Escapes a text for Markdown. */
export function markdown(text: string): string {
  return printable.value(text).replace(MARKUP, (found) => `${found.slice(0, -1)}\\${found.slice(-1)}`);
}

import { html, PAGE_END, pageStart } from './html.ts';
import { markdown } from './log-report-formats.ts';
import { printable } from './tables/text.ts';

/** A part of a document. Texts are plain: they are escaped when they are rendered. */
export type Part =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string; readonly strong?: boolean }
  | {
      readonly kind: 'list';
      readonly items: readonly (string | { readonly text: string; readonly depth: number })[];
    }
  | {
      readonly kind: 'table';
      readonly heads: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  /** Lines to be copied, such as commands. */
  | { readonly kind: 'code'; readonly lines: readonly string[] }
  /** A picture for HTML, as finished SVG, and the list that stands for it in Markdown. */
  | {
      readonly kind: 'picture';
      readonly svg: string;
      readonly items: Extract<Part, { kind: 'list' }>['items'];
    };

/** A paragraph; a `strong` one is emphasized. */
export function paragraph(text: string, strong = false): Part {
  return { kind: 'paragraph', text, ...(strong && { strong }) };
}

/** The styles of a document, in addition to those of the audit report. */
const STYLE = `
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;overflow-x:auto;font-size:13px}
ul{margin:0 0 10px;padding-left:1.3em}li{overflow-wrap:anywhere}td{overflow-wrap:anywhere}
.picture{overflow-x:auto}.picture svg{min-width:900px}
`;

/** A document as one HTML page without scripts or network access. */
export function htmlDocument(parts: readonly Part[], title: string): string {
  return `${pageStart(title, STYLE)}${parts.map(htmlPart).join('\n')}\n${PAGE_END}`;
}

function htmlPart(part: Part): string {
  switch (part.kind) {
    case 'heading':
      return `<h${part.level}>${html(part.text)}</h${part.level}>`;
    case 'paragraph':
      return part.strong === true
        ? `<p><strong>${html(part.text)}</strong></p>`
        : `<p>${html(part.text)}</p>`;
    case 'list':
      return `<ul>${part.items
        .map((item) => `<li>${html(typeof item === 'string' ? item : item.text)}</li>`)
        .join('\n')}</ul>`;
    case 'table':
      return `<div class="scroll"><table><thead><tr>${part.heads.map((head) => `<th>${html(head)}</th>`).join('')}</tr></thead><tbody>
${part.rows.map((row) => `<tr>${row.map((cell, place) => `<td${place === 0 ? ' class="fixed"' : ''}>${html(cell)}</td>`).join('')}</tr>`).join('\n')}
</tbody></table></div>`;
    case 'code':
      return `<pre><code>${part.lines.map(html).join('\n')}</code></pre>`;
    case 'picture':
      return `<figure class="wide picture">${part.svg}</figure>`;
  }
}

/** A document as Markdown (CommonMark, with GitHub's tables). */
export function markdownDocument(parts: readonly Part[]): string {
  return parts.map(markdownPart).join('\n');
}

function markdownPart(part: Part): string {
  switch (part.kind) {
    case 'heading':
      return `${'#'.repeat(part.level)} ${markdown(part.text)}\n`;
    case 'paragraph':
      return part.strong === true ? `**${markdown(part.text)}**\n` : `${markdown(part.text)}\n`;
    case 'list':
    case 'picture':
      return part.items
        .map((item) =>
          typeof item === 'string'
            ? `- ${markdown(item)}\n`
            : `${'  '.repeat(item.depth)}- ${markdown(item.text)}\n`,
        )
        .join('');
    case 'table':
      return [part.heads, part.heads.map(() => '---'), ...part.rows]
        .map((row, place) => `| ${row.map((cell) => (place === 1 ? cell : markdown(cell))).join(' | ')} |\n`)
        .join('');
    case 'code':
      // Indented: nothing in a line can end the block.
      return part.lines.map((line) => `    ${printable.value(line)}\n`).join('');
  }
}

import { html, htmlStyle } from './html.ts';
import type { Block, Fact } from './log-report-blocks.ts';

/** The page's own rules, beside those of the audit's report. */
const style = `${htmlStyle}
h3{font-size:15px;margin:22px 0 6px}
dl{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:4px 16px;margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;break-inside:avoid}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}dd ul{margin:0;padding-left:1.2em}
`;

/** Blocks as one HTML page that needs no network and no script. Nothing that came from outside is markup in it. */
export async function* htmlOf(blocks: AsyncIterable<Block>, title: string): AsyncIterable<string> {
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>${html(title)}</title>
<style>${style}</style></head>
<body><main>
`;
  for await (const block of blocks) yield `${htmlBlock(block)}\n`;
  yield '</main></body></html>\n';
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

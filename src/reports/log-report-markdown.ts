import type { Block, Fact } from './log-report-blocks.ts';
import { printable } from './tables/text.ts';

/** Blocks as Markdown (CommonMark). Nothing that came from outside is markup in it. */
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

/** What could begin markup anywhere in a line, HTML and the links of `://`, `www.` and `@` included. */
const MARKUP = /[\\`*_[\]<>|&~#!@]|:(?=\/\/)|(?<=www)\.|^(?:[-+=]|\d+[.)])/gi;

/** Text for Markdown: names and reasons come from outside. */
function markdown(text: string): string {
  return printable.value(text).replace(MARKUP, (found) => `${found.slice(0, -1)}\\${found.slice(-1)}`);
}

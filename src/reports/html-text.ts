import { printable } from './printable.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Text for an HTML document, in content and in quoted attributes alike. Names and descriptions come from
 * whoever made a token: nothing in them may become markup, or reorder what stands around them.
 */
export function html(text: string): string {
  return printable.value(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

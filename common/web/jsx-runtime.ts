/**
 * How the pages make elements: as React does, with text that shows what it holds. Names and descriptions are untrusted.
 * Characters that change the direction of text could make `user‮…` read as another name, and invisible ones
 * make two names look alike, in every page and every component: so this is done where elements are made.
 */
import type { ElementType, Key } from 'react';
import { jsx as makeElement, jsxs as makeElements } from 'react/jsx-runtime';

export type { JSX } from 'react/jsx-runtime';
// biome-ignore lint/performance/noBarrelFile: the compiler imports it from here
export { Fragment } from 'react/jsx-runtime';

/** What an element is made of. */
type Props = Readonly<Record<string, unknown>>;

/** Control characters but for tabs and ends of lines, marks of direction, and invisible characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Attributes that people read or hear. The value of a field is not one: it is sent back as it is. */
const SHOWN = ['title', 'alt', 'label', 'placeholder', 'aria-label'] as const;

/** Text with each unsafe character in JSON's notation, as the command line prints it. */
export function shown(text: string): string {
  return text.replace(UNSAFE, (found) =>
    found === '\n' || found === '\t' || found === '\r'
      ? found
      : Array.from(
          { length: found.length },
          (_, unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, '0')}`,
        ).join(''),
  );
}

function safeProps(props: Props): Props {
  const { children } = props;
  const safe: Record<string, unknown> = { ...props };
  for (const name of SHOWN) if (typeof safe[name] === 'string') safe[name] = shown(safe[name]);
  if (typeof children === 'string') safe['children'] = shown(children);
  else if (Array.isArray(children)) safe['children'] = children.map(shownChild);
  return safe;
}

function shownChild(child: unknown): unknown {
  if (typeof child === 'string') return shown(child);
  return Array.isArray(child) ? child.map(shownChild) : child;
}

/** An element with one child or none. */
export function jsx(type: ElementType, props: Props, key?: Key) {
  return makeElement(type, safeProps(props), key);
}

/** An element with several children. */
export function jsxs(type: ElementType, props: Props, key?: Key) {
  return makeElements(type, safeProps(props), key);
}

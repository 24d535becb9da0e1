/**
 * Creates the pages' elements like React, but escapes unsafe characters in text. Names and descriptions are
 * untrusted: direction marks could make `user‮…` read as another name, and invisible characters make two
 * names look alike, on every page and in every component. So this is done where elements are created.
 */
import type { ElementType, Key } from 'react';
import { jsx as makeElement, jsxs as makeElements } from 'react/jsx-runtime';

export type { JSX } from 'react/jsx-runtime';
// biome-ignore lint/performance/noBarrelFile: the compiler imports it from here
export { Fragment } from 'react/jsx-runtime';

type Props = Readonly<Record<string, unknown>>;

/** Control characters except tabs and line ends, direction marks, and invisible characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Attributes that people read or hear. A field's value is not included: it is sent back unchanged. */
const SHOWN = ['title', 'alt', 'label', 'placeholder', 'aria-label'] as const;

/** Text with each unsafe character in JSON's notation, as on the command line. */
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

/** An element with at most one child. */
export function jsx(type: ElementType, props: Props, key?: Key) {
  return makeElement(type, safeProps(props), key);
}

/** An element with several children. */
export function jsxs(type: ElementType, props: Props, key?: Key) {
  return makeElements(type, safeProps(props), key);
}

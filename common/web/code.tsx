/** Texts of the program with command-line parts: text in backticks, and flags. */
import { Fragment, type ReactNode } from 'react';
import { withBreaks } from './table.tsx';

/** How the other words are shown. */
type Plain = (text: string) => ReactNode;

/** A text in which backticks mark a command, a setting or a name. */
export function WithCode({ text, plain = withBreaks }: { text: string; plain?: Plain }): ReactNode {
  const parts = text.split('`');
  // A single backtick is part of the text.
  if (parts.length % 2 === 0) return plain(text);
  return parts.map((part, place) =>
    place % 2 === 0 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay where they are
      <Fragment key={place}>{withFlags(part, plain)}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <Code key={place} text={part} />
    ),
  );
}

/** A command. A line breaks between its flags, not after their hyphens. */
export function Code({ text }: { text: string }): ReactNode {
  return <code>{withFlags(text, withBreaks)}</code>;
}

function withFlags(text: string, plain: Plain): ReactNode {
  return text.split(/((?<!\S)--[\w-]+)/).map((part, place) =>
    place % 2 === 0 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <Fragment key={place}>{plain(part)}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <span key={place} className="whole">
        {part}
      </span>
    ),
  );
}

/** Parts about commands: lines to copy, and their output. Not needed by the first page. */
import { ClipboardCopy, SearchInput } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { useFacts } from './api.ts';

/** The command that shows what the page shows, to copy, with the files that the console was started with. */
export function OwnCommand(props: {
  /** Without the name of the program. */
  readonly words: string;
  /** Undefined if the command has no context. */
  readonly place?: string;
}): ReactNode {
  const { words, place } = props;
  const { startedWith } = useFacts();
  // With a database file, that is the context.
  const isNamed = place !== undefined && !startedWith.some((flag) => flag.startsWith('--database-file'));
  return (
    <CommandLine
      command={['tokenctl', words, ...(isNamed ? [`--context ${place}`] : []), ...startedWith].join(' ')}
    />
  );
}

/** A command to copy, shown in full. */
export function CommandLine({ command }: { command: string }): ReactNode {
  return (
    <ClipboardCopy isCode variant="inline-compact" isBlock hoverTip="Copy" clickTip="Copied">
      {command}
    </ClipboardCopy>
  );
}

export function Printed({ text, label }: { text: string; label: string }): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached with the keyboard
    <section aria-label={label} tabIndex={0} className="printed">
      <pre>{text.trimEnd()}</pre>
    </section>
  );
}

/** A search field, applied when the user submits or clears it. */
export function TextSearch(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  const { label, value, onChange } = props;
  const [text, setText] = useState(value);
  return (
    <SearchInput
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(_event, next) => setText(next)}
      onSearch={() => onChange(text)}
      onClear={() => onChange('')}
    />
  );
}

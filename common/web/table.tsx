/** Tables whose cells hold texts of any length: names, addresses and descriptions that users chose. */
import { Button } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { Children, cloneElement, Fragment, isValidElement, type ReactNode, useState } from 'react';
import { numberText, unbroken } from './times.tsx';

/** The longest word that has no place to break: names of people and of rules are shorter. */
const MAX_NAME = 16;
/** The longest one that breaks at separators only. Words of prose are shorter. */
const MAX_WORD = 20;
/** The pieces of a longer one. */
const PIECES = /.{1,10}/gu;

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  readonly show: (row: T) => ReactNode;
  /** Whether it has the buttons of a row: its title is for screen readers only. */
  readonly isAction?: true;
}

/** A table that shows all of its rows as they are. */
export function PlainTable<T>(props: {
  /** Names the table. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string | number;
  /** How many rows are drawn at first, and more with each click; all if not given. */
  readonly most?: number;
}): ReactNode {
  const { label, columns, rows: all, keyOf, most = Number.POSITIVE_INFINITY } = props;
  const [shown, setShown] = useState(most);
  const rows = all.length > shown ? all.slice(0, shown) : all;
  return (
    <>
      <div className="table-scroll">
        <Table aria-label={label} variant="compact" gridBreakPoint={breakPointOf(columns)}>
          <Thead>
            <Tr>
              {columns.map(({ title, isAction }) =>
                isAction === true ? (
                  <Th key={title} screenReaderText={title} />
                ) : (
                  <Th key={title} modifier="nowrap">
                    {title}
                  </Th>
                ),
              )}
            </Tr>
          </Thead>
          <Tbody>
            {rows.map((row) => (
              <Tr key={keyOf(row)}>
                {columns.map(({ title, show, isAction }) =>
                  isAction === true ? (
                    <Td key={title} isActionCell>
                      {show(row)}
                    </Td>
                  ) : (
                    <TextCell key={title} title={title}>
                      {show(row)}
                    </TextCell>
                  ),
                )}
              </Tr>
            ))}
          </Tbody>
        </Table>
      </div>
      {rows.length < all.length && (
        <Button variant="link" onClick={() => setShown(shown + most)}>
          Show more of {numberText(all.length)}
        </Button>
      )}
    </>
  );
}

/** So many columns do not fit beside each other in the window of a tablet. */
const MANY_COLUMNS = 5;

/** The width below which a row shows its values below each other, each beside the title of its column. */
export function breakPointOf(columns: readonly unknown[]): 'grid-md' | 'grid-lg' {
  return columns.length < MANY_COLUMNS ? 'grid-md' : 'grid-lg';
}

/**
 * A cell of a table. A column is as wide as its longest word: addresses and file names may break after their
 * separators, and what is longer than any word in pieces, but no word does.
 */
export function TextCell({
  title,
  children,
}: {
  /** That of the column, which a narrow window shows beside the value. */
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  // One element, where a narrow window puts it beside the title.
  return (
    <Td dataLabel={title}>
      <div>{breakable(children)}</div>
    </Td>
  );
}

/** A text of any length: its beginning, with a button that shows all of it. */
export function LongText({ text, max }: { text: string; max: number }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= max) return withBreaks(text);
  return (
    <>
      {withBreaks(isWhole ? text : `${text.slice(0, max)}…`)}{' '}
      <Button variant="link" isInline aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Show less' : 'Show all'}
      </Button>
    </>
  );
}

/** The same with places where long words may break, in texts and in what elements have as their children. */
export function breakable(node: ReactNode): ReactNode {
  if (typeof node === 'string') return withBreaks(node);
  if (Array.isArray(node)) return Children.map(node, breakable);
  if (!isValidElement<{ readonly children?: ReactNode }>(node)) return node;
  const { children } = node.props;
  return children == null ? node : cloneElement(node, {}, breakable(children));
}

/** Marks a place where a text may break. */
const BREAK = '\u200b';

/** A text with places where its long words may break. */
export function withBreaks(given: string): ReactNode {
  const text = unbroken(given);
  const pieces = text
    .replace(/\S+/g, (word) =>
      word.length > MAX_NAME ? word.replace(/[./@_:=?&,-](?=\w)/g, `$&${BREAK}`) : word,
    )
    .replace(/[^\s\u200b]+/g, (word) => (word.length > MAX_WORD ? inPieces(word) : word))
    .split(BREAK);
  if (pieces.length === 1) return text;
  let at = 0;
  return pieces.map((piece) => {
    const isFirst = at === 0;
    at += piece.length;
    return (
      <Fragment key={at}>
        {!isFirst && <wbr />}
        {piece}
      </Fragment>
    );
  });
}

function inPieces(word: string): string {
  return (word.match(PIECES) ?? []).join(BREAK);
}

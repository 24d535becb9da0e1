/** Tables whose cells contain texts of any length: names, URLs and descriptions that users chose. */
import { Button } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { Children, cloneElement, Fragment, isValidElement, type ReactNode, useState } from 'react';
import { numberText, unbroken } from './times.tsx';

/** The maximum length of a word that never breaks. Names of people and rules are shorter. */
const MAX_NAME = 16;
/** The maximum length of a word that breaks only at separators. Words of prose are shorter. */
const MAX_WORD = 20;
/** The pieces of a longer one. */
const PIECES = /.{1,10}/gu;

export interface Column<T> {
  readonly title: string;
  readonly show: (row: T) => ReactNode;
  /** Whether it contains a row's buttons. Its title is for screen readers only. */
  readonly isAction?: true;
}

export function PlainTable<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string | number;
  /** How many rows are drawn at first, and more with each click; by default all. */
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

/** This many columns do not fit next to each other on a tablet. */
const MANY_COLUMNS = 5;

/** The width below which a row shows its values below each other, each next to its column's title. */
export function breakPointOf(columns: readonly unknown[]): 'grid-md' | 'grid-lg' {
  return columns.length < MANY_COLUMNS ? 'grid-md' : 'grid-lg';
}

/** A cell of a table. Only URLs, file names and very long words break; a column is as wide as its longest word. */
export function TextCell(props: {
  /** The column's title, which a narrow window shows next to the value. */
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  const { title, children } = props;
  // One element, because a narrow window puts it next to the title.
  return (
    <Td dataLabel={title}>
      <div>{breakable(children)}</div>
    </Td>
  );
}

/** The start of a long text, with a button that shows all of it. */
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

/** Adds places where long words may break, in texts and in the children of elements. */
export function breakable(node: ReactNode): ReactNode {
  if (typeof node === 'string') return withBreaks(node);
  if (Array.isArray(node)) return Children.map(node, breakable);
  if (!isValidElement<{ readonly children?: ReactNode }>(node)) return node;
  const { children } = node.props;
  return children == null ? node : cloneElement(node, {}, breakable(children));
}

/** A place where a text may break. */
const BREAK = '\u200b';

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

/** The rows of the token table, of which only the visible ones are read and drawn. */

import './rows.css';
import { Button, Modal, ModalBody, ModalFooter, ModalHeader, Popover } from '@patternfly/react-core';
import { Table, Tbody, Th, Thead, Tr } from '@patternfly/react-table';
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { countText, isNever, localText } from '@tokenctl/common/web/times.tsx';
import { memo, type ReactNode, type UIEvent, useCallback, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import type { TokenPage as Page } from '../../../console/tokens/token-table.ts';
import { type ContextRead, call, type Ended, type Json, query, useRead } from '../api.ts';
import { OwnCommand } from '../commands.tsx';
import { Report } from '../document.tsx';
import { SOON_MS } from '../needs.ts';

export type Row = TokenPage['rows'][number];

export type Bar = TokenPage['expiry'][number];

/** A part of the filtered tokens, with counts of all of them. */
export type TokenPage = Json<Page>;

/** Rows per request. */
export const CHUNK = 100;
const ROW_HEIGHT = 37;
/** Rows above and below the visible ones. */
const MARGIN = 12;

/** The key of a row among those of all contexts. */
export function keyOf({ place, id }: Row): string {
  return `${place} ${id}`;
}

const COLUMNS = [
  ['id', 'Id'],
  ['user', 'Owner'],
  ['application', 'Application'],
  ['expires', 'Expires'],
  ['lastUsed', 'Last use'],
  ['scope', 'Scope'],
  ['created', 'Created'],
] as const;

/** The essential columns, the only ones in a narrow window, which has the scope below the owner. */
const NARROW: ReadonlySet<string> = new Set(['id', 'user', 'expires', 'lastUsed']);

/** The visible rows, and a few around them: the table may have any length. */
export function Rows(props: {
  readonly filter: Readonly<Record<string, string>>;
  readonly order: { readonly sort: string; readonly descending: string };
  /** The first rows, with the total number. */
  readonly head: TokenPage;
  readonly selected: ReadonlyMap<string, Row>;
  readonly onOrder: (sort: string) => void;
  readonly onSelect: (row: Row) => void;
  /** Requested in the dialog of one token. */
  readonly onRevoke: (row: Row) => void;
}): ReactNode {
  const { filter, order, head, selected, onOrder, onSelect, onRevoke } = props;
  const { total } = head;
  const hasPlaces = head.readings.length > 1;
  // A column with only "unknown" is omitted.
  const hasUse = head.lastUse !== null;
  const columns = COLUMNS.filter(([name]) => hasUse || name !== 'lastUsed');
  const [top, setTop] = useState(0);
  const [traced, setTraced] = useState<Row | null>(null);
  const [cut, setCut] = useState<HTMLElement | null>(null);
  const latest = useRef(onSelect);
  useEffect(() => {
    latest.current = onSelect;
  });
  const select = useCallback((row: Row) => latest.current(row), []);
  const box = useRef<HTMLDivElement>(null);
  const visible = Math.ceil((box.current?.clientHeight ?? 600) / ROW_HEIGHT);
  const first = Math.max(0, Math.min(top, total) - MARGIN);
  const last = Math.min(total, top + visible + MARGIN);
  const chunks = [];
  for (let at = Math.floor(first / CHUNK); at * CHUNK < last; at += 1) chunks.push(at * CHUNK);
  const reads = useQueries({
    queries: chunks.map((offset) => {
      const path = query('/api/tokens', { ...filter, ...order, offset, limit: CHUNK });
      return {
        queryKey: [path, total],
        queryFn: () => call<TokenPage>(path, { quiet: true }),
        placeholderData: keepPreviousData,
        ...(offset === 0 && { initialData: head }),
      };
    }),
  });
  const rows = chunks.flatMap((offset, index) =>
    (reads[index]?.data?.rows ?? []).map((row, at) => ({ row, index: offset + at })),
  );
  const shown = rows.filter(({ index }) => index >= first && index < last);
  const before = (shown[0]?.index ?? first) * ROW_HEIGHT;
  const after = Math.max(0, total - (shown.at(-1)?.index ?? last - 1) - 1) * ROW_HEIGHT;
  const onScroll = ({ currentTarget }: UIEvent<HTMLDivElement>) => {
    const next = Math.floor(currentTarget.scrollTop / ROW_HEIGHT);
    if (Math.abs(next - top) > MARGIN / 2) setTop(next);
  };
  const sorted = columns.findIndex(([name]) => name === order.sort);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached with the keyboard
    <section className="rows" ref={box} onScroll={onScroll} tabIndex={0} aria-label="Rows">
      <Table
        aria-label="Tokens"
        aria-rowcount={total}
        variant="compact"
        isStickyHeader
        gridBreakPoint=""
        onClick={({ target }) => setCut(cutCell(target as Element))}
      >
        <Thead>
          <Tr>
            <Th screenReaderText="Selected" />
            {hasPlaces && <Th className="wide">Context</Th>}
            {columns.map(([name, title], columnIndex) => (
              <Th
                key={name}
                modifier="nowrap"
                className={NARROW.has(name) ? undefined : 'wide'}
                sort={{
                  columnIndex,
                  sortBy: { index: sorted, direction: order.descending === 'true' ? 'desc' : 'asc' },
                  onSort: () => onOrder(name),
                }}
              >
                {title}
                {name === 'user' && (
                  <span className="in-narrow">{hasPlaces ? ', context, scope' : ', scope'}</span>
                )}
              </Th>
            ))}
            <Th className="wide rest">Description</Th>
          </Tr>
        </Thead>
        <Tbody>
          <Space height={before} />
          {shown.map(({ row, index }) => (
            <TokenRow
              key={keyOf(row)}
              row={row}
              index={index}
              onTrace={setTraced}
              onSelect={select}
              isSelected={selected.has(keyOf(row))}
              hasPlace={hasPlaces}
              hasUse={hasUse}
            />
          ))}
          <Space height={after} />
        </Tbody>
      </Table>
      {cut !== null && (
        <Popover
          isVisible
          withFocusTrap={false}
          aria-label="Full text"
          triggerRef={() => cut}
          shouldClose={() => setCut(null)}
          bodyContent={cut.title}
        />
      )}
      {traced !== null && (
        <TraceDialog
          row={traced}
          onClose={() => setTraced(null)}
          onRevoke={() => {
            setTraced(null);
            onRevoke(traced);
          }}
        />
      )}
    </section>
  );
}

/** The cell at a position, if its text is truncated: a tap has no tooltip. */
function cutCell(target: Element): HTMLElement | null {
  const cell = target.closest<HTMLElement>('td[title]');
  return cell !== null && cell.scrollWidth > cell.clientWidth ? cell : null;
}

/** The history of a token, as the command prints it. */
function TraceDialog({ row, onClose, onRevoke }: { row: Row; onClose: () => void; onRevoke: () => void }) {
  const { place, id, user } = row;
  const owner = user?.username;
  const read = useRead<Ended>(query('/api/trace', { place, id }));
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="trace-title">
      <ModalHeader title={`Token ${id} at ${place}`} labelId="trace-title" />
      <ModalBody tabIndex={0} aria-label="Token history">
        <Loaded query={read}>{(ended) => <Report ended={historyOf(ended, row)} label="History" />}</Loaded>
        <OwnCommand words={`tokens trace ${id}`} place={place} />
      </ModalBody>
      <ModalFooter>
        <Button variant="secondary" isDanger onClick={onRevoke}>
          Revoke this token…
        </Button>
        {owner !== undefined && <LockdownLink place={place} user={owner} />}
        <Link className="pf-v6-c-button pf-m-secondary" to={query('/investigation', { place, token: id })}>
          <span className="pf-v6-c-button__text">Investigate its owner</span>
        </Link>
        <Button variant="link" onClick={onClose}>
          Close
        </Button>
      </ModalFooter>
    </Modal>
  );
}

/** The output of the command, without what the dialog's title says. */
function historyOf({ document, text }: Ended, { id, isExpired }: Row): Pick<Ended, 'document' | 'text'> {
  const parts = document?.map((part) => {
    if (part.kind !== 'facts' || part.title !== `Token ${id}`) return part;
    const named = part.facts.map(({ name, values }) => ({
      name: name.replace(/^./, (first) => first.toUpperCase()),
      values: isExpired && name === 'expires' ? values.map((value) => `${value} (expired)`) : values,
    }));
    return { ...part, title: null, facts: named };
  });
  return { document: parts ?? null, text };
}

/** A link to the form that ends all access of a user; for an account that may not, the reason. */
export function LockdownLink({ place, user }: { place: string; user: string }): ReactNode {
  const context = useRead<ContextRead>(query('/api/overview', { place }));
  const refusal = context.data?.lockdownRefusal ?? null;
  if (refusal !== null) return <p className="hint">{`Cannot lock down: ${refusal.message}`}</p>;
  return (
    <Link className="pf-v6-c-button pf-m-danger pf-m-secondary" to={query('/incidents', { place, user })}>
      <span className="pf-v6-c-button__text">Lock down {user}…</span>
    </Link>
  );
}

/** One row, drawn again only if it changes, however far the user scrolls. */
const TokenRow = memo(function TokenRow(props: {
  readonly row: Row;
  readonly index: number;
  readonly isSelected: boolean;
  readonly hasPlace: boolean;
  readonly hasUse: boolean;
  readonly onSelect: (row: Row) => void;
  readonly onTrace: (row: Row) => void;
}): ReactNode {
  const { row, index, isSelected, hasPlace, hasUse, onSelect, onTrace } = props;
  const owner = row.user?.username ?? '(no owner)';
  const left = row.isExpired ? null : leftText(row.expires);
  // Plain elements: PatternFly's components take several times as long to draw for a screen full of rows.
  return (
    <tr
      className={row.isExpired ? 'pf-v6-c-table__tr is-expired' : 'pf-v6-c-table__tr'}
      aria-rowindex={index + 2}
    >
      <td className="pf-v6-c-table__td pf-v6-c-table__check">
        <input
          type="checkbox"
          className="pf-v6-c-check__input"
          aria-label={`Select token ${row.id}`}
          checked={isSelected}
          onChange={() => onSelect(row)}
        />
      </td>
      {hasPlace && <Cell isWide>{row.place}</Cell>}
      <Cell>
        <button
          type="button"
          className="pf-v6-c-button pf-m-link pf-m-inline"
          aria-label={`Trace token ${row.id}`}
          onClick={() => onTrace(row)}
        >
          {row.id}
        </button>
      </Cell>
      <Cell title={owner}>
        {owner} <span className="in-narrow">{hasPlace ? `${row.place}, ${row.scope}` : row.scope}</span>
      </Cell>
      <Cell isWide>{row.application?.name ?? '(personal)'}</Cell>
      <Cell>
        {isNever(row.expires) ? 'never' : <Minute at={row.expires} isDay={row.isExpired || left !== null} />}
        {row.isExpired && <span className="remark"> expired</span>}
        {left !== null && <span className="remark soon"> {left}</span>}
      </Cell>
      {hasUse && <Cell>{row.lastUsed === undefined ? 'unknown' : <Minute at={row.lastUsed} />}</Cell>}
      <Cell isWide>{row.scope}</Cell>
      <Cell isWide>
        <Minute at={row.created} isDay />
      </Cell>
      <Cell isWide isRest>
        {row.description}
      </Cell>
    </tr>
  );
});

/** How long a token that expires soon is valid; null for others. */
function leftText(expires: string): string | null {
  const left = Date.parse(expires) - Date.now();
  if (left > SOON_MS) return null;
  const hours = Math.max(1, Math.ceil(left / 3_600_000));
  return `in ${hours < 48 ? countText(hours, 'hour') : countText(Math.floor(hours / 24), 'day')}`;
}

/** A time; a narrow window shows only the day. */
function Minute({ at, isDay = false }: { at: string | null; isDay?: boolean }): ReactNode {
  if (at === null) return 'never';
  const [day, minute] = localText(new Date(at)).split(' ');
  return (
    <time dateTime={at} title={`${at.replace('T', ' ').slice(0, 19)} UTC`}>
      {day} {!isDay && <span className="wide">{minute}</span>}
    </time>
  );
}

function Cell({
  children,
  title = typeof children === 'string' ? children : undefined,
  isWide = false,
  isRest = false,
}: {
  children: ReactNode;
  /** The row has one line: truncated text is in its tooltip. */
  title?: string | undefined;
  /** Whether a narrow window omits it. */
  isWide?: boolean;
  /** Whether it takes the remaining width. */
  isRest?: boolean;
}): ReactNode {
  const names = ['pf-v6-c-table__td', isWide && 'wide', isRest && 'rest'].filter(Boolean).join(' ');
  return (
    <td className={names} title={title}>
      {children}
    </td>
  );
}

function Space({ height }: { height: number }): ReactNode {
  if (height === 0) return null;
  return (
    <tr className="space">
      <td style={{ height }} colSpan={10} />
    </tr>
  );
}

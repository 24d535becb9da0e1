/**
 * The list of a collection. Filters, order and page are the server's, and are in the page's URL, so that lists can be
 * linked and the browser's buttons work. Parameters without a declared filter are passed on unchanged.
 */
import {
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
  Pagination,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { ApiError, type Page, withQuery } from './api.ts';
import { DeleteButton, type Deletion } from './deletion.tsx';
import {
  ActiveFilters,
  ClearButton,
  type Filter,
  FilterInputs,
  type ListAddress,
  ORDER,
  PAGE,
  SIZE,
  useListAddress,
} from './list-filters.tsx';
import { SelectBox, Selection } from './list-selection.tsx';
import { seesEverything, useApi, useMe } from './queries.ts';
import { Failed, Loading } from './states.tsx';
import { breakPointOf, type Column as PlainColumn, TextCell } from './table.tsx';
import { numberText } from './times.tsx';

export interface Column<T> extends PlainColumn<T> {
  /** The field that the server can order by, if any. */
  readonly orderBy?: string;
}

const SIZES = [10, 20, 50, 100];
const DEFAULT_SIZE = 20;

interface ListProps<T> {
  /** The plural in lowercase: the table's name. */
  readonly name: string;
  /** The collection, without a query. */
  readonly path: string;
  readonly columns: readonly Column<T>[];
  readonly filters?: readonly Filter[];
  /** Such as `-created`; by default the server's order. */
  readonly order?: string;
  /** Buttons of the toolbar, such as "Create token". */
  readonly actions?: ReactNode;
  /** The title of an empty list. Default: that there are no rows, or none that the user may see. */
  readonly emptyTitle?: string;
  /** Shown in addition for an empty collection. */
  readonly empty?: ReactNode;
  /** Whether every user who sees the list sees all of it, as for their own tokens. */
  readonly isWhole?: boolean;
  /** If given, rows can be selected and deleted. */
  readonly deletion?: Deletion<T>;
  readonly isDeletedInRow?: boolean;
  readonly rowActions?: (row: T) => ReactNode;
  /** Wraps the table, for example in data about its rows. */
  readonly around?: (rows: readonly T[], table: ReactNode) => ReactNode;
  /** The refresh interval in milliseconds, while the page is shown. */
  readonly every?: number;
}

export function ResourceList<T extends { readonly id: number }>(props: ListProps<T>): ReactNode {
  const { name, path, filters = [], order, actions, every } = props;
  const { isDeletedInRow = false } = props;
  const address = useListAddress();
  const query = withQuery(path, { [ORDER]: order, [SIZE]: DEFAULT_SIZE, ...address.parameters });
  const read = useApi<Page<T>>(query, { keepPrevious: true, every });
  const [selected, setSelected] = useState<ReadonlyMap<number, T>>(new Map());
  // The last page no longer exists after all of its rows were deleted.
  const isPastEnd = PAGE in address.parameters && read.error instanceof ApiError && read.error.status === 404;
  useEffect(() => {
    if (isPastEnd) address.change({ [PAGE]: '' });
  });
  const count = read.data?.count ?? 0;
  const deletion = shownDeletion(props.deletion, read.data?.results, selected);
  return (
    <>
      <Toolbar id={`${name.replaceAll(' ', '-')}-toolbar`}>
        <ToolbarContent>
          {filters.length > 0 && <FilterInputs filters={filters} address={address} />}
          <ToolbarGroup variant="action-group">
            {Boolean(actions) && <ToolbarItem>{actions}</ToolbarItem>}
            {deletion !== undefined && (
              <ToolbarItem>
                <DeleteButton
                  deletion={deletion}
                  rows={[...selected.values()]}
                  onDone={() => setSelected(new Map())}
                />
              </ToolbarItem>
            )}
          </ToolbarGroup>
          <ToolbarItem
            variant="pagination"
            align={{ default: 'alignEnd' }}
            {...(count === 0 && { className: 'not-known' })}
          >
            <ListPages position="top" name={name} count={count} address={address} />
          </ToolbarItem>
        </ToolbarContent>
        <ActiveFilters filters={filters} address={address} />
        {deletion !== undefined && selected.size > 0 && (
          <Selection
            deletion={deletion}
            query={query}
            count={count}
            selected={selected}
            setSelected={setSelected}
          />
        )}
      </Toolbar>
      <Rows
        {...props}
        {...(isDeletedInRow && deletion !== undefined && { rowActions: deletedInRow(deletion) })}
        deletion={deletion}
        read={read}
        address={address}
        selected={selected}
        setSelected={setSelected}
      />
      {count > DEFAULT_SIZE && <ListPages position="bottom" name={name} count={count} address={address} />}
    </>
  );
}

/** A row's delete button, if deletion is allowed. */
function deletedInRow<T>(deletion: Deletion<T>): (row: T) => ReactNode {
  return (row) =>
    (deletion.mayDelete?.(row) ?? true) && (
      <DeleteButton deletion={deletion} rows={[row]} variant="link" isInRow onDone={() => undefined} />
    );
}

/** How rows are deleted, if any of these rows may be. Otherwise neither checkboxes nor a button are shown. */
function shownDeletion<T extends { readonly id: number }>(
  deletion: Deletion<T> | undefined,
  rows: readonly T[] | undefined,
  selected: ReadonlyMap<number, T>,
): Deletion<T> | undefined {
  const isDeletable = deletion?.mayDelete ?? (() => true);
  return selected.size > 0 || rows?.some(isDeletable) === true ? deletion : undefined;
}

interface RowsProps<T> extends Omit<ListProps<T>, 'deletion'> {
  readonly deletion: Deletion<T> | undefined;
  readonly read: UseQueryResult<Page<T>, Error>;
  readonly address: ListAddress;
  readonly selected: ReadonlyMap<number, T>;
  readonly setSelected: (selected: ReadonlyMap<number, T>) => void;
}

/** The rows, or the text instead of them. */
function Rows<T extends { readonly id: number }>(props: RowsProps<T>): ReactNode {
  const { name, read, address, emptyTitle, empty, isWhole = false, around } = props;
  if (read.data === undefined) {
    if (!read.isError) return <Loading reason={read.failureReason} />;
    // An order by an unknown field is refused each time.
    const isWrong = read.error instanceof ApiError && read.error.status === 400;
    return (
      <>
        <Failed error={read.error} {...(!isWrong && { retry: () => void read.refetch() })} />
        {address.active.length > 0 && <ClearButton address={address} />}
      </>
    );
  }
  const rows = read.data.results;
  if (rows.length > 0) {
    const table = <RowTable {...props} rows={rows} />;
    return around === undefined ? table : around(rows, table);
  }
  return (
    <Empty name={name} address={address} title={emptyTitle} isWhole={isWhole}>
      {empty}
    </Empty>
  );
}

function RowTable<T extends { readonly id: number }>(props: RowsProps<T> & { readonly rows: readonly T[] }) {
  const { name, columns, order, deletion, rowActions, read, rows, address, selected, setSelected } = props;
  const ordered = address.parameters[ORDER] ?? order ?? '';
  const deletable = deletion === undefined ? [] : rows.filter(deletion.mayDelete ?? (() => true));
  const select = (some: readonly T[], isSelected: boolean) => {
    const next = new Map(selected);
    for (const row of some) {
      if (isSelected) next.set(row.id, row);
      else next.delete(row.id);
    }
    setSelected(next);
  };
  return (
    <div className="table-scroll">
      <Table
        aria-label={name}
        variant="compact"
        gridBreakPoint={breakPointOf(columns)}
        aria-busy={read.isPlaceholderData}
      >
        <Thead>
          <Tr>
            {deletion !== undefined && (
              <Th className="pf-v6-c-table__check">
                <SelectBox
                  id="page"
                  label="Select all rows on this page"
                  isSelected={deletable.length > 0 && deletable.every(({ id }) => selected.has(id))}
                  isDisabled={deletable.length === 0}
                  onSelect={(isSelected) => select(deletable, isSelected)}
                />
              </Th>
            )}
            {columns.map(({ title, orderBy }, index) => (
              <Th
                key={title}
                modifier="nowrap"
                {...(orderBy && { sort: sortOf(orderBy, { index, ordered, address }) })}
              >
                {title}
              </Th>
            ))}
            {rowActions !== undefined && <Th screenReaderText="Actions" />}
          </Tr>
        </Thead>
        <Tbody>
          {rows.map((row) => (
            <Tr key={row.id}>
              {deletion !== undefined && (
                <Td className="pf-v6-c-table__check">
                  <SelectBox
                    id={String(row.id)}
                    label={`Select ${deletion.describe(row)}`}
                    isSelected={selected.has(row.id)}
                    isDisabled={!deletable.includes(row)}
                    onSelect={(isSelected) => select([row], isSelected)}
                  />
                </Td>
              )}
              {columns.map(({ title, show }) => (
                <TextCell key={title} title={title}>
                  {show(row)}
                </TextCell>
              ))}
              {rowActions !== undefined && <Td isActionCell>{rowActions(row)}</Td>}
            </Tr>
          ))}
        </Tbody>
      </Table>
    </div>
  );
}

function sortOf(
  field: string,
  { index, ordered, address }: { index: number; ordered: string; address: ListAddress },
) {
  const isSorted = ordered.replace(/^-/, '') === field;
  return {
    columnIndex: index,
    sortBy: isSorted
      ? { index, direction: ordered.startsWith('-') ? ('desc' as const) : ('asc' as const) }
      : {},
    onSort: (_event: unknown, _index: number, direction: 'asc' | 'desc') =>
      address.change({ [ORDER]: direction === 'asc' ? field : `-${field}` }),
  };
}

function ListPages(props: { position: 'top' | 'bottom'; name: string; count: number; address: ListAddress }) {
  const { position, name, count, address } = props;
  return (
    <Pagination
      variant={position}
      isCompact={position === 'top'}
      itemCount={count}
      toggleTemplate={({ firstIndex = 0, lastIndex = 0, itemsTitle }) => (
        <>
          <b>
            {numberText(firstIndex)} - {numberText(lastIndex)}
          </b>{' '}
          of <b>{numberText(count)}</b> {itemsTitle}
        </>
      )}
      page={Number(address.parameters[PAGE] ?? 1)}
      perPage={Number(address.parameters[SIZE] ?? DEFAULT_SIZE)}
      perPageOptions={SIZES.map((value) => ({ title: String(value), value }))}
      onSetPage={(_event, page) => address.change({ [PAGE]: String(page) })}
      onPerPageSelect={(_event, size) => address.change({ [SIZE]: String(size), [PAGE]: '' })}
      widgetId={`${name.replaceAll(' ', '-')}-pages-${position}`}
      titles={{ paginationAriaLabel: `Pages of ${name}, ${position}` }}
    />
  );
}

function Empty(props: {
  name: string;
  address: ListAddress;
  title: string | undefined;
  isWhole: boolean;
  children: ReactNode;
}): ReactNode {
  const { name, address, title, isWhole, children } = props;
  const me = useMe();
  if (address.active.length === 0) {
    const isNone = title !== undefined || isWhole || seesEverything(me);
    const text = isNone ? children : 'An administrator can give you access.';
    const shown = title ?? (isNone ? `No ${name} yet` : `No ${name} that you can access`);
    return (
      <EmptyState headingLevel="h2" titleText={shown}>
        {text !== undefined && <EmptyStateBody>{text}</EmptyStateBody>}
      </EmptyState>
    );
  }
  return (
    <EmptyState headingLevel="h2" titleText={`No ${name} match`}>
      <EmptyStateBody>No {name} match all of these filters.</EmptyStateBody>
      <EmptyStateFooter>
        <EmptyStateActions>
          <ClearButton address={address} />
        </EmptyStateActions>
      </EmptyStateFooter>
    </EmptyState>
  );
}

/** How many rows of a list are selected on all pages, and a way to select everything that matches the filters. */
import { Button, Checkbox, ToolbarContent, ToolbarItem } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { callApi, type Page, problemText, withQuery } from './api.ts';
import type { Deletion } from './deletion.tsx';
import { PAGE, SIZE } from './list-filters.tsx';
import { useNotify } from './notices.tsx';
import { countText, numberText } from './times.tsx';

/** Each row is deleted by a separate request. */
const MAX_SELECTED = 1_000;
/** The largest page of the API. */
const PAGE_SIZE = 200;

/** The number of selected rows, with a button that selects all that match the filters. */
export function Selection<T extends { readonly id: number }>(props: {
  readonly deletion: Deletion<T>;
  /** The path of the list with its filters. */
  readonly query: string;
  /** The rows that match the filters, on all pages. */
  readonly count: number;
  readonly selected: ReadonlyMap<number, T>;
  readonly setSelected: (selected: ReadonlyMap<number, T>) => void;
}): ReactNode {
  const { deletion, query, count, selected, setSelected } = props;
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const { noun, plural, mayDelete = () => true } = deletion;
  const selectAll = async () => {
    setBusy(true);
    try {
      const rows = (await readAll<T>(query)).filter(mayDelete);
      setSelected(new Map(rows.map((row) => [row.id, row])));
    } catch (error) {
      notify(`Not selected: ${problemText(error)}`, 'danger');
    } finally {
      setBusy(false);
    }
  };
  return (
    <ToolbarContent>
      <ToolbarItem>
        <span role="status">{countText(selected.size, noun, plural)} selected</span>
      </ToolbarItem>
      {count > selected.size && (
        <ToolbarItem>
          {count > MAX_SELECTED ? (
            `${numberText(count)} match. Add filters to select all of them, up to ${numberText(MAX_SELECTED)}.`
          ) : (
            <Button
              variant="link"
              isInline
              isLoading={isBusy}
              isDisabled={isBusy}
              onClick={() => void selectAll()}
            >
              Select all {numberText(count)} matching
            </Button>
          )}
        </ToolbarItem>
      )}
      <ToolbarItem>
        <Button variant="link" isInline onClick={() => setSelected(new Map())}>
          Clear selection
        </Button>
      </ToolbarItem>
    </ToolbarContent>
  );
}

/** A row's checkbox. Its label is large enough for a finger. */
export function SelectBox(props: {
  id: string;
  label: string;
  isSelected: boolean;
  isDisabled: boolean;
  onSelect: (isSelected: boolean) => void;
}): ReactNode {
  const { id, label, isSelected, isDisabled, onSelect } = props;
  return (
    <Checkbox
      id={`select-${id}`}
      className="select-box"
      isLabelWrapped
      aria-label={label}
      isChecked={isSelected}
      isDisabled={isDisabled}
      onChange={(_event, isChecked) => onSelect(isChecked)}
    />
  );
}

/** The rows of all pages of a list, up to the selection limit. */
async function readAll<T>(query: string): Promise<readonly T[]> {
  const [path = '', search] = query.split('?');
  const parameters = Object.fromEntries(new URLSearchParams(search));
  const rows: T[] = [];
  for (let number = 1; number <= MAX_SELECTED / PAGE_SIZE; number += 1) {
    const page = await callApi<Page<T>>(
      withQuery(path, { ...parameters, [SIZE]: PAGE_SIZE, [PAGE]: number }),
    );
    rows.push(...page.results);
    if (page.next === null) break;
  }
  return rows;
}

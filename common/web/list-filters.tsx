/** The filters of a list, and their part of the URL. */
import {
  Button,
  Label,
  LabelGroup,
  SearchInput,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import { MenuChoice } from './choice.tsx';
import { type DateRange, localTime, RangeInput, rangeText } from './date-range.tsx';

/** A filter that users can set. Other filters of the API work in the URL. */
export interface Filter {
  /** The query parameter, such as `username__icontains` or `scope`. */
  readonly name: string;
  readonly label: string;
  /** The choices with their labels. Without them, any text. */
  readonly choices?: readonly (readonly [string, string])[];
  /** Times to choose from instead of a text. */
  readonly range?: DateRange;
}

/** Query parameters that are not filters. */
export const PAGE = 'page';
/** The number of rows per page. */
export const SIZE = 'page_size';
/** A field, with a leading minus for descending. */
export const ORDER = 'order_by';

/** The part of the page's URL that belongs to its list. */
export interface ListAddress {
  readonly parameters: Readonly<Record<string, string>>;
  readonly active: readonly (readonly [string, string])[];
  /** Changes parameters, and shows the first page unless the page itself changes. An empty value removes one. */
  readonly change: (changes: Readonly<Record<string, string>>) => void;
}

export function useListAddress(): ListAddress {
  const [search, setSearch] = useSearchParams();
  const parameters = Object.fromEntries(search);
  return {
    parameters,
    active: Object.entries(parameters).filter(([name]) => name !== PAGE && name !== SIZE && name !== ORDER),
    change: (changes) =>
      setSearch((before) => {
        const next = new URLSearchParams(before);
        if (!(PAGE in changes)) next.delete(PAGE);
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      }),
  };
}

interface FiltersProps {
  readonly filters: readonly Filter[];
  readonly address: ListAddress;
}

/** The choice of a filter, and its value. */
export function FilterInputs({ filters, address }: FiltersProps): ReactNode {
  const [chosen, setChosen] = useState(filters[0]?.name ?? '');
  const [text, setText] = useState('');
  const filter = filters.find(({ name }) => name === chosen) ?? filters[0];
  if (filter === undefined) return null;
  const set = (value: string) => address.change({ [filter.name]: value });
  return (
    <ToolbarGroup variant="filter-group">
      {filters.length > 1 && (
        <ToolbarItem>
          <MenuChoice
            label="Filter by"
            value={filter.name}
            choices={filters.map(({ name, label }) => [name, label])}
            onChange={(name) => {
              setChosen(name);
              setText('');
            }}
          />
        </ToolbarItem>
      )}
      <ToolbarItem>
        {filter.range !== undefined ? (
          <RangeInput
            label={filter.label}
            range={filter.range}
            parameters={address.parameters}
            onChange={address.change}
          />
        ) : filter.choices === undefined ? (
          <SearchInput
            aria-label={`Filter by ${filter.label.toLowerCase()}`}
            placeholder={filter.label}
            value={text}
            onChange={(_event, value) => setText(value)}
            onSearch={() => {
              set(text.trim());
              setText('');
            }}
            onClear={() => setText('')}
          />
        ) : (
          <MenuChoice
            label={`Filter by ${filter.label.toLowerCase()}`}
            value={address.parameters[filter.name] ?? ''}
            choices={[['', 'Any'], ...filter.choices]}
            onChange={set}
          />
        )}
      </ToolbarItem>
    </ToolbarGroup>
  );
}

/** The filters that are set, each with a button that removes it. */
export function ActiveFilters({ filters, address }: FiltersProps): ReactNode {
  if (address.active.length === 0) return null;
  return (
    <ToolbarContent>
      <ToolbarItem>
        <LabelGroup categoryName="Filters" numLabels={20}>
          {chipsOf(filters, address).map(({ names, text }) => {
            return (
              <Label
                key={text}
                variant="outline"
                onClose={() => address.change(Object.fromEntries(names.map((name) => [name, ''])))}
                closeBtnAriaLabel={`Remove the filter ${text}`}
              >
                {text}
              </Label>
            );
          })}
        </LabelGroup>
      </ToolbarItem>
      <ToolbarItem>
        <ClearButton address={address} />
      </ToolbarItem>
    </ToolbarContent>
  );
}

/** The active filters: the parameters of each, and its text. A range has two parameters. */
function chipsOf(filters: readonly Filter[], { active, parameters }: ListAddress) {
  const ranges = filters.flatMap(({ label, range }) => {
    if (range === undefined) return [];
    const text = rangeText(range, parameters);
    return text === null ? [] : [{ names: [range.from, range.to], text: `${label}: ${text}` }];
  });
  const others = active
    .filter(([name]) => !ranges.some(({ names }) => names.includes(name)))
    .map(([name, value]) => {
      const filter = filters.find((each) => each.name === name);
      const shown = filter?.choices?.find(([each]) => each === value)?.[1] ?? localTime(value);
      return { names: [name], text: `${filter?.label ?? name}: ${shown}` };
    });
  return [...ranges, ...others];
}

export function ClearButton({ address }: { address: ListAddress }): ReactNode {
  const cleared = Object.fromEntries(address.active.map(([name]) => [name, '']));
  return (
    <Button variant="link" onClick={() => address.change(cleared)}>
      Clear all filters
    </Button>
  );
}

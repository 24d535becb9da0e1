/** One table of the tokens of all contexts; the filters are in the address. */
import {
  Alert,
  Button,
  Checkbox,
  Form,
  FormGroup,
  FormSelect,
  FormSelectOption,
  Label,
  LabelGroup,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  PageSection,
  SearchInput,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
} from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type UIEvent, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { Failed, Loading } from '../shared/states.tsx';
import { type Count, call, type Ended, type Problem, query, useFacts, useRead } from './api.ts';
import { type Account, AccountFields, ProblemAlert, useBegin } from './operation.tsx';
import { Bars, CommandLine, Heading, number, Printed, When } from './parts.tsx';

interface Row {
  readonly place: string;
  readonly id: number;
  readonly user: { readonly username: string } | null;
  readonly application: { readonly name: string } | null;
  readonly scope: string;
  readonly description: string;
  readonly created: string;
  readonly expires: string;
  readonly lastUsed?: string | null;
}

interface Bar {
  readonly from: string | null;
  readonly to: string | null;
  readonly label: string;
  readonly count: number;
}

/** A part of the filtered tokens, with counts of all of them. */
export interface TokenPage {
  readonly total: number;
  readonly rows: readonly Row[];
  readonly facets: {
    readonly users: readonly Count[];
    readonly applications: readonly Count[];
    readonly scopes: readonly Count[];
  };
  readonly expiry: readonly Bar[];
  readonly lastUse: readonly Bar[] | null;
  readonly readings: readonly {
    readonly place: string;
    readonly at: string;
    readonly state: 'reading' | 'complete' | 'cut' | 'failed';
    readonly tokens: number;
    readonly problem: Problem | null;
    readonly seconds: number;
  }[];
}

/** The criteria in the address; the others are order and selection of the page. */
const CRITERIA = [
  ...[
    'place',
    'text',
    'user',
    'application',
    'personal',
    'scope',
    'expiry',
    'expiresWithin',
    'use',
    'unusedFor',
  ],
  ...['createdSince', 'createdBefore', 'expiresSince', 'expiresBefore'],
];
/** Rows in one request. */
const CHUNK = 100;
const ROW_HEIGHT = 37;
/** Rows above and below what is seen. */
const MARGIN = 20;

/** The page. */
export function Tokens(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const queries = useQueryClient();
  const { places } = useFacts();
  const filter = Object.fromEntries([...search].filter(([name]) => CRITERIA.includes(name)));
  const order = { sort: search.get('sort') ?? 'id', descending: search.get('descending') ?? 'false' };
  const [isReading, setReading] = useState(true);
  const read = useRead<TokenPage>(
    query('/api/tokens', { ...filter, ...order, limit: 0 }),
    isReading ? 1000 : false,
  );
  const stillReading = read.data?.readings.some(({ state }) => state === 'reading') ?? true;
  if (stillReading !== isReading) setReading(stillReading);
  const [selected, setSelected] = useState<ReadonlyMap<string, Row>>(new Map());
  const change = (changes: Readonly<Record<string, string | null>>) =>
    setSearch((before) => {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === '') before.delete(name);
        else before.set(name, value);
      }
      return before;
    });
  const { data } = read;
  if (data === undefined) return read.error === null ? <Loading /> : <Failed error={read.error} />;
  return (
    <>
      <Heading
        title="Tokens"
        actions={
          <Button
            variant="secondary"
            onClick={() => {
              setReading(true);
              void call('/api/tokens/read-again', { body: {} }).then(() => queries.invalidateQueries());
            }}
          >
            Read again
          </Button>
        }
      />
      <PageSection>
        <Readings readings={data.readings} />
        <Toolbar>
          <ToolbarContent>
            <ToolbarItem>
              <TextFilter
                key={filter['text'] ?? ''}
                value={filter['text'] ?? ''}
                onChange={(text) => change({ text })}
              />
            </ToolbarItem>
            {places.length > 1 && (
              <ToolbarItem>
                <FormSelect
                  aria-label="Context"
                  value={filter['place'] ?? ''}
                  onChange={(_event, place) => change({ place })}
                >
                  <FormSelectOption value="" label="All contexts" />
                  {places.map((place) => (
                    <FormSelectOption key={place} value={place} label={place} />
                  ))}
                </FormSelect>
              </ToolbarItem>
            )}
            <ToolbarItem>
              <FormSelect
                aria-label="Last use"
                value={
                  filter['use'] ?? (filter['unusedFor'] === undefined ? '' : `days${filter['unusedFor']}`)
                }
                onChange={(_event, value) =>
                  change(
                    value.startsWith('days')
                      ? { use: null, unusedFor: value.slice(4) }
                      : { use: value, unusedFor: null },
                  )
                }
              >
                <FormSelectOption value="" label="Any last use" />
                <FormSelectOption value="never" label="Never used" />
                <FormSelectOption value="days30" label="Not used for 30 days" />
                <FormSelectOption value="days90" label="Not used for 90 days" />
                <FormSelectOption value="days365" label="Not used for a year" />
              </FormSelect>
            </ToolbarItem>
            <ToolbarItem>
              <RevokeButton filter={filter} total={data.total} selected={[...selected.values()]} />
            </ToolbarItem>
          </ToolbarContent>
        </Toolbar>
        <ActiveFilters filter={filter} onChange={change} />
        <div className="charts">
          <Bars
            title="Expiry"
            bars={data.expiry.map((bar) => ({ ...bar, isChosen: isChosen(bar, filter) }))}
            onChoose={(index) => {
              const bar = data.expiry[index];
              if (bar === undefined) return;
              change(
                isChosen(bar, filter)
                  ? { expiresSince: null, expiresBefore: null }
                  : { expiresSince: bar.from, expiresBefore: bar.to },
              );
            }}
          />
          <FacetBars title="Owner" name="user" facet={data.facets.users} filter={filter} onChange={change} />
          <FacetBars
            title="Application"
            name="application"
            facet={data.facets.applications}
            filter={filter}
            onChange={change}
          />
          {data.lastUse !== null && <Bars title="Last use" bars={data.lastUse} />}
        </div>
        <p aria-live="polite">
          {number(data.total)} tokens{stillReading ? ' so far' : ''}
          {selected.size > 0 && `, ${number(selected.size)} selected`}
        </p>
        <Rows
          {...{ filter, order, selected, total: data.total }}
          onOrder={(sort) =>
            change({ sort, descending: String(order.sort === sort && order.descending === 'false') })
          }
          onSelect={(row) => {
            const next = new Map(selected);
            if (!next.delete(keyOf(row))) next.set(keyOf(row), row);
            setSelected(next);
          }}
        />
      </PageSection>
    </>
  );
}

function keyOf({ place, id }: Row): string {
  return `${place} ${id}`;
}

function isChosen({ from, to }: Bar, filter: Readonly<Record<string, string>>): boolean {
  const same = (one: string | null, other: string | undefined) =>
    one === null ? other === undefined : other !== undefined && near(one, other);
  return (
    (from !== null || to !== null) && same(from, filter['expiresSince']) && same(to, filter['expiresBefore'])
  );
}

/** The bars move with the clock. */
function near(one: string, other: string): boolean {
  return Math.abs(Date.parse(one) - Date.parse(other)) < 3_600_000;
}

type Change = (changes: Readonly<Record<string, string | null>>) => void;

function TextFilter({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  const [text, setText] = useState(value);
  return (
    <SearchInput
      aria-label="Owner, application, description or id"
      placeholder="Owner, application, description or id"
      value={text}
      onChange={(_event, next) => setText(next)}
      onSearch={() => onChange(text)}
      onClear={() => onChange('')}
    />
  );
}

function Readings({ readings }: { readonly readings: TokenPage['readings'] }): ReactNode {
  return readings.map(({ place, at, state, tokens, problem }) => {
    if (state === 'failed') {
      return <Alert key={place} isInline variant="danger" title={`${place}: ${problem?.message}`} />;
    }
    if (state === 'cut') {
      return (
        <Alert
          key={place}
          isInline
          variant="warning"
          title={`${place}: only the first ${number(tokens)} tokens are held. Use the commands for the others.`}
        />
      );
    }
    return (
      <p key={place}>
        {place}:{' '}
        {state === 'reading' ? `${number(tokens)} tokens read so far` : `${number(tokens)} tokens, as of `}
        {state === 'complete' && <When at={at} />}
      </p>
    );
  });
}

const NAMES: Readonly<Record<string, string>> = {
  ...{
    place: 'Context',
    text: 'Text',
    user: 'Owner',
    application: 'Application',
    personal: 'Personal',
    scope: 'Scope',
  },
  ...{ expiry: 'Expiry', expiresWithin: 'Expires within days', use: 'Used', unusedFor: 'Not used for days' },
  ...{ createdSince: 'Created since', createdBefore: 'Created before', expiresSince: 'Expires after' },
  expiresBefore: 'Expires by',
};

function ActiveFilters({
  filter,
  onChange,
}: {
  readonly filter: Readonly<Record<string, string>>;
  readonly onChange: Change;
}): ReactNode {
  const active = Object.entries(filter);
  if (active.length === 0) return null;
  return (
    <LabelGroup categoryName="Filters" numLabels={10}>
      {active.map(([name, value]) => (
        <Label
          key={name}
          onClose={() => onChange({ [name]: null })}
          closeBtnAriaLabel={`Remove ${NAMES[name]}`}
        >
          {NAMES[name]}: {value.length > 24 ? value.slice(0, 16) : value}
        </Label>
      ))}
    </LabelGroup>
  );
}

function FacetBars({
  title,
  name,
  facet,
  filter,
  onChange,
}: {
  readonly title: string;
  readonly name: 'user' | 'application';
  readonly facet: readonly Count[];
  readonly filter: Readonly<Record<string, string>>;
  readonly onChange: Change;
}): ReactNode {
  const none = name === 'user' ? '(no owner)' : '(personal)';
  return (
    <Bars
      title={title}
      bars={facet.slice(0, 8).map((each) => ({
        label: each.name ?? none,
        count: each.count,
        isChosen: each.name === null ? filter['personal'] === 'true' : filter[name] === patternOf(each.name),
      }))}
      onChoose={(index) => {
        const chosen = facet[index]?.name;
        if (chosen === undefined) return;
        if (chosen === null)
          return name === 'application' && onChange({ personal: filter['personal'] ? null : 'true' });
        onChange({ [name]: filter[name] === patternOf(chosen) ? null : patternOf(chosen) });
      }}
    />
  );
}

/** A name as the pattern that means exactly it. */
function patternOf(name: string): string {
  return name.replaceAll(/[*?]/g, '\\$&');
}

const COLUMNS = [
  ['id', 'Id'],
  ['user', 'Owner'],
  ['application', 'Application'],
  ['scope', 'Scope'],
  ['created', 'Created'],
  ['expires', 'Expires'],
  ['lastUsed', 'Last use'],
] as const;

/** The rows that are seen, and a few around them: a table of any length. */
function Rows(props: {
  readonly filter: Readonly<Record<string, string>>;
  readonly order: { readonly sort: string; readonly descending: string };
  readonly total: number;
  readonly selected: ReadonlyMap<string, Row>;
  readonly onOrder: (sort: string) => void;
  readonly onSelect: (row: Row) => void;
}): ReactNode {
  const { filter, order, total, selected, onOrder, onSelect } = props;
  const { places } = useFacts();
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const visible = Math.ceil((box.current?.clientHeight ?? 600) / ROW_HEIGHT);
  const first = Math.max(0, Math.min(top, total) - MARGIN);
  const last = Math.min(total, top + visible + MARGIN);
  const chunks = [];
  for (let at = Math.floor(first / CHUNK); at * CHUNK < last; at += 1) chunks.push(at * CHUNK);
  const reads = useQueries({
    queries: chunks.map((offset) => {
      const path = query('/api/tokens', { ...filter, ...order, offset, limit: CHUNK });
      return { queryKey: [path, total], queryFn: () => call<TokenPage>(path, { quiet: true }) };
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
  const sorted = COLUMNS.findIndex(([name]) => name === order.sort);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached with the keyboard
    <section className="rows" ref={box} onScroll={onScroll} tabIndex={0} aria-label="Rows">
      <Table aria-label="Tokens" aria-rowcount={total} variant="compact" isStickyHeader gridBreakPoint="">
        <Thead>
          <Tr>
            <Th screenReaderText="Selected" />
            {places.length > 1 && <Th>Context</Th>}
            {COLUMNS.map(([name, title], columnIndex) => (
              <Th
                key={name}
                modifier="nowrap"
                sort={{
                  columnIndex,
                  sortBy: { index: sorted, direction: order.descending === 'true' ? 'desc' : 'asc' },
                  onSort: () => onOrder(name),
                }}
              >
                {title}
              </Th>
            ))}
            <Th>Description</Th>
          </Tr>
        </Thead>
        <Tbody>
          <Space height={before} />
          {shown.map(({ row, index }) => (
            <Tr key={keyOf(row)} aria-rowindex={index + 2}>
              <Td
                select={{
                  rowIndex: index,
                  isSelected: selected.has(keyOf(row)),
                  onSelect: () => onSelect(row),
                }}
              />
              {places.length > 1 && <Td>{row.place}</Td>}
              <Td>{row.id}</Td>
              <Td>{row.user?.username ?? '(no owner)'}</Td>
              <Td>{row.application?.name ?? '(personal)'}</Td>
              <Td>{row.scope}</Td>
              <Td>
                <When at={row.created} />
              </Td>
              <Td>
                <When at={row.expires} />
              </Td>
              <Td>{row.lastUsed === undefined ? 'not told' : <When at={row.lastUsed} />}</Td>
              <Td>{row.description}</Td>
            </Tr>
          ))}
          <Space height={after} />
        </Tbody>
      </Table>
    </section>
  );
}

function Space({ height }: { readonly height: number }): ReactNode {
  if (height === 0) return null;
  return (
    <tr className="space">
      <td style={{ height }} colSpan={10} />
    </tr>
  );
}

/** Plans the revocation of the selected tokens, or of all that match. */
function RevokeButton(props: {
  readonly filter: Readonly<Record<string, string>>;
  readonly total: number;
  readonly selected: readonly Row[];
}): ReactNode {
  const { filter, total, selected } = props;
  const [isOpen, setOpen] = useState(false);
  const text =
    selected.length > 0 ? `Revoke ${number(selected.length)} selected…` : `Revoke all ${number(total)}…`;
  return (
    <>
      <Button variant="danger" isDisabled={total === 0} onClick={() => setOpen(true)}>
        {text}
      </Button>
      {isOpen && <RevokeDialog filter={filter} selected={selected} onClose={() => setOpen(false)} />}
    </>
  );
}

function RevokeDialog(props: {
  readonly filter: Readonly<Record<string, string>>;
  readonly selected: readonly Row[];
  readonly onClose: () => void;
}): ReactNode {
  const { filter, selected, onClose } = props;
  const { places, readOnly } = useFacts();
  const meant =
    selected.length > 0
      ? [...new Set(selected.map(({ place }) => place))]
      : filter['place']
        ? [filter['place']]
        : places;
  const [place, setPlace] = useState(meant[0] ?? '');
  const [account, setAccount] = useState<Account>({ reason: '', ticket: '' });
  const [withSessions, setSessions] = useState(false);
  const [accessOnly, setAccessOnly] = useState(false);
  const [planned, setPlanned] = useState<(Ended & { readonly command: string }) | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const begin = useBegin();
  const { place: _place, ...criteria } = filter;
  const request = {
    ...{ kind: 'tokens revoke', place, ...account },
    ...(selected.length > 0
      ? { ids: selected.filter((row) => row.place === place).map(({ id }) => id) }
      : { filter: criteria }),
    ...(withSessions && { withSessions }),
    ...(accessOnly && { accessOnly }),
  };
  const plan = () => {
    setBusy(true);
    setError(null);
    call<Ended & { command: string }>('/api/plans', { body: request })
      .then(setPlanned, setError)
      .finally(() => setBusy(false));
  };
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="revoke-title">
      <ModalHeader title="Revoke tokens" labelId="revoke-title" />
      <ModalBody tabIndex={0} aria-label="What to revoke">
        <Form>
          {meant.length > 1 && (
            <FormGroup label="Context" fieldId="place">
              <FormSelect id="place" value={place} onChange={(_event, value) => setPlace(value)}>
                {meant.map((each) => (
                  <FormSelectOption key={each} value={each} label={each} />
                ))}
              </FormSelect>
            </FormGroup>
          )}
          <Checkbox
            id="with-sessions"
            label="End the users' sessions as well (needs a database context)"
            isChecked={withSessions}
            onChange={(_event, value) => setSessions(value)}
          />
          <Checkbox
            id="access-only"
            label="Leave refresh tokens alive"
            isChecked={accessOnly}
            onChange={(_event, value) => setAccessOnly(value)}
          />
          <AccountFields account={account} onChange={setAccount} />
        </Form>
        {(error ?? begin.error) !== null && (
          <Alert isInline isLiveRegion variant="danger" title={(error ?? begin.error)?.message} />
        )}
        {planned !== null && (
          <>
            {planned.failure !== null && <ProblemAlert problem={planned.failure} />}
            <Printed text={planned.text} label="Plan" />
            <CommandLine command={planned.command} />
          </>
        )}
      </ModalBody>
      <ModalFooter>
        {readOnly ? (
          <Button onClick={plan} isLoading={isBusy} isDisabled={isBusy}>
            Show the plan
          </Button>
        ) : (
          <Button
            variant="primary"
            isLoading={begin.isPending}
            isDisabled={begin.isPending}
            onClick={() => begin.mutate(request, { onSuccess: onClose })}
          >
            Plan
          </Button>
        )}
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

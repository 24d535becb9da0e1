/** One table of the tokens of all contexts; the filters are in the URL. */
import { Button, PageSection } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Failed, Loading } from '@tokenctl/common/web/states.tsx';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import type { OwnerRead } from '../../../console/overview.ts';
import { call, patternOf, query, useAddress, useFacts, useGradually, useRead } from '../api.ts';
import { Bars, NotInList, OneMessage, When } from '../parts.tsx';
import { Histogram } from './charts.tsx';
import { RevokeButton, RevokeDialog } from './revoke.tsx';
import { Filters, type FiltersProps, filterIn, NoTokens, OwnerFilters } from './token-filters.tsx';
import { type Bar, CHUNK, keyOf, LockdownLink, type Row, Rows, type TokenPage } from './token-rows.tsx';

/** A selected row, and when its context was read: a change or another reading of it deselects the row. */
interface Chosen {
  readonly row: Row;
  readonly at: string | undefined;
}

export function Tokens(): ReactNode {
  const [search, change] = useAddress();
  const queries = useQueryClient();
  const filter = filterIn(search);
  const order = { sort: search.get('sort') ?? 'id', descending: search.get('descending') ?? 'false' };
  const isReading = ({ readings }: TokenPage) => readings.some(({ state }) => state === 'reading');
  const read = useGradually<TokenPage>(
    query('/api/tokens', { ...filter, ...order, offset: 0, limit: CHUNK }),
    isReading,
  );
  const [chosen, setChosen] = useState<ReadonlyMap<string, Chosen>>(new Map());
  const [revoked, setRevoked] = useState<Row | null>(null);
  const [hasCharts, setCharts] = useCharts();
  const { data } = read;
  if (data === undefined) {
    return (
      <>
        <PageHeading title="Tokens" />
        {read.error === null ? (
          <Loading />
        ) : (
          <>
            <Filters filter={filter} onChange={change} />
            <Failed error={read.error} retry={() => void read.refetch()} />
          </>
        )}
      </>
    );
  }
  const stillReading = isReading(data);
  // Without a filter, the text in place of the list says that there are none.
  const isNarrowed = Object.keys(filter).some((name) => name !== 'place');
  const expiry = data.expiry.filter(({ count }) => count > 0);
  const readAt = (place: string) => data.readings.find((reading) => reading.place === place)?.at;
  const selected = new Map(
    [...chosen]
      .filter(([, { row, at }]) => at === (readAt(row.place) ?? at))
      .map(([key, { row }]) => [key, row]),
  );
  return (
    <>
      <PageHeading
        title="Tokens"
        actions={
          <Button
            variant="secondary"
            onClick={() => {
              void call('/api/tokens/read-again', { body: {} })
                // The page itself shows that the console does not respond.
                .catch(() => undefined)
                .then(() => queries.invalidateQueries());
            }}
          >
            Refresh
          </Button>
        }
      />
      <PageSection isFilled hasBodyWrapper={false} className="tokens-page">
        <div className="readings">
          <Readings data={data} />
        </div>
        <Filters filter={filter} onChange={change} />
        <div className="actions">
          <p aria-live="polite">
            {(stillReading || (isNarrowed && data.readings.some(isRead)) || data.total > 0) &&
              countText(data.total, 'token')}
            {stillReading ? ' so far' : ''}
            {selected.size > 0 && `, ${numberText(selected.size)} selected`}
          </p>
          {data.total > 0 && (
            <RevokeButton
              places={data.readings.map(({ place }) => place)}
              filter={filter}
              total={data.total}
              selected={[...selected.values()]}
              isReading={stillReading}
            />
          )}
          <OwnerLockdown filter={filter} />
          <Button variant="link" isInline aria-expanded={hasCharts} onClick={() => setCharts(!hasCharts)}>
            {hasCharts ? 'Hide charts and more filters' : 'Charts and more filters'}
          </Button>
        </div>
        {hasCharts && <OwnerFilters filter={filter} onChange={change} />}
        {hasCharts && (
          <div className="charts">
            <Histogram
              title="Expiry"
              unit="tokens"
              bars={expiry}
              chosen={chosenIn(expiry, filter['expiresSince'], filter['expiresBefore'])}
              onChoose={(range) => {
                const [expiresSince, expiresBefore] = endsOf(expiry, range);
                change({ expiresSince, expiresBefore });
              }}
            />
            <UseChart bars={data.lastUse} filter={filter} onChange={change} />
            <FacetBars name="user" facets={data.facets} filter={filter} onChange={change} />
            <FacetBars name="application" facets={data.facets} filter={filter} onChange={change} />
          </div>
        )}
        <OwnerSources filter={filter} />
        {data.total === 0 && !stillReading ? (
          <NoTokens filter={filter} onChange={change} isWhole={data.readings.every(isWhole)} />
        ) : (
          <Rows
            filter={filter}
            order={order}
            selected={selected}
            head={data}
            onOrder={(sort) =>
              change({ sort, descending: String(order.sort === sort && order.descending === 'false') })
            }
            onSelect={(row) => {
              const next = new Map([...chosen].filter(([key]) => selected.has(key)));
              if (!next.delete(keyOf(row))) next.set(keyOf(row), { row, at: readAt(row.place) });
              setChosen(next);
            }}
            onRevoke={setRevoked}
          />
        )}
        {revoked !== null && (
          <RevokeDialog
            places={[revoked.place]}
            filter={{}}
            total={1}
            selected={[revoked]}
            isReading={false}
            onClose={() => setRevoked(null)}
          />
        )}
      </PageSection>
    </>
  );
}

/** The browser's storage item for whether the charts are shown. */
const CHARTS = 'tokenctl-token-charts';

/** Whether the charts, also filters, are shown: not by default, as most users come for the list. */
function useCharts(): [boolean, (next: boolean) => void] {
  const [isShown, setShown] = useState(() => localStorage.getItem(CHARTS) === 'shown');
  return [
    isShown,
    (next) => {
      setShown(next);
      localStorage.setItem(CHARTS, next ? 'shown' : 'hidden');
    },
  ];
}

function isRead({ state }: TokenPage['readings'][number]): boolean {
  return state === 'complete' || state === 'cut';
}

/** Whether all tokens of a context are in the list. */
function isWhole({ state, incomplete }: TokenPage['readings'][number]): boolean {
  return state === 'complete' && incomplete === null;
}

/** A link to the lockdown of the owner whose tokens are shown. */
function OwnerLockdown({ filter }: { filter: Readonly<Record<string, string>> }): ReactNode {
  const owner = useOwner(filter);
  return owner && <LockdownLink {...owner} />;
}

/** The directories' answers about the owner whose tokens are shown. */
function OwnerSources({ filter }: { filter: Readonly<Record<string, string>> }): ReactNode {
  const owner = useOwner(filter);
  const { data, error, isPlaceholderData } = useRead<OwnerRead>(owner && query('/api/owner', owner));
  if (owner === null) return null;
  return (
    <section aria-label={`Directories about ${owner.user}`} className="readings">
      {error !== null && <p>Not checked: what a directory reported about {owner.user}.</p>}
      {(isPlaceholderData ? [] : (data?.lines ?? [])).map((line) => (
        <p key={line}>{line}</p>
      ))}
    </section>
  );
}

/** The single owner whose tokens are shown, and a context of them; null if a pattern matches several. */
function useOwner({ user = '', place }: Readonly<Record<string, string>>) {
  const { places } = useFacts();
  const context = place ?? places[0];
  if (user === '' || context === undefined || /(?<!\\)[*?]/.test(user)) return null;
  return { place: context, user: user.replaceAll(/\\([*?])/g, '$1') };
}

/** The earliest and latest instant of a range of bars, in either order; null if open-ended. */
function endsOf(
  bars: readonly Bar[],
  range: readonly [number, number] | null,
): [string | null, string | null] {
  if (range === null) return [null, null];
  const ends = [bars[range[0]], bars[range[1]]];
  const since = ends.map((bar) => bar?.from ?? null);
  const until = ends.map((bar) => bar?.to ?? null);
  return [
    since.includes(null) ? null : (since.toSorted()[0] ?? null),
    until.includes(null) ? null : (until.toSorted()[1] ?? null),
  ];
}

/** The bars between two instants; null without limits, and if no bar has such an end. */
function chosenIn(
  bars: readonly Bar[],
  since: string | undefined,
  until: string | undefined,
): readonly [number, number] | null {
  if (since === undefined && until === undefined) return null;
  const ends = (given: string | undefined, edge: 'from' | 'to') =>
    bars.findIndex((bar) => {
      const at = bar[edge];
      return at === null ? given === undefined : given !== undefined && near(at, given);
    });
  const [one, other] = [ends(since, 'from'), ends(until, 'to')];
  if (one < 0 || other < 0) return null;
  return one <= other ? [one, other] : [other, one];
}

/** The last use, with selectable bars over time, and tokens that were never used. */
function UseChart(props: FiltersProps & { readonly bars: readonly Bar[] | null }): ReactNode {
  const { filter, onChange } = props;
  if (props.bars === null) return null;
  const bars = props.bars.filter(({ count }) => count > 0);
  const timed = bars.filter(({ from, to }) => from !== null || to !== null);
  // Tokens that were never used follow, then those with an unknown last use.
  const never = timed.length;
  const isNever = filter['use'] === 'never';
  return (
    <Histogram
      title="Last use"
      unit="tokens"
      bars={bars}
      chosen={isNever ? [never, never] : chosenIn(timed, filter['usedSince'], filter['usedBefore'])}
      onChoose={(range) => {
        const other = { use: null, unusedFor: null };
        // An unknown last use cannot be selected.
        const label = bars[range?.[0] ?? 0]?.label;
        if (range !== null && label === 'unknown') return;
        if (range !== null && label === 'never')
          return onChange({ use: 'never', unusedFor: null, usedSince: null, usedBefore: null });
        const [usedSince, usedBefore] = endsOf(timed, range && [range[0], Math.min(range[1], never - 1)]);
        onChange({ ...other, usedSince, usedBefore });
      }}
    />
  );
}

/** The bars move with the clock. */
function near(one: string, other: string): boolean {
  return Math.abs(Date.parse(one) - Date.parse(other)) < 3_600_000;
}

/** The maximum number of contexts to name while they are read. */
const MOST_NAMED = 5;

function progressText({ place, tokens }: TokenPage['readings'][number]): string {
  return `${place} (${countText(tokens, 'token')} so far)`;
}

/** What was read from which contexts, and what is missing: otherwise, a total would look complete. */
function Readings({ data }: { data: TokenPage }): ReactNode {
  const { readings } = data;
  const read = readings.filter(({ state }) => state === 'complete');
  const reading = readings.filter(({ state }) => state === 'reading');
  const tokens = read.reduce((sum, each) => sum + each.tokens, 0);
  const [oldest] = read.map(({ at }) => at).toSorted();
  const [only, ...others] = read.map(({ place }) => place);
  return (
    <>
      {read.length > 0 && (
        <p>
          {others.length === 0 ? only : `${numberText(read.length)} contexts`}: {countText(tokens, 'token')},
          as of <When at={oldest} />.{' '}
          {data.total > 0 && data.lastUse === null && (
            <span className="hint">
              The REST API can only filter by last use. A database context shows it.
            </span>
          )}
        </p>
      )}
      {reading.length > 0 && (
        <p role="status">
          Still reading {reading.slice(0, MOST_NAMED).map(progressText).join(', ')}
          {reading.length > MOST_NAMED && ` and ${numberText(reading.length - MOST_NAMED)} more contexts`}.
          Its items are not in this list.
        </p>
      )}
      <NotInList readings={readings} />
      <OneMessage
        variant="warning"
        title="Not all tokens are loaded"
        texts={readings
          .filter(({ state }) => state === 'cut')
          .map(
            ({ place, tokens: held }) =>
              `${place}: only the first ${numberText(held)} tokens are loaded. Use the commands for the rest.`,
          )}
      />
      <OneMessage
        variant="warning"
        title="Not all tokens are included"
        texts={readings.flatMap(({ place, incomplete }) =>
          incomplete === null ? [] : `${place}: ${incomplete}`,
        )}
      />
    </>
  );
}

function FacetBars(
  props: FiltersProps & { readonly name: 'user' | 'application'; readonly facets: TokenPage['facets'] },
): ReactNode {
  const { name, facets, filter, onChange } = props;
  const facet = facets[`${name}s`];
  const none = name === 'user' ? '(no owner)' : '(personal)';
  return (
    <Bars
      title={name === 'user' ? 'Owner' : 'Application'}
      unit="tokens"
      bars={facet
        .slice(0, 8)
        .map((each) => ({
          label: each.name ?? none,
          count: each.count,
          isChosen:
            each.name === null ? filter['personal'] === 'true' : filter[name] === patternOf(each.name),
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

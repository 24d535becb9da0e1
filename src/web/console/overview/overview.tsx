/** All controllers: what needs attention, what is open, what expires, and when the last sweep ran. */
import { Button, PageSection } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { numberText, unbroken } from '@tokenctl/common/web/times.tsx';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { type ControllerRead, call, query, useGradually, useRead } from '../api.ts';
import type { JobsRead } from '../jobs.tsx';
import { type ControllerState, jobNeeds, type Need, needsOf, sweepOf } from '../needs.ts';
import { Message, When } from '../parts.tsx';
import { ControllerCard, ExpiringLink, isPending, NeedLabel } from './controller-card.tsx';

const ControllerTable = lazy(async () => ({
  default: (await import('./controller-table.tsx')).ControllerTable,
}));

/** With more controllers, each is a line of a table. */
const MOST_CARDS = 3;

export function Overview(): ReactNode {
  const [search] = useSearchParams();
  const only = search.get('place');
  const read = useGradually<{ readonly controllers: readonly ControllerRead[] }>(
    query('/api/fleet', { place: only ?? undefined }),
    ({ controllers }) => controllers.some(isPending),
  );
  const jobs = useRead<JobsRead>('/api/jobs');
  return (
    <>
      <PageHeading
        title="Overview"
        actions={
          <div className="buttons">
            <Link
              className="pf-v6-c-button pf-m-danger pf-m-secondary"
              to={query('/theft', { place: only ?? undefined })}
            >
              Respond to a stolen token
            </Link>
            <ReadAgain />
          </div>
        }
      />
      <Loaded query={read}>
        {({ controllers }) => {
          const states = controllers.map((each): ControllerState => {
            const sweep = jobs.data && sweepOf(jobs.data, [each.place, ...each.others]);
            return { read: each, sweep, needs: needsOf(each, sweep) };
          });
          const ordered = states.toSorted((one, other) => weightOf(other) - weightOf(one));
          const isTable = only === null && ordered.length > MOST_CARDS;
          return (
            <>
              <Summary states={ordered} place={only === null ? undefined : ordered[0]?.read.place} />
              <Problems
                states={isTable ? [] : ordered}
                isPending={ordered.some(({ read: each }) => isPending(each)) || jobs.data === undefined}
                others={
                  jobs.data && only === null
                    ? jobNeeds(
                        jobs.data,
                        ordered.flatMap(({ sweep }) => sweep ?? []),
                      )
                    : []
                }
              />
              {jobs.error !== null && (
                <PageSection>
                  <Message variant="danger" title={`Jobs: ${jobs.error.message}`} />
                </PageSection>
              )}
              <PageSection>
                {isTable ? (
                  <Suspense>
                    <ControllerTable states={ordered} />
                  </Suspense>
                ) : (
                  <div className="stacked">
                    {ordered.map((state) => (
                      <ControllerCard key={state.read.place} state={state} isAlone={ordered.length === 1} />
                    ))}
                  </div>
                )}
              </PageSection>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function ReadAgain(): ReactNode {
  const queries = useQueryClient();
  const [isReading, setReading] = useState(false);
  const readAgain = async () => {
    setReading(true);
    await call('/api/tokens/read-again', { body: {} });
    await queries.invalidateQueries();
  };
  return (
    <Button
      variant="secondary"
      isLoading={isReading}
      onClick={() =>
        void readAgain()
          // The page itself shows that the console does not respond.
          .catch(() => queries.invalidateQueries())
          .finally(() => setReading(false))
      }
    >
      Refresh
    </Button>
  );
}

function weightOf({ needs: [first] }: ControllerState): number {
  return first?.weight ?? 0;
}

/** The four main facts about all controllers. */
function Summary(props: {
  readonly states: readonly ControllerState[];
  /** If only one controller is shown: the context in which it was read. */
  readonly place: string | undefined;
}): ReactNode {
  const { states, place } = props;
  const needing = states.filter(({ needs }) => needs.length > 0);
  const told = states.map(({ read }) => read);
  const open = told.flatMap(({ incidents }) => incidents.value?.open ?? []);
  const broken = open.filter(({ holds }) => holds === false).length;
  const unsure = open.filter(({ holds, unchecked }) => holds === null || unchecked > 0).length;
  const counted = told.flatMap(({ audit }) => audit.value?.expiring ?? []);
  const week = counted.reduce((sum, each) => sum + each.week, 0);
  const pending = told.filter(isPending).length;
  const none = pending > 0 ? '…' : 'not read';
  return (
    <PageSection>
      <dl className="tiles">
        {states.length > 1 && (
          <Tile
            term="Controllers that need attention"
            value={numberText(needing.length)}
            isBad={needing.some(({ needs }) => needs.some(({ isGrave }) => isGrave))}
          >
            of {numberText(states.length)}
            {pending > 0 && `; ${numberText(pending)} not fully read yet`}
          </Tile>
        )}
        <Tile
          term="Open incidents"
          value={
            told.some(({ incidents }) => incidents.value !== null) ? (
              <OpenCount count={open.length} place={place} />
            ) : (
              none
            )
          }
          isBad={broken > 0}
        >
          {[
            broken > 0 && `${numberText(broken)} not in effect`,
            unsure > 0 && `${numberText(unsure)} not fully checked`,
            states.length > 1 && coverage(told),
          ]
            .filter(Boolean)
            .join('; ')}
        </Tile>
        <Tile
          term="Expire in 30 days"
          value={counted.length > 0 ? <ExpiringLink expiring={counted} place={place} /> : none}
          isBad={false}
        >
          {week > 0 && `${numberText(week)} within a week`}
          {counted.length < states.length &&
            states.length > 1 &&
            `${week > 0 ? '; ' : ''}counted on ${numberText(counted.length)} of ${numberText(states.length)}`}
        </Tile>
        <SweepTile states={states} />
      </dl>
      <Waiting told={told} />
    </PageSection>
  );
}

/** What needs attention, most serious first, each with what to do about it. */
function Problems(props: {
  readonly states: readonly ControllerState[];
  /** Reasons that concern no single controller. */
  readonly others: readonly Need[];
  readonly isPending: boolean;
}): ReactNode {
  const { states, others, isPending: isReading } = props;
  const problems = [
    ...states.flatMap(({ read: { place }, needs }) => needs.map((need) => ({ need, place }))),
    ...others.map((need) => ({ need, place: '' })),
  ].toSorted((one, other) => other.need.weight - one.need.weight);
  if (problems.length === 0 && states.length === 0) return null;
  const isOne = states.length <= 1;
  return (
    <PageSection>
      <section aria-label="Needs attention" className="problems">
        <h2>Needs attention</h2>
        {problems.length === 0 && <p>{isReading ? 'Still reading.' : 'Nothing found.'}</p>}
        <ul className="plain">
          {problems.map(({ need, place }) => {
            const of = isOne || place === '' ? '' : place;
            return (
              <li key={`${place} ${need.text}`}>
                <NeedLabel need={need} /> {of}{' '}
                <Link to={need.to} aria-label={`${need.act}: ${need.text} ${of}`.trim()}>
                  {need.act}
                </Link>
              </li>
            );
          })}
        </ul>
      </section>
    </PageSection>
  );
}

/** Number of open lockdowns, with a link to them. */
function OpenCount(props: { readonly count: number; readonly place: string | undefined }): ReactNode {
  const { count, place } = props;
  return count === 0 ? '0' : <Link to={query('/incidents', { place })}>{numberText(count)}</Link>;
}

/** The last sweep of all controllers; without one why, and where it is set up. */
function SweepTile({ states }: { states: readonly ControllerState[] }): ReactNode {
  const sweeps = states.flatMap(({ sweep }) => sweep?.last ?? []);
  const latest = sweeps.toSorted((one, other) => other.began.localeCompare(one.began))[0];
  const unswept = states.filter(({ sweep }) => sweep === null).length;
  if (latest !== undefined) {
    return (
      <Tile
        term="Last sweep"
        value={
          <Link to="/jobs">
            <When at={latest.began} />
          </Link>
        }
        isBad={latest.state === 'failed' || latest.state === 'lost'}
      >
        {latest.state}
        {latest.isDryRun && ', dry run'}
        {unswept > 0 && `; ${numberText(unswept)} without a sweep`}
      </Tile>
    );
  }
  const isRead = states.every(({ sweep }) => sweep !== undefined);
  const which = states.length === 1 ? '' : ` at ${numberText(unswept)} of ${numberText(states.length)}`;
  return (
    <Tile term="Last sweep" value={isRead ? 'never' : '…'} isBad={false}>
      {isRead && (
        <>
          {unswept === 0 ? 'Its job has not run yet: ' : `No sweep is scheduled${which}: `}
          <Link to="/jobs">Jobs</Link>
        </>
      )}
    </Tile>
  );
}

/** At how many controllers the incidents were read. */
function coverage(told: readonly ControllerRead[]): string {
  const known = told.filter(({ incidents: { value } }) => value?.isUnread === false).length;
  return known === told.length ? 'checked at all' : `checked at ${known} of ${told.length}`;
}

function Tile(props: {
  readonly term: string;
  readonly value: ReactNode;
  readonly isBad: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const { term, value, isBad, children } = props;
  return (
    <div className={isBad ? 'tile bad' : 'tile'}>
      <dt>{term}</dt>
      <dd className="value">{value}</dd>
      <dd>{children}</dd>
    </div>
  );
}

const MOST_NAMED = 5;

/** The contexts that have not answered, slowest first. */
function Waiting({ told }: { told: readonly ControllerRead[] }): ReactNode {
  const waiting = told
    .flatMap(({ place, context, incidents, audit }) => {
      const waits = Math.max(...[context, incidents, audit].map((each) => each.waits ?? -1));
      return waits < 0 ? [] : [{ place, waits, isSilent: context.waits !== null }];
    })
    .toSorted((one, other) => other.waits - one.waits);
  if (waiting.length === 0) return null;
  const named = waiting.slice(0, MOST_NAMED).map(({ place, waits }) => unbroken(`${place} (${waits} s)`));
  const more = waiting.length - named.length;
  return (
    <p role="status" className="waiting">
      Still reading {numberText(waiting.length)} of {numberText(told.length)}: {named.join(', ')}
      {more > 0 && ` and ${numberText(more)} more`}. The numbers above exclude these.
    </p>
  );
}

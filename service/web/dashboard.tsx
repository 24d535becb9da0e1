/** The first page: numbers of resources, each with a link to its list. */
import {
  Card,
  CardBody,
  CardTitle,
  Gallery,
  GalleryItem,
  PageSection,
  Skeleton,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import { type Page, withQuery } from '@tokenctl/common/web/api.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { seesEverything, useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { countText, inDays, numberText, Time } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { type ActivityEntry, actorOf, hasActor, sentenceOf } from './activity-events.tsx';
import { FINISHED_JOBS, LAST_CHANGES, TOTALS } from './first-reads.ts';

interface CountedList {
  readonly url: string;
  readonly total: number;
}

/** The totals of `/api/v2/dashboard/`, by kind. Only the service has the parts of tokens and jobs. */
type Totals = Readonly<
  Record<string, { readonly total?: number } & Readonly<Record<string, CountedList | unknown>>>
>;

/** How often the dashboard refreshes, in milliseconds, without extending the session. */
const EVERY = 30_000;

const RESOURCES = [
  ['hosts', 'Hosts', '/hosts'],
  ['inventories', 'Inventories', '/inventories'],
  ['projects', 'Projects', '/projects'],
  ['job_templates', 'Job templates', '/templates'],
  ['users', 'Users', '/users'],
  ['organizations', 'Organizations', '/organizations'],
] as const;

export function Dashboard(): ReactNode {
  const { data, isError } = useApi<Totals>(TOTALS, { every: EVERY });
  const counted = { data, isRead: data !== undefined || isError };
  return (
    <>
      <PageHeading title="Dashboard" />
      <PageSection>
        <Stack hasGutter>
          <StackItem>
            <Resources data={data} />
          </StackItem>
          <StackItem>
            <Gallery hasGutter minWidths={{ default: '100%', lg: '320px' }}>
              <Counts title="Tokens" {...counted} kind="tokens" lines={tokenLines()} />
              <Counts title="Jobs" {...counted} kind="jobs" lines={JOB_LINES} />
            </Gallery>
          </StackItem>
          <StackItem>
            <JobsOverTime />
          </StackItem>
          <StackItem>
            <RecentActivity />
          </StackItem>
        </Stack>
      </PageSection>
    </>
  );
}

function Resources({ data }: { data: Totals | undefined }): ReactNode {
  return (
    <Gallery hasGutter minWidths={{ default: '120px', md: '30%', lg: '120px' }}>
      {RESOURCES.map(([key, title, path]) => (
        <GalleryItem key={key}>
          <Card isFullHeight isCompact>
            <CardBody>
              <Link to={path} className="dashboard-number">
                {data === undefined ? <Skeleton width="2ch" /> : numberText(data[key]?.total ?? 0)}
                <span className="dashboard-label">{title}</span>
              </Link>
            </CardBody>
          </Card>
        </GalleryItem>
      ))}
    </Gallery>
  );
}

type Kind = 'tokens' | 'jobs';

/** A line of a card: its name, and its list, for a controller that does not count it. */
interface Line {
  readonly part: string;
  readonly name: string;
  readonly filter: Readonly<Record<string, string>>;
  readonly order?: string;
}

function tokenLines(): readonly Line[] {
  return [
    {
      part: 'expiring',
      name: 'Expire within 30 days',
      filter: { expires__gt: inDays(0), expires__lt: inDays(30) },
      order: 'expires',
    },
    { part: 'never_expiring', name: 'Never expire', filter: { expires__gt: inDays(NEVER_DAYS) } },
    { part: 'never_used', name: 'Never used', filter: { last_used__isnull: 'true' } },
    { part: 'expired', name: 'Expired', filter: { expires__lt: inDays(0) }, order: '-expires' },
  ];
}

/** The final statuses of a job: the status, its name, and the color of its bars. Unsuccessful jobs are on top. */
const ENDS = [
  ['successful', 'Successful', 'bar-successful'],
  ['failed', 'Failed', 'bar-failed'],
  ['error', 'Error', 'bar-error'],
  ['canceled', 'Canceled', 'bar-canceled'],
] as const;

const JOB_LINES: readonly Line[] = [
  ['running', 'Running'] as const,
  ['pending', 'Pending'] as const,
  ...ENDS,
].map(([status, name]) => ({ part: status, name, filter: { status } }));

/** A card with a line for each part of the tokens or jobs: the number, with a link to the list. */
function Counts(props: {
  readonly title: string;
  readonly kind: Kind;
  readonly lines: readonly Line[];
  readonly data: Totals | undefined;
  /** Whether the totals were read, or could not be. */
  readonly isRead: boolean;
}): ReactNode {
  const { title, kind, lines, data, isRead } = props;
  return (
    <Card>
      <CardTitle component="h2">{title}</CardTitle>
      <CardBody>
        <dl>
          {lines.map((line) => {
            const part = data?.[kind]?.[line.part] as CountedList | undefined;
            if (isRead && part === undefined) return <AskedCount key={line.part} kind={kind} line={line} />;
            const filter = Object.fromEntries(new URLSearchParams(part?.url.replace(/^[^?]*\?/, '')));
            const to = withQuery(`/${kind}`, { ...filter, order_by: line.order });
            const count = part === undefined ? '…' : numberText(part.total);
            return <Count key={line.part} name={line.name} to={to} count={count} />;
          })}
        </dl>
      </CardBody>
    </Card>
  );
}

/** A line whose number comes from its list. */
function AskedCount({ kind, line }: { kind: Kind; line: Line }): ReactNode {
  const path = withQuery(`/api/v2/${kind}/`, { page_size: 1, ...line.filter });
  const { data, isError } = useApi<Page<unknown>>(path, { every: EVERY });
  const count = isError ? '–' : data === undefined ? '…' : numberText(data.count);
  return (
    <Count
      name={line.name}
      to={withQuery(`/${kind}`, { ...line.filter, order_by: line.order })}
      count={count}
    />
  );
}

function Count({ name, to, count }: { name: string; to: string; count: string }): ReactNode {
  return (
    <div className="dashboard-line">
      <dt>{name}</dt>
      <dd>
        <Link to={to} aria-label={`${name}: ${count}`}>
          {count}
        </Link>
      </dd>
    </div>
  );
}

/** Finished jobs by status: pairs of a day, in seconds since 1970, and a number. */
interface JobsGraph {
  readonly jobs: Readonly<Record<string, readonly (readonly [number, number])[]>>;
}

const HEIGHT = 100;
const STEP = 10;

function JobsOverTime(): ReactNode {
  const query = useApi<JobsGraph>(FINISHED_JOBS, { every: EVERY });
  return (
    <Card>
      <CardTitle component="h2">Finished jobs in the last month</CardTitle>
      <CardBody>
        <Loaded query={query}>{({ jobs }) => <Bars jobs={jobs} />}</Loaded>
      </CardBody>
    </Card>
  );
}

/** A bar for each day: successful jobs at the bottom, the others on top. */
function Bars({ jobs }: JobsGraph): ReactNode {
  const seesAll = seesEverything(useMe());
  const days = (jobs['successful'] ?? []).map(([day], index) => ({
    name: new Date(day * 1000).toISOString().slice(0, 10),
    counts: ENDS.map(([status]) => jobs[status]?.[index]?.[1] ?? 0),
  }));
  const totals = ENDS.map((_end, end) => sumOf(days.map(({ counts }) => counts[end] ?? 0)));
  const total = sumOf(totals);
  if (total === 0) return `No job${seesAll ? '' : ' you can access'} finished in the last month.`;
  const most = Math.max(...days.map(({ counts }) => sumOf(counts)));
  const height = (count: number) => (count / most) * HEIGHT;
  return (
    <>
      <svg
        className="dashboard-bars"
        viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Finished jobs: ${countsText(totals)}. At most ${most} on a day.`}
      >
        {days.map(({ name, counts }, index) => (
          <g key={name}>
            <title>{`${name}: ${countsText(counts)}`}</title>
            {ENDS.map(([status, , color], end) => (
              <rect
                key={status}
                className={color}
                x={index * STEP + 1}
                y={HEIGHT - height(sumOf(counts.slice(0, end + 1)))}
                width={STEP - 2}
                height={height(counts[end] ?? 0)}
              />
            ))}
          </g>
        ))}
      </svg>
      <div className="dashboard-line">
        <span>{days[0]?.name}</span>
        <span>{days.at(-1)?.name} (UTC)</span>
      </div>
      <ul className="dashboard-legend">
        {ENDS.map(([status, name, color], end) => (
          <li key={status}>
            <svg viewBox="0 0 1 1" aria-hidden="true">
              <rect className={color} width="1" height="1" />
            </svg>
            {name}: {numberText(totals[end] ?? 0)}
          </li>
        ))}
        <li>Highest bar: {countText(most, 'job')} on a day</li>
      </ul>
    </>
  );
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Numbers of jobs by outcome: "12 successful, 1 failed, 0 error, 0 canceled". */
function countsText(counts: readonly number[]): string {
  return ENDS.map(([status], end) => `${counts[end] ?? 0} ${status}`).join(', ');
}

function RecentActivity(): ReactNode {
  const seesAll = seesEverything(useMe());
  const query = useApi<Page<ActivityEntry>>(LAST_CHANGES, { every: EVERY });
  return (
    <Card>
      <CardTitle component="h2">Recent activity</CardTitle>
      <CardBody>
        <Loaded query={query}>
          {({ results }) => (
            <ul className="dashboard-events">
              {results.map((entry) => (
                <li key={entry.id}>
                  <Time value={entry.timestamp} /> {hasActor(entry) && <>{actorOf(entry)}: </>}
                  {sentenceOf(entry)}
                </li>
              ))}
              {results.length === 0 && (
                <li>{seesAll ? 'No activity yet.' : 'No activity that you can access.'}</li>
              )}
            </ul>
          )}
        </Loaded>
        <Link to="/activity">All activity</Link>
      </CardBody>
    </Card>
  );
}

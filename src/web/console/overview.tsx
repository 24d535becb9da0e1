/** Every context as a card, those with problems first. */
import {
  Button,
  Card,
  CardBody,
  CardTitle,
  DescriptionList,
  Gallery,
  Label,
  LabelGroup,
  PageSection,
  Spinner,
} from '@patternfly/react-core';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { Controller } from '../../console/controllers.ts';
import { Loading } from '../shared/states.tsx';
import { numberText } from '../shared/times.tsx';
import { type ContextRead, call, query, uncheckedIn, unreadText, useRead } from './api.ts';
import type { AuditRead } from './audit.tsx';
import { Calendar } from './charts.tsx';
import { useControllers } from './controller.tsx';
import type { IncidentsRead } from './incident-parts.tsx';
import type { JobsRead } from './jobs.tsx';
import { Fact, Heading, Message, RunState, Severity, When } from './parts.tsx';

/** What was read, or why it was not; neither while it is read. */
interface Answer<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
}

/** What is known of a context. */
interface ContextState {
  readonly place: string;
  /** The other contexts of the same controller. */
  readonly others: readonly string[];
  readonly context: Answer<ContextRead>;
  readonly incidents: Answer<IncidentsRead>;
  readonly audit: Answer<AuditRead>;
  readonly sweep: Answer<Sweep | null>;
}

type Sweep = JobsRead['jobs'][number];

/** The page. */
export function Overview(): ReactNode {
  const controllers = useControllers();
  return controllers === undefined ? <Loading /> : <ControllerCards controllers={controllers} />;
}

/** Each controller once, through the context that sees the most of it. */
function ControllerCards({ controllers }: { readonly controllers: readonly Controller[] }): ReactNode {
  const places = controllers.flatMap(({ places: [best] }) => best?.place ?? []);
  const others = controllers.map(({ places: [, ...rest] }) => rest.map(({ place }) => place));
  const queries = useQueryClient();
  const [isReading, setReading] = useState(false);
  const contexts = useEach<ContextRead>('/api/overview', places);
  const incidents = useEach<IncidentsRead>('/api/incidents', places);
  const audits = useEach<AuditRead>('/api/audit', places);
  const jobs = useRead<JobsRead>('/api/jobs');
  const none = { data: undefined, error: null };
  const states = places.map(
    (place, index): ContextState => ({
      place,
      others: others[index] ?? [],
      context: contexts[index] ?? none,
      incidents: incidents[index] ?? none,
      audit: audits[index] ?? none,
      sweep: {
        data: jobs.data && sweepOf(jobs.data, [place, ...(others[index] ?? [])]),
        error: jobs.error,
      },
    }),
  );
  const readAgain = async () => {
    setReading(true);
    await call('/api/tokens/read-again', { body: {} });
    await queries.invalidateQueries();
  };
  return (
    <>
      <Heading
        title="Overview"
        actions={
          <Button
            variant="secondary"
            isLoading={isReading}
            onClick={() => void readAgain().finally(() => setReading(false))}
          >
            Read again
          </Button>
        }
      />
      <PageSection>
        <Gallery hasGutter minWidths={{ default: '20rem' }} maxWidths={{ default: '40rem' }}>
          {states
            .toSorted((one, other) => urgency(other) - urgency(one))
            .map((state) => (
              <ContextCard key={state.place} state={state} />
            ))}
        </Gallery>
      </PageSection>
    </>
  );
}

/** Reads the same of each context. The console reads two at a time; answers are shown as they come. */
function useEach<T>(path: string, places: readonly string[]): readonly Answer<T>[] {
  return useQueries({
    queries: places.map((place) => {
      const address = query(path, { place });
      return { queryKey: [address], queryFn: () => call<T>(address) };
    }),
  });
}

/** The sweep of a context: of a platform, one of both components. Several: the one that ran last. */
function sweepOf({ jobs }: JobsRead, places: readonly string[]): Sweep | null {
  const contexts = new Set(places.map((place) => place.split('/')[0]));
  const sweeps = jobs.filter(
    ({ kind, context }) => kind === 'revocation-sweep' && context !== null && contexts.has(context),
  );
  return (
    sweeps.toSorted((one, other) => (other.last?.began ?? '').localeCompare(one.last?.began ?? ''))[0] ?? null
  );
}

/** Orders contexts: the most urgent problem counts. */
function urgency({ context, incidents, audit, sweep }: ContextState): number {
  const { critical = 0, high = 0 } = audit.data?.summary.bySeverity ?? {};
  const problems: readonly (readonly [number, boolean])[] = [
    [7, context.error !== null],
    [6, brokenIn(incidents.data) > 0],
    [5, critical > 0],
    [4, (context.data?.warnings.length ?? 0) > 0],
    [3, sweep.data?.last?.state === 'failed' || sweep.data?.last?.state === 'lost'],
    [2, openIn(incidents.data).length > 0],
    [1, high > 0 || audit.error !== null],
  ];
  return Math.max(0, ...problems.flatMap(([weight, holds]) => (holds ? weight : [])));
}

function openIn(read: IncidentsRead | undefined): IncidentsRead['incidents'] {
  return read?.incidents.filter(({ state }) => state !== 'lifted') ?? [];
}

/** How many open incidents are not in effect, or were not checked in all. */
function brokenIn(read: IncidentsRead | undefined): number {
  return openIn(read).filter((each) => each.holds !== true || uncheckedIn(each) > 0).length;
}

function ContextCard({ state }: { readonly state: ContextState }): ReactNode {
  const { place, context } = state;
  const { data, error } = context;
  return (
    <Card component="section" aria-label={place}>
      <CardTitle component="h2">
        {place}{' '}
        {error === null ? (
          data !== undefined && <Label color="green">reachable</Label>
        ) : (
          <Label color="red">{unreadText(error)}</Label>
        )}
      </CardTitle>
      <CardBody>
        {error !== null && <Message variant="danger" title={error.message} />}
        {error === null && data === undefined && <Spinner size="md" aria-label={`Reading ${place}`} />}
        {data !== undefined && <ContextFacts data={data} state={state} />}
      </CardBody>
    </Card>
  );
}

function roleText({ identity, credential }: ContextRead): string {
  if (credential === 'database_role') return 'database role';
  if (identity.isSuperuser) return 'superuser';
  return identity.isSystemAuditor ? 'system auditor' : 'user';
}

function ContextFacts({
  data,
  state,
}: {
  readonly data: ContextRead;
  readonly state: ContextState;
}): ReactNode {
  const { place, incidents, audit, sweep } = state;
  const { address, dialect, product, identity, warnings, ownToken, incomplete } = data;
  const role = roleText(data);
  return (
    <>
      {incomplete !== null && <Message isPlain variant="warning" title={incomplete} />}
      {warnings.map((warning) => (
        <Message key={warning} isPlain variant="warning" title={warning} />
      ))}
      <DescriptionList
        className="facts"
        isHorizontal
        isCompact
        horizontalTermWidthModifier={{ default: '6rem' }}
      >
        <Fact term="Target">
          {dialect} {product ?? ''} at {address}
        </Fact>
        {state.others.length > 0 && (
          <Fact term="Also">the same controller through {state.others.join(', ')}</Fact>
        )}
        <Fact term="Account">
          {identity.username} ({role})
        </Fact>
        {ownToken !== null && (
          <Fact term="Own token">
            expires <When at={ownToken.earliest} />
          </Fact>
        )}
        <IncidentFact place={place} read={incidents} />
        <FindingFact place={place} read={audit} />
        <SweepFact read={sweep} />
        <TokenFact place={place} read={audit} />
        <SettingFacts settings={data.settings} />
      </DescriptionList>
      {audit.data?.calendar != null && <Calendar picture={audit.data.calendar} />}
    </>
  );
}

function IncidentFact({
  place,
  read: { data, error },
}: {
  readonly place: string;
  readonly read: Answer<IncidentsRead>;
}): ReactNode {
  const open = openIn(data);
  const broken = brokenIn(data);
  return (
    <Fact term="Incidents">
      {error?.message}
      {data !== undefined && open.length === 0 && 'none open'}
      {open.length > 0 && (
        <Link to={query('/incidents', { place })}>
          {open.length} open{broken > 0 && <Label color="red">{broken} not in effect or not checked</Label>}
        </Link>
      )}
    </Fact>
  );
}

function FindingFact({
  place,
  read: { data, error },
}: {
  readonly place: string;
  readonly read: Answer<AuditRead>;
}): ReactNode {
  const notChecked = data?.summary.notChecked.length ?? 0;
  return (
    <Fact term="Findings">
      {data === undefined && error === null && <Spinner size="sm" aria-label="Auditing" />}
      {error?.message}
      {data !== undefined && (
        <>
          <Link to={query('/audit', { place })}>
            {numberText(data.summary.found)}{' '}
            <LabelGroup numLabels={4}>
              {(['critical', 'high', 'medium', 'low'] as const)
                .filter((severity) => (data.summary.bySeverity[severity] ?? 0) > 0)
                .map((severity) => (
                  <Severity key={severity} severity={severity} count={data.summary.bySeverity[severity]} />
                ))}
            </LabelGroup>
          </Link>
          {notChecked > 0 && ` ${notChecked} ${notChecked === 1 ? 'rule' : 'rules'} not checked`}
        </>
      )}
    </Fact>
  );
}

/** The last run of the job that revokes by the policy. */
function SweepFact({ read: { data, error } }: { readonly read: Answer<Sweep | null> }): ReactNode {
  return (
    <Fact term="Last sweep">
      {error?.message}
      {data === null && 'No job sweeps this context.'}
      {data != null && (
        <>
          <Link to="/jobs">{data.name}</Link>{' '}
          {data.last === null ? (
            'never ran'
          ) : (
            <>
              <RunState run={data.last} /> <When at={data.last.began} />: {data.last.message}
            </>
          )}
        </>
      )}
    </Fact>
  );
}

function TokenFact({
  place,
  read: { data },
}: {
  readonly place: string;
  readonly read: Answer<AuditRead>;
}): ReactNode {
  if (data === undefined) return null;
  return (
    <Fact term="Tokens">
      <Link to={query('/tokens', { place })}>{numberText(data.summary.tokensRead)}</Link>
      {data.kinds !== null &&
        `: ${numberText(data.kinds.personal)} personal, ${numberText(data.kinds.ofApplications)} of applications`}
      , as of <When at={data.at} />
    </Fact>
  );
}

const SWITCHES = [
  ['AUTH_BASIC_ENABLED', 'basic authentication'],
  ['ALLOW_OAUTH2_FOR_EXTERNAL_USERS', 'tokens of external users'],
] as const;
const YEAR_SECONDS = 31_536_000;

function SettingFacts({ settings }: { readonly settings: ContextRead['settings'] }): ReactNode {
  if (settings === null) return <Fact term="Settings">not readable with this account</Fact>;
  const lifetime = settings['OAUTH2_PROVIDER']?.ACCESS_TOKEN_EXPIRE_SECONDS;
  return (
    <Fact term="Settings">
      <LabelGroup numLabels={4}>
        {SWITCHES.map(([key, name]) => (
          <Label key={key} color={settings[key] === true ? 'orange' : 'green'}>
            {name} {settings[key] === true ? 'on' : 'off'}
          </Label>
        ))}
        {lifetime !== undefined && (
          <Label color={lifetime > YEAR_SECONDS ? 'orange' : 'green'}>
            new tokens live {lifetimeText(lifetime)}
          </Label>
        )}
      </LabelGroup>
    </Fact>
  );
}

function lifetimeText(seconds: number): string {
  const units = [
    [YEAR_SECONDS, 'year'],
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const;
  const [size, unit] = units.find(([each]) => seconds >= each) ?? [1, 'second'];
  const count = Math.round(seconds / size);
  return `${numberText(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/** One incident from its lockdown to its end: what is done, what is next, and how long it is open. */
import {
  Button,
  Card,
  CardBody,
  CardTitle,
  Form,
  FormGroup,
  FormSelect,
  FormSelectOption,
  Label,
  PageSection,
  ProgressStep,
  ProgressStepper,
  TextInput,
} from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { Loaded, Loading } from '../shared/states.tsx';
import { PlainTable } from '../shared/table.tsx';
import { query, saved, send, useFacts, useRead } from './api.ts';
import { CaseItems } from './case-items.tsx';
import { accountOf, type CaseRead, type Stage, stagesOf } from './case-stages.ts';
import { type ChosenPlace, PlaceNote, usePlace } from './controller.tsx';
import { EffectLabel, PathsTable } from './incident-parts.tsx';
import { InvestigateForm } from './investigate-form.tsx';
import { AccountFields, useBegin } from './operation.tsx';
import { Heading, Message, When } from './parts.tsx';
import { RunbookSteps } from './runbook-steps.tsx';

/** How often a case is read again while an investigation is under way. */
const AGAIN_MS = 2_000;

export function Case(): ReactNode {
  const { places } = useFacts();
  const [search] = useSearchParams();
  const incident = search.get('incident') ?? '';
  const chosen = usePlace(search.get('place') ?? places[0] ?? '');
  const [isWaiting, setWaiting] = useState(false);
  const read = useRead<CaseRead>(
    chosen === null ? null : query('/api/case', { place: chosen.place, incident }),
    isWaiting && AGAIN_MS,
  );
  const isUnderway = read.data?.underway?.problem === null;
  if (isUnderway !== isWaiting) setWaiting(isUnderway);
  return (
    <>
      <Heading
        title={`Case ${incident}`}
        actions={
          <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
            Check again
          </Button>
        }
      />
      {chosen === null ? (
        <Loading />
      ) : (
        <Loaded query={read}>{(data) => <CaseView read={data} chosen={chosen} />}</Loaded>
      )}
    </>
  );
}

function CaseView({ read, chosen }: { readonly read: CaseRead; readonly chosen: ChosenPlace }): ReactNode {
  const { incident } = read;
  const { selection, state, since, by, reason, ticket, until, isOverdue, lifted } = incident;
  const stages = stagesOf(read);
  const next = stages.find(({ isNext }) => isNext);
  const isOpen = state !== 'lifted';
  return (
    <>
      <PageSection className="case-head">
        <p>
          <strong>{selection}</strong>{' '}
          {isOpen ? <EffectLabel incident={incident} /> : <Label color="grey">lifted</Label>}{' '}
          {isOverdue && <Label color="red">overdue</Label>}
        </p>
        <p>
          Locked down <When at={since} /> by {by['user']}
          {[reason, ticket].filter((each) => each !== null).map((each) => `, ${each}`)}.{' '}
          {isOpen ? (
            <>
              Open for <Duration key={read.at} from={since} to={null} now={read.at} />
            </>
          ) : (
            <>
              It was open for <Duration from={since} to={lifted?.at ?? null} now={read.at} />
            </>
          )}
          {until !== null && isOpen && (
            <>
              , until <When at={until} />
            </>
          )}
          .
        </p>
        <p>
          <PlaceNote chosen={chosen} />
        </p>
        <ProgressStepper aria-label="What is done and what is next">
          {stages.map(({ id, title, text, variant, isNext }) => (
            <ProgressStep
              key={id}
              id={`step-${id}`}
              titleId={`step-${id}-title`}
              variant={variant}
              isCurrent={isNext}
              description={text}
              aria-label={`${title}: ${text}`}
            >
              {title}
            </ProgressStep>
          ))}
        </ProgressStepper>
        <p className="next">
          {next === undefined ? (
            'Every step of this case is done.'
          ) : (
            <>
              Next: <a href={`#${next.id}`}>{next.act}</a>
            </>
          )}
        </p>
      </PageSection>
      <PageSection className="stacked">
        <Section stage={stages[0]}>
          <PathsTable incident={incident} place={chosen.place} />
          {isOpen && <ExtendForm read={read} place={chosen.place} />}
        </Section>
        <Section stage={stages[1]}>
          <InvestigateForm read={read} place={chosen.place} />
        </Section>
        <Section stage={stages[2]}>
          <CaseItems read={read} chosen={chosen} />
        </Section>
        <Section stage={stages[3]}>
          <ReportButtons read={read} place={chosen.place} isNext={stages[3]?.isNext ?? false} />
        </Section>
        <Section stage={stages[4]}>
          {isOpen ? (
            <LiftForm read={read} place={chosen.place} isNext={stages[4]?.isNext ?? false} />
          ) : (
            <p>
              Lifted <When at={lifted?.at} />.
            </p>
          )}
        </Section>
        <Card component="section" aria-label="Runbook">
          <CardTitle component="h2">Runbook</CardTitle>
          <CardBody>
            <RunbookSteps place={chosen.place} incident={incident} />
          </CardBody>
        </Card>
        <Card component="section" aria-label="What responders did">
          <CardTitle component="h2">What responders did</CardTitle>
          <CardBody>
            <PlainTable
              label="Runs of this case in the audit log"
              rows={read.runs}
              keyOf={({ run }) => run}
              columns={[
                { title: 'When', show: ({ at }) => <When at={at} /> },
                { title: 'What', show: ({ sentence }) => sentence },
                {
                  title: 'Run',
                  show: ({ run }) => <Link to={query('/log', { run })}>{run.slice(0, 8)}</Link>,
                },
              ]}
            />
          </CardBody>
        </Card>
      </PageSection>
    </>
  );
}

/** One stage of the case as a card. */
function Section({
  stage,
  children,
}: {
  readonly stage: Stage | undefined;
  readonly children: ReactNode;
}): ReactNode {
  if (stage === undefined) return null;
  return (
    <Card component="section" id={stage.id} aria-label={stage.title}>
      <CardTitle component="h2">
        {stage.title} {stage.isNext && <Label color="blue">next</Label>}
      </CardTitle>
      <CardBody>{children}</CardBody>
    </Card>
  );
}

const MINUTE_MS = 60_000;
const MINUTES_OF_DAY = 1_440;

/** A length of time in hours and minutes. One that goes on is counted on, by the clock of the controller. */
function Duration({
  from,
  to,
  now,
}: {
  readonly from: string;
  readonly to: string | null;
  /** The time of the controller when the page was read. */
  readonly now: string;
}): ReactNode {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const read = performance.now();
    const timer = setInterval(() => setPassed(performance.now() - read), MINUTE_MS / 2);
    return () => clearInterval(timer);
  }, []);
  const end = to === null ? Date.parse(now) + passed : Date.parse(to);
  const minutes = Math.max(0, Math.floor((end - Date.parse(from)) / MINUTE_MS));
  const days = Math.floor(minutes / MINUTES_OF_DAY);
  const hours = Math.floor((minutes % MINUTES_OF_DAY) / 60);
  const parts = [
    ...(days > 0 ? [`${days} d`] : []),
    ...(hours > 0 ? [`${hours} h`] : []),
    ...(days === 0 ? [`${minutes % 60} min`] : []),
  ];
  return parts.join(' ');
}

function ExtendForm({ read, place }: { readonly read: CaseRead; readonly place: string }): ReactNode {
  const { readOnly } = useFacts();
  const { id, until } = read.incident;
  const [hours, setHours] = useState('4');
  const begin = useBegin();
  if (readOnly) return null;
  const change = (chosen: number | null) =>
    begin.mutate({ kind: 'incident extend', place, incident: id, hours: chosen });
  return (
    <div className="actions">
      <span>
        {until === null ? (
          'It stays until it is lifted by hand.'
        ) : (
          <>
            It is due to be lifted <When at={until} />.
          </>
        )}
      </span>
      <TextInput
        aria-label="Hours from now"
        type="number"
        min={1}
        value={hours}
        onChange={(_event, value) => setHours(value)}
      />
      <Button variant="secondary" isDisabled={!(Number(hours) > 0)} onClick={() => change(Number(hours))}>
        End it in {hours} h…
      </Button>
      {until !== null && (
        <Button variant="link" onClick={() => change(null)}>
          No end…
        </Button>
      )}
      {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
    </div>
  );
}

function LiftForm({
  read,
  place,
  isNext,
}: {
  readonly read: CaseRead;
  readonly place: string;
  readonly isNext: boolean;
}): ReactNode {
  const { readOnly } = useFacts();
  const [account, setAccount] = useState(accountOf(read));
  const begin = useBegin();
  if (readOnly) return <p>The console was started with --read-only.</p>;
  return (
    <Form
      className="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        begin.mutate({ kind: 'incident lift', place, incident: read.incident.id, ...account });
      }}
    >
      <p>
        Sets back what the lockdown set: settings, users and roles. Revoked tokens do not come back. The plan
        is shown first.
      </p>
      <StillThere read={read} />
      <AccountFields account={account} onChange={setAccount} name="lift" />
      {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
      <div className="buttons">
        <Button
          type="submit"
          variant={isNext ? 'primary' : 'secondary'}
          isDisabled={begin.isPending}
          isLoading={begin.isPending}
        >
          Lift the lockdown…
        </Button>
      </div>
    </Form>
  );
}

/** Warns of what the intruder left, which works on once the lockdown is lifted. */
function StillThere({ read: { left, investigations } }: { readonly read: CaseRead }): ReactNode {
  const last = investigations.at(-1);
  return (
    <>
      {left !== null && (
        <Message
          variant="danger"
          title={`${left.items.length} ${left.items.length === 1 ? 'item was' : 'items were'} left by a cleaning, because that cannot be undone and was not confirmed`}
        >
          <ul>
            {left.items.map(({ item, summary }) => (
              <li key={item}>{summary}</li>
            ))}
          </ul>
          Clean them first: <a href="#cleaning">pick them</a> and confirm the second question.
        </Message>
      )}
      {last === undefined && (
        <Message
          variant="warning"
          title="Nobody investigated what was done. What the intruder made is not known."
        />
      )}
      {last?.isOutdated && (
        <Message
          variant="warning"
          title="The last investigation is older than the last cleaning. Whether anything remains is not known."
        />
      )}
      {last !== undefined && !last.isOutdated && last.remaining > 0 && (
        <Message
          variant="danger"
          title={`The last investigation found ${last.remaining} ${last.remaining === 1 ? 'item that remains' : 'items that remain'}.`}
        >
          <a href="#cleaning">Clean or mark them first</a>.
        </Message>
      )}
    </>
  );
}

const FORMATS = [
  ['html', 'HTML, to read'],
  ['json', 'JSON, for programs'],
  ['markdown', 'Markdown'],
  ['svg', 'the picture alone (SVG)'],
] as const;
type Format = (typeof FORMATS)[number][0];

function ReportButtons({
  read,
  place,
  isNext,
}: {
  readonly read: CaseRead;
  readonly place: string;
  readonly isNext: boolean;
}): ReactNode {
  const { id } = read.incident;
  const queries = useQueryClient();
  const [format, setFormat] = useState<Format>('html');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const download = () => {
    setBusy(true);
    setError(null);
    send(query('/api/case/report', { place, incident: id, format }))
      .then((response) => saved(response, `${id}.${format === 'markdown' ? 'md' : format}`))
      .then(() => queries.invalidateQueries())
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const { report, investigations } = read;
  return (
    <>
      <p>
        What happened, whether it is over and how that is known, for people who were not there: from the audit
        log and{' '}
        {investigations.length === 0 ? 'no investigation yet' : `${investigations.length} investigations`}.
      </p>
      <div className="actions">
        <FormGroup label="Format" fieldId="report-format">
          <FormSelect
            id="report-format"
            value={format}
            onChange={(_event, value) => setFormat(value as Format)}
          >
            {FORMATS.map(([value, label]) => (
              <FormSelectOption
                key={value}
                value={value}
                label={label}
                isDisabled={value === 'svg' && investigations.length === 0}
              />
            ))}
          </FormSelect>
        </FormGroup>
        <Button
          variant={isNext ? 'primary' : 'secondary'}
          onClick={download}
          isLoading={isBusy}
          isDisabled={isBusy}
        >
          Download the report
        </Button>
      </div>
      {error !== null && <Message isLiveRegion variant="danger" title={error.message} />}
      {report !== null && (
        <p>
          The last report was made <When at={report.at} />. A copy is in <code>{report.path}</code>.
        </p>
      )}
    </>
  );
}

/** One incident from its lockdown to its end: what is done, what is next, and how long it has been open. */
import './case.css';
import {
  Button,
  Card,
  CardBody,
  CardTitle,
  Label,
  PageSection,
  ProgressStep,
  ProgressStepper,
  TextInput,
} from '@patternfly/react-core';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded, Loading } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { unbroken } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { query, useFacts, useRead } from '../api.ts';
import { usePlace } from '../controller.tsx';
import { Failure, Message, When } from '../parts.tsx';
import { About, LastChecked, UsersNow } from './case-about.tsx';
import { CaseItems } from './case-items.tsx';
import { GiveBackForm, LiftForm, PartOf } from './case-lift.tsx';
import { ReportButtons } from './case-report.tsx';
import {
  accountOf,
  type CaseProps,
  type CaseRead,
  type ChosenCase,
  type Stage,
  sentence,
  stagesOf,
  whomText,
} from './case-stages.ts';
import { EffectLabel, PathsTable } from './incident-parts.tsx';
import { InvestigateForm } from './investigate-form.tsx';
import { NotOver, OtherLockdowns } from './not-over.tsx';
import { RunbookSteps } from './runbook-steps.tsx';
import './stages.css';
import { useBegin } from '../begin.tsx';

/** The refresh interval while an investigation is in progress. */
const AGAIN_MS = 2_000;
/** The interval of comparisons with the controller. */
const CHECK_MS = 60_000;

export function Case(): ReactNode {
  const { places } = useFacts();
  const [search] = useSearchParams();
  const incident = search.get('incident') ?? '';
  const chosen = usePlace(search.get('place') ?? places[0] ?? '');
  const [isWaiting, setWaiting] = useState(false);
  const read = useRead<CaseRead>(
    chosen === null ? null : query('/api/case', { place: chosen.place, incident }),
    isWaiting ? AGAIN_MS : CHECK_MS,
  );
  const isUnderway = read.data?.underway?.problem === null;
  if (isUnderway !== isWaiting) setWaiting(isUnderway);
  return (
    <>
      <PageHeading
        title={`Case ${incident}`}
        actions={
          <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
            Refresh
          </Button>
        }
      />
      {chosen === null ? (
        <Loading />
      ) : (
        <Loaded query={read}>
          {(data) => (
            <>
              {read.error !== null && (
                <PageSection>
                  <Message isLiveRegion variant="warning" title={`Not checked now: ${read.error.message}`}>
                    The data shown was read <When at={data.at} />.
                  </Message>
                </PageSection>
              )}
              <CaseView read={data} chosen={chosen} />
            </>
          )}
        </Loaded>
      )}
    </>
  );
}

function CaseView({ read, chosen }: ChosenCase): ReactNode {
  const { incident, unread } = read;
  const { state, isOverdue } = incident;
  const stages = stagesOf(read);
  const isOpen = state !== 'lifted';
  const { place } = chosen;
  // In a closed case with a report, nothing is next: the report stays where it was made.
  const next = stages.find(({ isNext }) => isNext)?.id ?? 'report';
  const [shown, show] = useShown(stages, next);
  const content: Readonly<Record<Stage['id'], ReactNode>> = {
    lockdown: (
      <>
        <FinishButton read={read} place={place} />
        <PathsTable incident={incident} place={place} recorded={read.lockdown} />
        {isOpen && <ExtendForm read={read} place={place} />}
      </>
    ),
    investigation: <InvestigateForm read={read} place={place} />,
    cleaning: <CaseItems read={read} chosen={chosen} />,
    lift: <Closing read={read} place={place} isNext={stages[3]?.isNext ?? false} />,
    report: <ReportButtons read={read} place={place} isNext={stages[4]?.isNext ?? false} />,
  };
  return (
    <>
      <PageSection className="case-head">
        <p>
          <strong>{isOpen ? `Lockdown of ${whomText(incident)}:` : whomText(incident)}</strong>{' '}
          {isOpen ? <EffectLabel incident={incident} /> : <Label color="grey">case closed</Label>}{' '}
          {isOverdue && <Label color="red">overdue</Label>}{' '}
          {unread === null && isOpen && (
            <>
              as of <When at={read.at} />
            </>
          )}
        </p>
        {!isOpen && <UsersNow read={read} />}
        {unread !== null && isOpen && (
          <Message isLiveRegion variant="warning" title={`Not checked now: ${unread.problem.message}`}>
            This page shows data from the audit log and the saved investigations.{' '}
            <LastChecked last={unread.last} />
          </Message>
        )}
        {read.stream !== null && isOpen && <Message variant="warning" title={read.stream} />}
        <NotOver key={incident.id} read={read} place={place} />
        {read.theft.of !== undefined && <PartOf place={place} incident={read.theft.of} />}
        {(next === 'lift' || next === 'report') && (
          <OtherLockdowns place={place} incident={incident.id} isClosing={next === 'lift'} />
        )}
      </PageSection>
      <PageSection className="case-steps">
        <ProgressStepper aria-label="Completed and next steps">
          {stages.map(({ id, title, text, variant, isNext }) => (
            <ProgressStep
              key={id}
              id={`step-${id}`}
              titleId={`step-${id}-title`}
              variant={variant}
              isCurrent={isNext}
              description={text}
              aria-label={`${title}: ${text === '' ? 'not yet' : text}`}
            >
              <a href={`#${id}`} aria-current={id === shown} onClick={() => show(id)}>
                {title}
              </a>
            </ProgressStep>
          ))}
        </ProgressStepper>
      </PageSection>
      <PageSection className="stacked">
        {/* What is typed in a stage stays while another is looked at. */}
        {stages.map(({ id, title, act, isNext }) => (
          <div key={id} hidden={id !== shown}>
            <Card component="section" id={id} aria-label={title} className="stage">
              <CardTitle component="h2">{isNext ? sentence(act) : title}</CardTitle>
              <CardBody>{content[id]}</CardBody>
            </Card>
          </div>
        ))}
        <Folded label="About this case">
          <About read={read} chosen={chosen} />
        </Folded>
        <Folded label="Runbook">
          <RunbookSteps place={place} incident={incident} />
        </Folded>
        <Folded label="Responder actions">
          <PlainTable
            label="Runs of this case in the audit log"
            rows={read.runs}
            keyOf={({ run }) => run}
            columns={[
              { title: 'When', show: ({ at }) => <When at={at} /> },
              { title: 'What', show: ({ sentence: text }) => text },
              { title: 'Run', show: ({ run }) => <Link to={query('/log', { run })}>{run.slice(0, 8)}</Link> },
            ]}
          />
        </Folded>
      </PageSection>
    </>
  );
}

/** The displayed stage: from a link, or the next one; if the next one changes, that, from the case's head. */
function useShown(stages: readonly Stage[], next: Stage['id']) {
  const [chosen, choose] = useState(location.hash.slice(1));
  const before = useRef(next);
  useEffect(() => {
    const onHash = () => choose(location.hash.slice(1));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => {
    if (before.current === next) return;
    before.current = next;
    choose(next);
    document.querySelector('.case-head')?.scrollIntoView();
  }, [next]);
  return [stages.find(({ id }) => id === chosen)?.id ?? next, choose] as const;
}

/** The form that closes the case; for a closed case, when that was and how access is restored. */
function Closing({ read, place, isNext }: CaseProps & { isNext: boolean }): ReactNode {
  const { incident } = read;
  const { lifted } = incident;
  if (incident.state !== 'lifted')
    return <LiftForm key={incident.state} read={read} place={place} isNext={isNext} />;
  return (
    <>
      <p>
        Closed <When at={lifted?.at} />
        {lifted !== null && ` by ${lifted.by['user'] ?? 'unknown'}`}.
      </p>
      <GiveBackForm read={read} place={place} />
    </>
  );
}

/** Rarely needed content, as a folded card. */
function Folded({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <Card component="section" aria-label={label} className="stage">
      <details>
        <summary>
          <h2>{label}</h2>
        </summary>
        <CardBody>{children}</CardBody>
      </details>
    </Card>
  );
}

/** Continues a lockdown that is not fully in effect. */
function FinishButton({ read, place }: CaseProps): ReactNode {
  const { readOnly } = useFacts();
  const begin = useBegin();
  const { finish } = read;
  if (finish === null || readOnly) return null;
  return (
    <div className="actions">
      <Button
        variant="danger"
        isDisabled={begin.isPending}
        isLoading={begin.isPending}
        onClick={() => begin.mutate({ ...finish, place, ...accountOf(read) })}
      >
        Finish the lockdown…
      </Button>
      <span>Repeats the lockdown with the same measures. The plan comes first.</span>
      <Failure error={begin.error} />
    </div>
  );
}

function ExtendForm({ read, place }: CaseProps): ReactNode {
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
          'It stays in place until it is lifted manually.'
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
        End it in {unbroken(`${hours} h`)}…
      </Button>
      {until !== null && (
        <Button variant="link" onClick={() => change(null)}>
          No end…
        </Button>
      )}
      <Failure error={begin.error} />
    </div>
  );
}

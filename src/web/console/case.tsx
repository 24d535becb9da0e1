/** One incident from its lockdown to its end: what is done, what is next, and how long it is open. */
import './case.css';
import {
  Button,
  Card,
  CardBody,
  Label,
  PageSection,
  ProgressStep,
  ProgressStepper,
  TextInput,
} from '@patternfly/react-core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { Loaded, Loading } from '../shared/states.tsx';
import { PlainTable } from '../shared/table.tsx';
import { unbroken } from '../shared/times.tsx';
import { query, useFacts, useRead } from './api.ts';
import { CaseItems } from './case-items.tsx';
import { GiveBackForm, LiftForm, PartOf } from './case-lift.tsx';
import { ReportButtons } from './case-report.tsx';
import { accountOf, type CaseRead, type Stage, sentence, stagesOf, whomText } from './case-stages.ts';
import { type ChosenPlace, PlaceNote, usePlace } from './controller.tsx';
import { EffectLabel, PathsTable, WhyText } from './incident-parts.tsx';
import { InvestigateForm } from './investigate-form.tsx';
import { NotOver, OtherLockdowns } from './not-over.tsx';
import { Heading, Message, When } from './parts.tsx';
import { RunbookSteps } from './runbook-steps.tsx';
import './stages.css';
import { useBegin } from './begin.tsx';

/** How often a case is read again while an investigation is under way. */
const AGAIN_MS = 2_000;
/** How often it is compared with the controller again. */
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
        <Loaded query={read}>
          {(data) => (
            <>
              {read.error !== null && (
                <PageSection>
                  <Message isLiveRegion variant="warning" title={`Not checked now: ${read.error.message}`}>
                    Shown is what was read <When at={data.at} />.
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

function CaseView({ read, chosen }: { readonly read: CaseRead; readonly chosen: ChosenPlace }): ReactNode {
  const { incident, unread } = read;
  const { state, isOverdue } = incident;
  const stages = stagesOf(read);
  const isOpen = state !== 'lifted';
  const { place } = chosen;
  // Of a closed case with its report nothing is next: the report stays where it was made.
  const next = stages.find(({ isNext }) => isNext)?.id ?? 'report';
  useHeadOf(next);
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
        {unread !== null && isOpen && (
          <Message isLiveRegion variant="warning" title={`Not checked now: ${unread.problem.message}`}>
            The page shows what the audit log and the saved investigations have.{' '}
            <LastChecked last={unread.last} />
          </Message>
        )}
        <NotOver key={incident.id} read={read} place={place} />
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
        {read.theft.of !== undefined && <PartOf place={place} incident={read.theft.of} />}
        {(next === 'lift' || next === 'report') && (
          <OtherLockdowns place={place} incident={incident.id} isClosing={next === 'lift'} />
        )}
        <ProgressStepper aria-label="What is done and what is next">
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
              {title}
            </ProgressStep>
          ))}
        </ProgressStepper>
      </PageSection>
      <PageSection className="stacked">
        {/* What is next stands in the same place each time. */}
        {stages
          .toSorted((one, other) => Number(other.id === next) - Number(one.id === next))
          .map((stage) => (
            <Section key={stage.id} stage={stage} isOpen={stage.id === next}>
              {content[stage.id]}
            </Section>
          ))}
        <Folded label="About this case">
          <About read={read} chosen={chosen} />
        </Folded>
        <Folded label="Runbook">
          <RunbookSteps place={place} incident={incident} />
        </Folded>
        <Folded label="What responders did">
          <PlainTable
            label="Runs of this case in the audit log"
            rows={read.runs}
            keyOf={({ run }) => run}
            columns={[
              { title: 'When', show: ({ at }) => <When at={at} /> },
              { title: 'What', show: ({ sentence: text }) => text },
              {
                title: 'Run',
                show: ({ run }) => <Link to={query('/log', { run })}>{run.slice(0, 8)}</Link>,
              },
            ]}
          />
        </Folded>
      </PageSection>
    </>
  );
}

/** Brings the head of the case back into view when another step is next: after a step, the eye is at its end. */
function useHeadOf(next: string): void {
  const shown = useRef(next);
  useEffect(() => {
    if (shown.current === next) return;
    shown.current = next;
    document.querySelector('.case-head')?.scrollIntoView();
  }, [next]);
}

/** Since when, by whom, why and through what; and how a case ends. */
function About({ read, chosen }: { readonly read: CaseRead; readonly chosen: ChosenPlace }): ReactNode {
  const { incident, at } = read;
  const { since, by, until, lifted } = incident;
  const isOpen = incident.state !== 'lifted';
  return (
    <>
      <p>
        Locked down <When at={since} /> by {by['user']}.
        <WhyText incident={incident} />{' '}
        {isOpen ? (
          <>
            Open for <Duration key={at} from={since} to={null} now={at} />
          </>
        ) : (
          <>
            It was open for <Duration from={since} to={lifted?.at ?? null} now={at} />
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
      {isOpen && (
        <p className="hint">
          A case ends when its lockdown is lifted: the users stay deactivated or get access back, as you
          choose. Then it is closed, and stays in the list of incidents.
        </p>
      )}
    </>
  );
}

/** The form that closes the case; of a closed one, when, and how access is given back. */
function Closing({
  read,
  place,
  isNext,
}: {
  readonly read: CaseRead;
  readonly place: string;
  readonly isNext: boolean;
}): ReactNode {
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

/** What is now of the users of a closed case: the ways in below are of then. */
function UsersNow({ read }: { readonly read: CaseRead }): ReactNode {
  const { users, at, incident } = read;
  const { measures } = incident;
  if (users === null) return null;
  const active = users.filter(({ isActive }) => isActive === true).map(({ name }) => name);
  return (
    <>
      <ul aria-label="The users now">
        {users.map(({ name, isActive, stays }) => (
          <li key={name}>
            <strong>{name}</strong>{' '}
            {isActive === null ? (
              <>
                <Label color="orange">not checked now</Label>
                {stays && ' The lift left this user deactivated, by the audit log.'}
              </>
            ) : (
              <>
                <Label color={isActive ? 'orange' : 'blue'}>
                  {isActive ? 'active again' : stays ? 'stays deactivated' : 'deactivated'}
                </Label>{' '}
                as of <When at={at} />
              </>
            )}
          </li>
        ))}
      </ul>
      {active.length > 0 && measures.deactivate && measures.resetPasswords !== true && (
        <p>
          The lockdown did not reset the password of {active.join(', ')}: unless it was changed since, it
          works.
        </p>
      )}
    </>
  );
}

/** When a lockdown was last compared with the controller. */
function LastChecked({ last }: { readonly last: NonNullable<CaseRead['unread']>['last'] }): ReactNode {
  if (last === null) return 'This console has not checked it yet.';
  return (
    <>
      Last checked <When at={last.at} />:{' '}
      {last.holds === null ? 'in part, or not checked in full' : last.holds ? 'in effect' : 'not in effect'}.
    </>
  );
}

/** One stage of the case as a card: the next one open, under what is to be done; the others folded: how they are stands in the steps above. */
function Section({
  stage: { id, title, act, isNext },
  isOpen,
  children,
}: {
  readonly stage: Stage;
  readonly isOpen: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Card component="section" id={id} aria-label={title} className="stage">
      <details open={isOpen}>
        <summary>
          <h2>{isNext ? sentence(act) : title}</h2>
        </summary>
        <CardBody>{children}</CardBody>
      </details>
    </Card>
  );
}

/** What is seldom needed, as a folded card. */
function Folded({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
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
  return unbroken(parts.join(' '));
}

/** Goes on with a lockdown that is not in effect in full. */
function FinishButton({ read, place }: { readonly read: CaseRead; readonly place: string }): ReactNode {
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
      <span>The same lockdown again, with the same measures. The plan is shown first.</span>
      {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
    </div>
  );
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
        End it in {unbroken(`${hours} h`)}…
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

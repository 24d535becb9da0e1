/** Facts about a case other than its stages: how long it has been open, its users, and its last check. */
import { Label } from '@patternfly/react-core';
import { unbroken } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useEffect, useState } from 'react';
import { PlaceNote } from '../controller.tsx';
import { When } from '../parts.tsx';
import type { CaseRead, ChosenCase } from './case-stages.ts';
import { WhyText } from './incident-parts.tsx';

/** Since when, by whom, why and in which context; and how a case ends. */
export function About({ read, chosen }: ChosenCase): ReactNode {
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
          A case ends when its lockdown is lifted. You choose whether the users stay deactivated or get access
          back. The case is then closed, and stays in the list of incidents.
        </p>
      )}
    </>
  );
}

/** The current state of a closed case's users: the access paths below are from then. */
export function UsersNow({ read }: { read: CaseRead }): ReactNode {
  const { users, at, incident } = read;
  const { measures } = incident;
  if (users === null) return null;
  const active = users.filter(({ isActive }) => isActive === true).map(({ name }) => name);
  return (
    <>
      <ul aria-label="Current state of the users">
        {users.map(({ name, isActive, stays }) => (
          <li key={name}>
            <strong>{name}</strong>{' '}
            {isActive === null ? (
              <>
                <Label color="orange">not checked now</Label>
                {stays && ' According to the audit log, the lift left this user deactivated.'}
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
          The lockdown did not reset the password of {active.join(', ')}: it works unless it was changed
          since.
        </p>
      )}
    </>
  );
}

/** When a lockdown was last compared with the controller. */
export function LastChecked({ last }: { last: NonNullable<CaseRead['unread']>['last'] }): ReactNode {
  if (last === null) return 'This console has not checked it yet.';
  return (
    <>
      Last checked <When at={last.at} />:{' '}
      {last.holds === null ? 'in part, or not fully checked' : last.holds ? 'in effect' : 'not in effect'}.
    </>
  );
}

const MINUTE_MS = 60_000;
const MINUTES_OF_DAY = 1_440;

/** A duration in hours and minutes. An open one keeps counting, by the controller's clock. */
function Duration(props: {
  readonly from: string;
  readonly to: string | null;
  /** The controller's time when the page was read. */
  readonly now: string;
}): ReactNode {
  const { from, to, now } = props;
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

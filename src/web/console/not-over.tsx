/** What a lockdown did not end, and the next step: said above what is green, until somebody investigated. */
import { Button } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import type { LockdownSnapshot } from '../../console/lockdown-snapshot.ts';
import { countText } from '../shared/times.tsx';
import { type Json, type Operation, query, useFacts } from './api.ts';
import type { CaseRead } from './case-stages.ts';
import { Message, When } from './parts.tsx';
import { useSnapshot } from './stolen-token.tsx';
import { beginningAt, INVESTIGATE_FORM, useInvestigate } from './use-investigate.ts';
import './lockdown.css';

type Scope = CaseRead['incident']['scope'];
type Snapshot = Json<LockdownSnapshot>;

/** On the page of a case. It stays where it is while the investigation runs; what that found has its place. */
export function NotOver({ read, place }: { readonly read: CaseRead; readonly place: string }): ReactNode {
  const { incident, investigations, underway, theft } = read;
  if (incident.state === 'lifted' || investigations.length > 0) return null;
  return (
    <Warning place={place} incident={incident.id} scope={incident.scope}>
      {theft.of !== undefined ? (
        <Link className="pf-v6-c-button pf-m-primary" to={query('/case', { place, incident: theft.of })}>
          Go on with the case {theft.of}
        </Link>
      ) : (
        <Button
          type="submit"
          form={INVESTIGATE_FORM}
          variant="primary"
          isDisabled={underway?.problem === null}
          isLoading={underway?.problem === null}
        >
          Find out what was done
        </Button>
      )}
    </Warning>
  );
}

/** A lockdown that ended, as its result has it; null for another change, and for one that opened no incident. */
function endedLockdown({ place, kind, result }: Operation) {
  const { incident = null, plan } = (result?.json ?? {}) as {
    readonly incident?: string | null;
    readonly plan?: { readonly scope: Scope };
  };
  if (kind !== 'incident lockdown' || place === null || incident === null || plan === undefined) return null;
  return { place, incident, scope: plan.scope };
}

/** In the dialog of a lockdown that ended. */
export function NotOverAfter({ operation }: { readonly operation: Operation }): ReactNode {
  const ended = endedLockdown(operation);
  return ended === null ? null : <Warning {...ended} />;
}

/** The one next step after a lockdown, and the way to its case. */
export function NextStep({ operation }: { readonly operation: Operation }): ReactNode {
  const ended = endedLockdown(operation);
  return ended === null ? null : <Steps {...ended} began={operation.began} />;
}

function Steps(props: {
  readonly place: string;
  readonly incident: string;
  readonly scope: Scope;
  readonly began: string;
}): ReactNode {
  const { place, incident, scope, began } = props;
  const navigate = useNavigate();
  const snapshot = useSnapshot({ place, incident });
  const investigate = useInvestigate({ place, incident });
  // In the place of this dialog: going back from the case does not open it again.
  const toCase = (of: string) => navigate(query('/case', { place, incident: of }), { replace: true });
  const { of, since, token } = snapshot?.theft ?? {};
  if (of !== undefined) {
    return (
      <Button variant="primary" onClick={() => toCase(of)}>
        Go on with the case {of}
      </Button>
    );
  }
  const isOfOne = scope.kind === 'users' && scope.names.length === 1;
  if (!isOfOne || snapshot?.isInvestigated === true) {
    return (
      <Button variant="primary" onClick={() => toCase(incident)}>
        Go on with the case
      </Button>
    );
  }
  return (
    <>
      <Button
        variant={live(snapshot).length > 0 ? 'secondary' : 'primary'}
        isDisabled={investigate.isPending}
        onClick={() => {
          investigate.mutate({
            since: since === undefined ? beginningAt(began) : new Date(since),
            asked: token === undefined ? {} : { token },
          });
          toCase(incident);
        }}
      >
        Find out what was done
      </Button>
      <Button variant="link" onClick={() => toCase(incident)}>
        Open the case only
      </Button>
    </>
  );
}

/** Whom the thief may have made, and no lockdown holds: those who can do the most come first. */
function live(snapshot: Snapshot | undefined): NonNullable<Snapshot['made']>['users'] {
  const users = snapshot?.made?.users ?? [];
  const weight = ({ isSuperuser, tokens }: Made) => Number(isSuperuser) + Number(tokens.length > 0);
  return users
    .filter(({ isBefore, lockedIn }) => !isBefore && lockedIn === null)
    .toSorted((one, other) => weight(other) - weight(one));
}

function Warning(props: {
  readonly place: string;
  readonly incident: string;
  readonly scope: Scope;
  readonly children?: ReactNode;
}): ReactNode {
  const { place, incident, scope, children } = props;
  const { readOnly } = useFacts();
  const snapshot = useSnapshot({ place, incident });
  const { made = null, isInvestigated = false, theft = {} } = snapshot ?? {};
  // As for a lockdown that is finished after it.
  if (isInvestigated) return null;
  const toStop = live(snapshot);
  // The case that it belongs to warns.
  if (theft.of !== undefined && toStop.length === 0 && children === undefined) return null;
  const others = made?.users.filter((each) => !toStop.includes(each)) ?? [];
  return (
    <Message isLiveRegion variant="warning" title="The thief may still have access">
      <p>
        This lockdown ends {whose(scope)} only{toStop.length === 0 ? '.' : ':'}
      </p>
      {toStop.length > 0 && (
        <ul className="made">
          {toStop.map((each, index) => (
            <li key={each.user}>
              <span>{madeText(each)}</span>
              {!readOnly && (
                <StopButton
                  place={place}
                  of={theft.of ?? incident}
                  known={snapshot}
                  user={each.user}
                  isFirst={index === 0}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {others.map(({ user, lockedIn }) => (
        <p key={user}>
          {lockedIn === null ? (
            `${user}: made before the theft.`
          ) : (
            <>
              {user}: locked down, <Link to={query('/case', { place, incident: lockedIn })}>{lockedIn}</Link>.
            </>
          )}
        </p>
      ))}
      {made !== null && (
        <p>
          {made.more > 0 && `${countText(made.more, 'more user')}. `}
          Not read: other changes, and before <When at={made.since} />.
        </p>
      )}
      {children !== undefined && <div className="buttons">{children}</div>}
    </Message>
  );
}

type Made = NonNullable<Snapshot['made']>['users'][number];

function madeText({ user, by, isSuperuser, tokens }: Made): ReactNode {
  return (
    <>
      {by} made the {isSuperuser ? 'superuser' : 'user'} <strong>{user}</strong>
      {tokens.length > 0 && ` with ${countText(tokens.length, 'token')}`}
    </>
  );
}

/** To a lockdown of a user whom the thief made, filled in with the reason and ticket of this one. */
function StopButton(props: {
  readonly place: string;
  /** The case that the theft belongs to. */
  readonly of: string;
  readonly user: string;
  readonly known: Snapshot | undefined;
  /** The loudest control there is: what it stops works on until somebody uses it. */
  readonly isFirst: boolean;
}): ReactNode {
  const { place, of, user, known, isFirst } = props;
  const navigate = useNavigate();
  const { pathname } = useLocation();
  return (
    <Button
      variant={isFirst ? 'danger' : 'secondary'}
      isDanger={!isFirst}
      size="sm"
      onClick={() =>
        navigate(query('/theft', { place, user, of }), {
          // From the dialog, the page behind it is done; from the case, one goes back to it.
          replace: pathname !== '/case',
          state: { account: known?.account },
        })
      }
    >
      Stop {user}…
    </Button>
  );
}

function whose(scope: Scope): string {
  switch (scope.kind) {
    case 'users':
      return `the access of ${new Intl.ListFormat('en').format(scope.names)}`;
    case 'applications':
      return `the access through ${new Intl.ListFormat('en').format(scope.names)}`;
    case 'identity_provider':
      return 'the access of the users of one identity provider';
    case 'all':
      return 'the ways in that it lists';
  }
}

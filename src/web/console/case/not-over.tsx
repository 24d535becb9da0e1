/** What a lockdown did not end, and the next step: shown above the success until it is investigated. */
import { Button } from '@patternfly/react-core';
import { countText } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import type { LockdownSnapshot } from '../../../console/case/lockdown-snapshot.ts';
import { type ContextRead, type Json, type Operation, query, useFacts, useRead } from '../api.ts';
import { EMPTY, requestOf } from '../lockdown/lockdown-draft.ts';
import { Message, When } from '../parts.tsx';
import { useSnapshot } from '../theft/stolen-token.tsx';
import type { CaseProps, CaseRead } from './case-stages.ts';
import { INVESTIGATE_FORM } from './use-investigate.ts';
import '../lockdown/lockdown.css';
import { useBegin } from '../begin.tsx';

type Scope = CaseRead['incident']['scope'];
type Snapshot = Json<LockdownSnapshot>;

/** On the page of a case. Stays in place while the investigation runs; findings are shown elsewhere. */
export function NotOver({ read, place }: CaseProps): ReactNode {
  const { incident, investigations, underway, theft } = read;
  if (incident.state === 'lifted' || investigations.length > 0) return null;
  return (
    <Warning place={place} incident={incident.id} scope={incident.scope}>
      {theft.of !== undefined ? (
        <Link className="pf-v6-c-button pf-m-primary" to={query('/case', { place, incident: theft.of })}>
          Continue with the case {theft.of}
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

export interface EndedLockdown {
  readonly place: string;
  readonly incident: string;
  readonly scope: Scope;
}

/** A lockdown that ended, from its result; null for another change, and if no incident was opened. */
export function endedLockdown({ place, kind, result }: Operation): EndedLockdown | null {
  const { incident = null, plan } = (result?.json ?? {}) as {
    readonly incident?: string | null;
    readonly plan?: { readonly scope: Scope };
  };
  if (kind !== 'incident lockdown' || place === null || incident === null || plan === undefined) return null;
  return { place, incident, scope: plan.scope };
}

/** In the dialog of an ended lockdown: for an account that the intruder created, what its main case says. */
export function NotOverAfter({ operation }: { operation: Operation }): ReactNode {
  const ended = endedLockdown(operation);
  const snapshot = useSnapshot(ended);
  const { of } = snapshot?.theft ?? {};
  const main = useSnapshot(ended === null || of === undefined ? null : { place: ended.place, incident: of });
  if (ended === null) return null;
  if (of === undefined) return <Warning {...ended} />;
  return live(snapshot, main).length > 0 && <Warning {...ended} />;
}

/** The users that the intruder may have created and that no lockdown covers, most powerful first. */
export function live(...snapshots: readonly (Snapshot | undefined)[]): readonly Made[] {
  const users = snapshots.flatMap((snapshot) => snapshot?.made?.users ?? []);
  const weight = ({ isSuperuser, tokens }: Made) => Number(isSuperuser) + Number(tokens.length > 0);
  const held = users.filter(({ isBefore, lockedIn }) => !isBefore && lockedIn === null);
  return [...new Map(held.map((each) => [each.user, each])).values()].toSorted(
    (one, other) => weight(other) - weight(one),
  );
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
  const { made = null, isInvestigated = false, theft = {}, beginning } = snapshot ?? {};
  const main = useSnapshot(theft.of === undefined ? null : { place, incident: theft.of });
  // As for a lockdown that is finished after it.
  if (isInvestigated) return null;
  const toStop = live(snapshot, main);
  // The findings are in that case, which names them.
  if (main?.isInvestigated === true && toStop.length === 0) return null;
  const others = made?.users.filter(({ user }) => toStop.every((each) => each.user !== user)) ?? [];
  const isCut = beginning !== undefined && made !== null && Date.parse(beginning.at) < Date.parse(made.since);
  const isRead = made !== null && made.more === 0 && !isCut && toStop.length === 0;
  return (
    <Message
      isLiveRegion
      variant="warning"
      title={isRead ? "Not yet known: the attacker's other actions" : 'The attacker may still have access'}
    >
      {!isRead && (
        <p>
          This lockdown ends {whose(scope)} only{toStop.length === 0 ? '.' : ':'}
        </p>
      )}
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
            `${user}: created before ${beginning?.is === 'token' ? 'the stolen token' : 'the incident'}.`
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
          Not read: other changes
          {isCut && (
            <>
              , and before <When at={made.since} />
            </>
          )}
          .
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

/**
 * Leads to the plan of a lockdown of a user that the intruder created, with the usual measures, and this
 * one's reason and ticket. If input is needed, leads to its form.
 */
function StopButton(props: {
  readonly place: string;
  /** The case that the theft belongs to. */
  readonly of: string;
  readonly user: string;
  readonly known: Snapshot | undefined;
  /** Emphasized above all else: the user stays active until someone uses it. */
  readonly isFirst: boolean;
}): ReactNode {
  const { place, of, user, known, isFirst } = props;
  const { forms, requireReason, requireTicket } = useFacts();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const { data: context } = useRead<ContextRead>(query('/api/overview', { place }));
  const begin = useBegin({ replaces: pathname !== '/case' });
  const { account = { reason: '', ticket: '' } } = known ?? {};
  const isWhole = !(requireReason && account.reason === '') && !(requireTicket && account.ticket === '');
  const isPlain = context?.lockdownRefusal === null && context.approval.approvers.length === 0 && isWhole;
  const stop = () => {
    const { request } = requestOf({
      ...{ ...EMPTY, place, picked: user },
      ...{ fields: forms['incident lockdown'], gaps: context?.measureGaps ?? {} },
    });
    begin.mutate({ ...request, ...account, theft: { of } });
  };
  const toForm = () =>
    navigate(query('/theft', { place, user, of }), {
      // From the dialog, the page behind it is done; from the case, the user can go back to it.
      replace: pathname !== '/case',
      state: { account: known?.account },
    });
  return (
    <>
      <Button
        variant={isFirst ? 'danger' : 'secondary'}
        isDanger={!isFirst}
        size="sm"
        isDisabled={begin.isPending}
        onClick={isPlain ? stop : toForm}
      >
        Stop {user}…
      </Button>
      {begin.error !== null && <span className="problem">{begin.error.message}</span>}
    </>
  );
}

/** The lockdowns of accounts that the intruder created that are still open alongside a case. */
export function OtherLockdowns(props: {
  readonly place: string;
  readonly incident: string;
  /** Whether the form that closes the case is visible: it names those that are closed with it. */
  readonly isClosing?: boolean;
  /** The incidents that were just closed, which may have been read before. */
  readonly closed?: readonly string[];
}): ReactNode {
  const { place, incident, isClosing = false, closed = [] } = props;
  const others = useSnapshot({ place, incident })?.others ?? [];
  const shown = others.filter(
    ({ isLocked, incident: other }) => !(isClosing && isLocked) && !closed.includes(other),
  );
  return shown.map(({ incident: other, names }) => (
    <p key={other}>
      The lockdown of {new Intl.ListFormat('en').format(names)} is still open:{' '}
      <Link className="incident-id" to={query('/case', { place, incident: other })}>
        {other}
      </Link>
    </p>
  ));
}

function whose(scope: Scope): string {
  switch (scope.kind) {
    case 'users':
      return `the access of ${new Intl.ListFormat('en').format(scope.names)}`;
    case 'applications':
      return `the access through ${new Intl.ListFormat('en').format(scope.names)}`;
    case 'identity_provider':
      return 'the access of the users from one identity provider';
    case 'all':
      return 'the access paths that it lists';
  }
}

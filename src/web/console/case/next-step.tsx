/** The single next step after a change of a case, in its result, so that no one has to look for it. */
import { Button } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { type Operation, query, useAddress, useFacts, useRead } from '../api.ts';
import { useBegin } from '../begin.tsx';
import { Failure } from '../parts.tsx';
import { useSnapshot } from '../theft/stolen-token.tsx';
import { keepsByDefault, namesOf, oneHeld, useAlongside } from './case-lift.tsx';
import { SavedText, useReport } from './case-report.tsx';
import { accountOf, type CaseRead, stagesOf } from './case-stages.ts';
import { type EndedLockdown, endedLockdown, live } from './not-over.tsx';
import { useInvestigate } from './use-investigate.ts';

export function NextStep({ operation }: { operation: Operation }): ReactNode {
  const [search] = useAddress();
  const { pathname } = useLocation();
  const ended = endedLockdown(operation);
  if (ended !== null) return <AfterLockdown {...ended} />;
  const { place, kind, result } = operation;
  const incident = search.get('incident');
  if (pathname !== '/case' || place === null || incident === null || result?.failure !== null) return null;
  if (kind === 'incident clean') return <AfterCleaning {...{ place, incident }} />;
  return kind === 'incident lift' && <AfterClosing {...{ place, incident }} />;
}

/** After the lockdown of an account that the intruder created, the case that it belongs to continues. */
function AfterLockdown({ place, incident, scope }: EndedLockdown): ReactNode {
  const navigate = useNavigate();
  const own = useSnapshot({ place, incident });
  const { of } = own?.theft ?? {};
  const main = useSnapshot(of === undefined ? null : { place, incident: of });
  const snapshot = of === undefined ? own : main;
  const to = of ?? incident;
  const investigate = useInvestigate({ place, incident: to });
  // Replaces this dialog in the history: going back from the case does not open it again.
  const toCase = () => navigate(query('/case', { place, incident: to }), { replace: true });
  const isOfOne = scope.kind === 'users' && scope.names.length === 1;
  if (!isOfOne || snapshot === undefined || snapshot.isInvestigated) {
    return (
      <Button variant="primary" onClick={toCase}>
        Continue with the case
      </Button>
    );
  }
  const { token } = snapshot.theft;
  return (
    <>
      <Button
        variant={live(own, main).length > 0 ? 'secondary' : 'primary'}
        isDisabled={investigate.isPending}
        onClick={() => {
          investigate.mutate({
            since: new Date(snapshot.beginning.at),
            asked: token === undefined ? {} : { token },
          });
          toCase();
        }}
      >
        Find out what was done
      </Button>
      <Button variant="link" onClick={toCase}>
        Open the case
      </Button>
    </>
  );
}

interface CaseName {
  readonly place: string;
  readonly incident: string;
}

/** After all decisions, the case can be closed in the usual way: the account stays locked. */
function AfterCleaning({ place, incident }: CaseName): ReactNode {
  const { readOnly, requireReason, requireTicket } = useFacts();
  const { data: read } = useRead<CaseRead>(query('/api/case', { place, incident }));
  const others = useAlongside({ place, incident });
  const begin = useBegin({ replaces: true });
  if (read === undefined || others === undefined || readOnly) return null;
  const account = accountOf(read);
  const isAsked = (requireReason && account.reason === '') || (requireTicket && account.ticket === '');
  const name = oneHeld(read.incident);
  const isNext = stagesOf(read).some(({ id, isNext: next }) => next && id === 'lift');
  if (!isNext || name === null || isAsked || !keepsByDefault(read.incident)) return null;
  const names = [name, ...others.flatMap((other) => other.names)];
  return (
    <>
      <Button
        variant="primary"
        isDisabled={begin.isPending}
        onClick={() => {
          const alongside = others.map((other) => other.incident);
          begin.mutate({
            ...{ kind: 'incident lift', place, incident, alongside },
            ...{ keepDeactivated: true, ...account },
          });
        }}
      >
        Close the case: {namesOf(names)} {names.length === 1 ? 'stays' : 'stay'} deactivated…
      </Button>
      <Failure error={begin.error} />
    </>
  );
}

/** The report comes last, because it says how the case was closed. */
function AfterClosing({ place, incident }: CaseName): ReactNode {
  const { data: read } = useRead<CaseRead>(query('/api/case', { place, incident }));
  const report = useReport({ place, incident });
  if (read?.incident.state !== 'lifted') return null;
  return (
    <>
      <Button
        variant={report.data === undefined ? 'primary' : 'secondary'}
        isLoading={report.isPending}
        isDisabled={report.isPending}
        onClick={() => report.mutate('html')}
      >
        Download the report
      </Button>
      <SavedText report={report} />
    </>
  );
}

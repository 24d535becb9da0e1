/** What a lockdown did not end: said above what is green, as long as nobody investigated. */
import { Button } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { countText } from '../shared/times.tsx';
import { type Operation, query } from './api.ts';
import type { CaseRead } from './case-stages.ts';
import { Message, When } from './parts.tsx';
import { useSnapshot } from './stolen-token.tsx';
import { beginningAt, INVESTIGATE_FORM, useInvestigate } from './use-investigate.ts';

type Scope = CaseRead['incident']['scope'];

/** On the page of a case: the button begins the investigation that the form has. */
export function NotOver({ read, place }: { readonly read: CaseRead; readonly place: string }): ReactNode {
  const { incident, investigations, underway } = read;
  if (incident.state === 'lifted' || investigations.length > 0 || underway?.problem === null) return null;
  return (
    <Warning place={place} incident={incident.id} scope={incident.scope}>
      <Button type="submit" form={INVESTIGATE_FORM} variant="primary">
        Find out what was done
      </Button>
    </Warning>
  );
}

/** In the dialog of a lockdown that ended: the button begins the investigation, and goes on to the case. */
export function NotOverAfter({ operation }: { readonly operation: Operation }): ReactNode {
  const { place, kind, result } = operation;
  const { incident = null, plan } = (result?.json ?? {}) as {
    readonly incident?: string | null;
    readonly result?: string | null;
    readonly plan?: { readonly scope: Scope };
  };
  const navigate = useNavigate();
  const investigate = useInvestigate({ place: place ?? '', incident: incident ?? '' });
  if (kind !== 'incident lockdown' || place === null || incident === null || plan === undefined) return null;
  const { scope } = plan;
  const isOfOne = scope.kind === 'users' && scope.names.length === 1;
  return (
    <Warning place={place} incident={incident} scope={scope}>
      {isOfOne && (
        <Button
          variant="primary"
          isDisabled={investigate.isPending}
          onClick={() => {
            investigate.mutate({ since: beginningAt(operation.began), asked: {} });
            navigate(query('/case', { place, incident }), { replace: true });
          }}
        >
          Find out what was done
        </Button>
      )}
    </Warning>
  );
}

function Warning(props: {
  readonly place: string;
  readonly incident: string;
  readonly scope: Scope;
  readonly children: ReactNode;
}): ReactNode {
  const { place, incident, scope, children } = props;
  const { made = null, isInvestigated = false } = useSnapshot({ place, incident }) ?? {};
  // As for a lockdown that is finished after it.
  if (isInvestigated) return null;
  return (
    <Message isLiveRegion variant="warning" title="The thief may still have access">
      <p>
        This lockdown is about {whose(scope)} only. Whoever had a stolen token may have made other accounts
        and tokens: it did not end those.
      </p>
      {made !== null && made.users.length > 0 && (
        <>
          <p>
            By the activity since <When at={made.since} />:
          </p>
          <ul>
            {made.users.map(({ user, by, tokens }) => (
              <li key={user}>
                {by} made the user <strong>{user}</strong>
                {tokens.length > 0 &&
                  `, and ${user} made ${countText(tokens.length, 'token')}${numbersOf(tokens)}`}
              </li>
            ))}
          </ul>
          <p>
            {made.more > 0 && `${countText(made.more, 'more user')}. `}
            What was done before that, and other changes, were not read: find out what else was done.
          </p>
        </>
      )}
      <div className="buttons">{children}</div>
    </Message>
  );
}

function numbersOf(tokens: readonly (number | null)[]): string {
  const known = tokens.filter((id) => id !== null);
  return known.length === 0 ? '' : ` (${known.join(', ')})`;
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

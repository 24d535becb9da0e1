/** Parts of an incident shared by the list of incidents and the page of a case. */
import { Button, Label, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import type { IncidentList } from '../../../console/case/read-incidents.ts';
import { type AccessPath, type Ended, type Json, query, uncheckedIn, useRead } from '../api.ts';
import { Report } from '../document.tsx';
import { When, WithTimes } from '../parts.tsx';
import type { CaseRead } from './case-stages.ts';

/** The incidents of a controller, and when they were compared with it. */
export type IncidentsRead = Json<IncidentList>;

export type Incident = IncidentsRead['incidents'][number];

const COLORS: Readonly<Record<AccessPath['state'], 'red' | 'green' | 'orange'>> = {
  open: 'red',
  closed: 'green',
  not_checked: 'orange',
};

/** Whether a lockdown is in effect, and, separately, what was not checked. */
export function EffectLabel({ incident }: { incident: Pick<Incident, 'holds' | 'accessPaths'> }): ReactNode {
  const { holds } = incident;
  const unchecked = uncheckedIn(incident);
  return (
    <span className="labels inline">
      {holds === false && <Label color="red">not in effect</Label>}
      {holds === true && (
        <Label color="green">
          {unchecked === 0 ? 'in effect' : 'in effect as far as this context can check'}
        </Label>
      )}{' '}
      {(holds === null || unchecked > 0) && (
        <Label color="orange">
          {unchecked === 0 ? 'not checked' : `${countText(unchecked, 'access path')} not checked`}
        </Label>
      )}
    </span>
  );
}

/** The reason and ticket of a lockdown, labeled; empty without any. */
export function WhyText(props: { readonly incident: Pick<Incident, 'reason' | 'ticket'> }): ReactNode {
  const { reason, ticket } = props.incident;
  return (
    <>
      {reason !== null && ` Reason: ${reason}.`}
      {ticket !== null && ` Ticket: ${ticket}.`}
    </>
  );
}

/** The access paths that a lockdown recorded when it ended. */
type Recorded = CaseRead['lockdown'];

/** The access paths of an open incident, open ones first, or as recorded for a lifted one; and timelines. */
export function PathsTable(props: {
  readonly incident: Incident;
  readonly place: string;
  readonly recorded?: Recorded;
}): ReactNode {
  const { incident, place, recorded = null } = props;
  const { id, state, accessPaths, notSeen, scope, since } = incident;
  const [shown, setShown] = useState<string | null>(null);
  const users = scope.kind === 'users' ? scope.names : [];
  return (
    <>
      {state !== 'lifted' && notSeen !== null && <p>Not checked: {notSeen}.</p>}
      {state !== 'lifted' && accessPaths.length > 0 && (
        <PlainTable
          label={`Access paths of ${id}`}
          rows={accessPaths.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))}
          keyOf={({ name, how }) => `${name}: ${how}`}
          columns={[
            { title: 'Way in', show: ({ name }) => name },
            {
              title: 'State',
              show: ({ state: line }) => <Label color={COLORS[line]}>{line.replace('_', ' ')}</Label>,
            },
            { title: 'Evidence', show: ({ how }) => <WithTimes text={how} /> },
          ]}
        />
      )}
      {state === 'lifted' && recorded !== null && <RecordedPaths id={id} recorded={recorded} />}
      {users.length > 0 && (
        <div className="actions">
          {users.map((user) => (
            <Button key={user} variant="link" isInline onClick={() => setShown(user)}>
              Timeline of {user}
            </Button>
          ))}
        </div>
      )}
      {shown !== null && (
        <TimelineDialog place={place} user={shown} since={since} onClose={() => setShown(null)} />
      )}
    </>
  );
}

/** What the lockdown found when it ended: no statement about the current state. */
function RecordedPaths({ id, recorded }: { id: string; recorded: NonNullable<Recorded> }): ReactNode {
  const { at, accessPaths } = recorded;
  return (
    <>
      <p>
        As found when the lockdown ended, <When at={at} />, according to the audit log. It is lifted, so this
        is no longer checked. Revoked tokens stay revoked. Anything that the lift restored can be used again.
      </p>
      <PlainTable
        label={`Access paths of ${id}, as the lockdown left them`}
        rows={accessPaths}
        keyOf={({ path }) => path}
        columns={[
          { title: 'Way in', show: ({ name }) => name },
          {
            title: 'State then',
            show: ({ state }) => (
              <>
                {state.replace('_', ' ')}, <When at={at} />
              </>
            ),
          },
        ]}
      />
    </>
  );
}

const ORDER: readonly AccessPath['state'][] = ['open', 'not_checked', 'closed'];

const DAY = 86_400_000;

/** A user's timeline since a day before the lockdown. */
function TimelineDialog(props: {
  readonly place: string;
  readonly user: string;
  readonly since: string;
  readonly onClose: () => void;
}): ReactNode {
  const { place, user, since, onClose } = props;
  const from = new Date(Date.parse(since) - DAY).toISOString();
  const read = useRead<Ended>(query('/api/timeline', { place, user, since: from }));
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="timeline-title">
      <ModalHeader title={`Timeline of ${user} at ${place}`} labelId="timeline-title" />
      <ModalBody tabIndex={0} aria-label="The timeline">
        <Loaded query={read}>{(ended) => <Report ended={ended} label="Timeline" />}</Loaded>
      </ModalBody>
    </Modal>
  );
}

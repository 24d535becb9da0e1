/** Lockdowns: the ways in of each open one as a board, its timeline, and the runbooks. */

import {
  Button,
  Card,
  CardBody,
  CardTitle,
  FormSelect,
  FormSelectOption,
  Label,
  Modal,
  ModalBody,
  ModalHeader,
  PageSection,
  TextInput,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Incidents as Answer } from '../../console/routes.ts';
import { Loaded } from '../shared/states.tsx';
import { PlainTable } from '../shared/table.tsx';
import { type AccessPath, type Ended, type Json, query, uncheckedIn, useFacts, useRead } from './api.ts';
import { Printed } from './commands.tsx';
import { Report } from './document.tsx';
import { LockdownForm } from './lockdown-form.tsx';
import { useBegin } from './operation.tsx';
import { Heading, Message, When } from './parts.tsx';
import { RunbookSteps } from './runbook-steps.tsx';

type Incident = IncidentsRead['incidents'][number];

/** The incidents of a context, and when they were compared with it. */
export type IncidentsRead = Json<Answer>;

/** The page. */
export function Incidents(): ReactNode {
  const { places } = useFacts();
  const [search, setSearch] = useSearchParams();
  const place = search.get('place') ?? places[0] ?? '';
  const read = useRead<IncidentsRead>(query('/api/incidents', { place }));
  return (
    <>
      <Heading
        title="Incidents"
        actions={
          <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
            Check again
          </Button>
        }
      />
      <PageSection>
        {places.length > 1 && (
          <FormSelect
            aria-label="Context"
            value={place}
            onChange={(_event, value) =>
              setSearch((before) => {
                before.set('place', value);
                return before;
              })
            }
          >
            {places.map((each) => (
              <FormSelectOption key={each} value={each} label={each} />
            ))}
          </FormSelect>
        )}
        <Loaded query={read}>
          {(data) => (
            <>
              {data.incidents.every(({ state }) => state === 'lifted') && (
                <p>No lockdown is open in {place}.</p>
              )}
              {data.incidents
                .toSorted((one, other) => Number(one.state === 'lifted') - Number(other.state === 'lifted'))
                .map((incident) => (
                  <Board
                    key={`${incident.id} ${incident.address}`}
                    place={place}
                    incident={incident}
                    at={data.at}
                  />
                ))}
            </>
          )}
        </Loaded>
      </PageSection>
      <PageSection>
        <Runbook />
      </PageSection>
      <PageSection>
        <LockdownForm key={place} place={place} user={search.get('user') ?? ''} />
      </PageSection>
    </>
  );
}

const COLORS: Readonly<Record<AccessPath['state'], 'red' | 'green' | 'orange'>> = {
  open: 'red',
  closed: 'green',
  not_checked: 'orange',
};

/** Whether a lockdown is in effect. What was not checked is no part of that. */
function EffectLabel({ incident }: { readonly incident: Incident }): ReactNode {
  const { holds } = incident;
  if (holds === null) return <Label color="orange">not checked</Label>;
  if (!holds) return <Label color="red">not in effect</Label>;
  if (uncheckedIn(incident) === 0) return <Label color="green">in effect</Label>;
  return <Label color="orange">in effect as far as this context can check</Label>;
}

function Board({
  place,
  incident,
  at,
}: {
  readonly place: string;
  readonly incident: Incident;
  readonly at: string;
}): ReactNode {
  const { id, selection, state, since, until, by, reason, ticket, isOverdue } = incident;
  const { readOnly } = useFacts();
  const begin = useBegin();
  const [hours, setHours] = useState('4');
  const [shown, setShown] = useState<string | null>(null);
  const isOpen = state !== 'lifted';
  const change = (kind: string, more: object = {}) => begin.mutate({ kind, place, incident: id, ...more });
  return (
    <Card component="section" aria-label={`Incident ${id}`}>
      <CardTitle component="h2">
        {id}: {selection} {isOpen && <EffectLabel incident={incident} />} {!isOpen && <Label>lifted</Label>}{' '}
        {isOverdue && <Label color="red">overdue</Label>}
      </CardTitle>
      <CardBody>
        <p>
          Since <When at={since} /> by {by['user']}
          {[reason, ticket].filter((each) => each !== null).map((each) => `, ${each}`)}
          {until !== null && (
            <>
              , until <When at={until} />
            </>
          )}
          . Compared <When at={at} />.
        </p>
        {isOpen && incident.notSeen !== null && <p>Not checked: {incident.notSeen}.</p>}
        {isOpen && incident.accessPaths.length > 0 && (
          <PlainTable
            label={`Ways in of ${id}`}
            rows={incident.accessPaths}
            keyOf={({ name, how }) => `${name}: ${how}`}
            columns={[
              { title: 'Way in', show: ({ name }) => name },
              {
                title: 'State',
                show: ({ state: line }) => <Label color={COLORS[line]}>{line.replace('_', ' ')}</Label>,
              },
              { title: 'Evidence', show: ({ how }) => how },
            ]}
          />
        )}
        {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
        {incident.scope.kind === 'users' && (
          <div className="actions">
            {incident.scope.names?.map((user) => (
              <Button key={user} variant="link" onClick={() => setShown(user)}>
                Timeline of {user}
              </Button>
            ))}
          </div>
        )}
        {shown !== null && (
          <TimelineDialog {...{ place, user: shown, since }} onClose={() => setShown(null)} />
        )}
        <RunbookSteps {...{ place, incident }} />
        {isOpen && !readOnly && (
          <div className="actions">
            <Button variant="secondary" onClick={() => change('incident lift')}>
              Lift…
            </Button>
            <TextInput
              aria-label="Hours from now"
              type="number"
              min={1}
              value={hours}
              onChange={(_event, value) => setHours(value)}
            />
            <Button
              variant="secondary"
              isDisabled={!(Number(hours) > 0)}
              onClick={() => change('incident extend', { hours: Number(hours) })}
            >
              End in {hours} h…
            </Button>
            {until !== null && (
              <Button variant="link" onClick={() => change('incident extend', { hours: null })}>
                No end…
              </Button>
            )}
          </div>
        )}
      </CardBody>
    </Card>
  );
}

const DAY = 86_400_000;

/** What happened around a user since a day before the lockdown, as the command prints it. */
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

/** The runbooks that come with the program. */
function Runbook(): ReactNode {
  const names = useRead<{ readonly json: { readonly runbooks: readonly string[] } }>('/api/runbooks');
  const [name, setName] = useState('');
  const read = useRead<Ended>(name === '' ? null : query('/api/runbooks', { name }));
  return (
    <>
      <FormSelect aria-label="Runbook" value={name} onChange={(_event, value) => setName(value)}>
        <FormSelectOption value="" label="Show a runbook" />
        {names.data?.json.runbooks.map((each) => (
          <FormSelectOption key={each} value={each} label={each} />
        ))}
      </FormSelect>
      {name !== '' && <Loaded query={read}>{({ text }) => <Printed text={text} label="Runbook" />}</Loaded>}
    </>
  );
}

/** Lockdowns: the ways in of each open one as a board, its timeline, and the runbooks. */

import { Button, Card, CardBody, CardTitle, Label, PageSection } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { Choice } from '../shared/choice.tsx';
import { Loaded, Loading } from '../shared/states.tsx';
import { PlainTable } from '../shared/table.tsx';
import { type Ended, type Problem, query, useAddress, useFacts, useRead } from './api.ts';
import { PlaceNote, usePlace } from './controller.tsx';
import { Report } from './document.tsx';
import { EffectLabel, type Incident, type IncidentsRead, PathsTable } from './incident-parts.tsx';
import { LockdownForm } from './lockdown-form.tsx';
import { Heading, Message, When } from './parts.tsx';

export function Incidents(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  const asked = search.get('place') ?? places[0] ?? '';
  const chosen = usePlace(asked);
  const place = chosen?.place ?? asked;
  const user = search.get('user') ?? '';
  const read = useRead<IncidentsRead>(chosen === null ? null : query('/api/incidents', { place }));
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
          <Choice
            className="runbook"
            aria-label="Context"
            value={asked}
            options={places}
            onChange={(place) => change({ place, only: null })}
          />
        )}
        {chosen !== null && (chosen.instead !== null || chosen.via === 'database') && (
          <p>
            <PlaceNote chosen={chosen} />
          </p>
        )}
        <div className="open-incidents">
          {read.data === undefined ? (
            <p>{read.isError ? 'The open incidents could not be read.' : 'Reading the open incidents…'}</p>
          ) : (
            <>
              {read.data.unread !== null && <Away place={place} problem={read.data.unread} />}
              <OpenCases read={read.data} place={place} />
            </>
          )}
        </div>
      </PageSection>
      <PageSection>
        {chosen === null ? <Loading /> : <LockdownForm key={`${place} ${user}`} place={place} user={user} />}
      </PageSection>
      <PageSection className="stacked">
        <Loaded query={read}>
          {(data) => (
            <>
              {data.incidents
                .toSorted((one, other) => Number(one.state === 'lifted') - Number(other.state === 'lifted'))
                .map((incident) => (
                  <Board
                    key={`${incident.id} ${incident.address}`}
                    place={place}
                    incident={incident}
                    at={data.at}
                    unread={data.unread}
                  />
                ))}
            </>
          )}
        </Loaded>
      </PageSection>
      <PageSection>
        <Runbook />
      </PageSection>
    </>
  );
}

/** Says that a controller could not be asked, and what is shown instead. */
function Away({ place, problem }: { readonly place: string; readonly problem: Problem }): ReactNode {
  return (
    <Message isLiveRegion variant="warning" title={`${place} is not checked now: ${problem.message}`}>
      The incidents below are those of the audit log. Whether they are in effect is not known.
    </Message>
  );
}

/** The cases to go on with, before the form for another one. */
function OpenCases({ read, place }: { readonly read: IncidentsRead; readonly place: string }): ReactNode {
  const open = read.incidents.filter(({ state }) => state !== 'lifted');
  if (open.length === 0)
    return (
      <p>
        {read.unread === null
          ? `No lockdown is open in ${place}.`
          : `The audit log has no open lockdown of ${place}.`}
      </p>
    );
  return (
    <PlainTable
      label="Open incidents"
      rows={open}
      keyOf={({ id, address }) => `${id} ${address}`}
      columns={[
        {
          title: 'Open incident',
          show: ({ id }) => (
            <Link className="schedule" to={query('/case', { place, incident: id })}>
              {id}
            </Link>
          ),
        },
        { title: 'Whom', show: ({ selection }) => selection },
        { title: 'Since', show: ({ since }) => <When at={since} /> },
        {
          title: 'State',
          show: (incident) => (
            <span className="labels">
              <EffectLabel incident={incident} />
              {incident.isOverdue && <Label color="red">overdue</Label>}
            </span>
          ),
        },
      ]}
    />
  );
}

function Board({
  place,
  incident,
  at,
  unread,
}: {
  readonly place: string;
  readonly incident: Incident;
  readonly at: string;
  readonly unread: Problem | null;
}): ReactNode {
  const { id, selection, state, since, until, by, reason, ticket, isOverdue } = incident;
  const isOpen = state !== 'lifted';
  return (
    <Card component="section" aria-label={`Incident ${id}`}>
      <CardTitle component="h2">
        {id}: {selection} {isOpen ? <EffectLabel incident={incident} /> : <Label>closed</Label>}{' '}
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
          {unread === null && (
            <>
              . Compared <When at={at} />
            </>
          )}
          .
        </p>
        <p>
          <Link to={query('/case', { place, incident: id })}>
            {isOpen ? `Go on with the case ${id}` : `Show the case ${id}`}
          </Link>
        </p>
        {isOpen && <PathsTable incident={incident} place={place} />}
      </CardBody>
    </Card>
  );
}

/** The runbooks that come with the program. */
function Runbook(): ReactNode {
  const names = useRead<{ readonly json: { readonly runbooks: readonly string[] } }>('/api/runbooks');
  const [name, setName] = useState('');
  const read = useRead<Ended>(name === '' ? null : query('/api/runbooks', { name }));
  return (
    <>
      <Choice
        className="runbook"
        aria-label="Runbook"
        value={name}
        options={[['', 'Show a runbook'], ...(names.data?.json.runbooks ?? [])]}
        onChange={setName}
      />
      {name !== '' && <Loaded query={read}>{(ended) => <Report ended={ended} label="Runbook" />}</Loaded>}
    </>
  );
}

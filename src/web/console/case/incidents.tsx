/** Lockdowns, in the order in which they are looked for: what is open, a new one, the ways in of each open one, what is closed; and the runbooks. */

import './case.css';
import { Button, Card, CardBody, CardTitle, Label, PageSection } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { Loaded, Loading } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type Ended, type Problem, query, useAddress, useFacts, useRead } from '../api.ts';
import { PlaceNote, usePlace } from '../controller.tsx';
import { Report } from '../document.tsx';
import type { Draft } from '../lockdown/lockdown-draft.ts';
import { LockdownForm } from '../lockdown/lockdown-form.tsx';
import { Heading, Message, When } from '../parts.tsx';
import { EffectLabel, type Incident, type IncidentsRead, PathsTable, WhyText } from './incident-parts.tsx';

export function Incidents(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  const asked = search.get('place') ?? places[0] ?? '';
  const chosen = usePlace(asked);
  const place = chosen?.place ?? asked;
  const user = search.get('user') ?? '';
  // What was filled in before the form went on through another context of the same controller.
  const [draft, setDraft] = useState<{ readonly places: readonly string[]; readonly held: Draft } | null>(
    null,
  );
  const read = useRead<IncidentsRead>(chosen === null ? null : query('/api/incidents', { place }));
  return (
    <>
      <Heading
        title="Incidents"
        actions={
          <div className="buttons">
            {/* The form is below what is open, and its button may be out of sight. */}
            <Button variant="secondary" isDanger onClick={toForm}>
              New lockdown
            </Button>
            <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
              Check again
            </Button>
          </div>
        }
      />
      <PageSection className="stacked">
        <div className="place">
          {places.length > 1 && (
            <Choice
              aria-label="Context"
              value={asked}
              options={places}
              onChange={(place) => change({ place, only: null })}
            />
          )}
          {chosen !== null && (chosen.instead !== null || chosen.via === 'database') && (
            <span>
              <PlaceNote chosen={chosen} />
            </span>
          )}
        </div>
        <Card component="section" aria-label="Open incidents">
          <CardTitle component="h2">Open incidents</CardTitle>
          <CardBody className="open-incidents">
            {read.data !== undefined ? (
              <>
                {read.data.unread !== null && <Away place={place} problem={read.data.unread} />}
                {read.data.stream !== null && <Message variant="warning" title={read.data.stream} />}
                <OpenCases read={read.data} place={place} />
              </>
            ) : read.error !== null ? (
              <Message variant="danger" title={`The open incidents could not be read. ${read.error.message}`}>
                <Button variant="link" isInline onClick={() => void read.refetch()}>
                  Try again
                </Button>
              </Message>
            ) : (
              <p>Reading the open incidents…</p>
            )}
          </CardBody>
        </Card>
        {chosen === null ? (
          <Loading />
        ) : (
          <LockdownForm
            key={`${place} ${user}`}
            {...{ place, user }}
            others={chosen.others}
            draft={draft?.places.includes(place) ? draft.held : undefined}
            onSwitch={(other, held) => {
              setDraft({ places: [place, other], held });
              change({ place: other, only: other });
            }}
          />
        )}
        {read.data?.incidents
          .filter(({ state }) => state !== 'lifted')
          .map((incident) => (
            <Board
              key={`${incident.id} ${incident.address}`}
              place={place}
              incident={incident}
              at={read.data.at}
              unread={read.data.unread}
            />
          ))}
        {read.data !== undefined && <ClosedCases read={read.data} place={place} />}
        <Runbooks />
      </PageSection>
    </>
  );
}

/** To the form of a new lockdown: its first field has the cursor. Where there is no form, to why. */
function toForm(): void {
  const section = document.querySelector('section[aria-label="New lockdown"]');
  section?.scrollIntoView({ block: 'nearest' });
  const names =
    section?.querySelector<HTMLElement>('#names') ?? section?.querySelector<HTMLElement>('select, input');
  names?.focus();
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

/** An open incident with its ways in. */
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
  const { id, selection, since, until, by, isOverdue } = incident;
  return (
    <Card component="section" aria-label={`Incident ${id}`}>
      <CardTitle component="h2">
        {id}: {selection} <EffectLabel incident={incident} />{' '}
        {isOverdue && <Label color="red">overdue</Label>}
      </CardTitle>
      <CardBody>
        <p>
          Since <When at={since} /> by {by['user']}
          {until !== null && (
            <>
              , until <When at={until} />
            </>
          )}
          .<WhyText incident={incident} />
          {unread === null && (
            <>
              {' '}
              Compared with the controller <When at={at} />.
            </>
          )}
        </p>
        <p>
          <Link to={query('/case', { place, incident: id })}>Go on with the case {id}</Link>
        </p>
        <PathsTable incident={incident} place={place} />
      </CardBody>
    </Card>
  );
}

/** The rows of closed incidents that are drawn at first. */
const MOST_CLOSED = 20;

/** The closed incidents, the last one first. */
function ClosedCases({ read, place }: { readonly read: IncidentsRead; readonly place: string }): ReactNode {
  const [most, setMost] = useState(MOST_CLOSED);
  const closed = read.incidents
    .filter(({ state }) => state === 'lifted')
    .toSorted((one, other) => (other.lifted?.at ?? '').localeCompare(one.lifted?.at ?? ''));
  if (closed.length === 0) return null;
  return (
    <Card component="section" aria-label="Closed incidents">
      <CardTitle component="h2">Closed incidents</CardTitle>
      <CardBody>
        <PlainTable
          label="Closed incidents"
          rows={closed.slice(0, most)}
          keyOf={({ id, address }) => `${id} ${address}`}
          columns={[
            {
              title: 'Incident',
              show: ({ id }) => (
                <Link
                  className="schedule"
                  aria-label={`Show the case ${id}`}
                  to={query('/case', { place, incident: id })}
                >
                  {id}
                </Link>
              ),
            },
            { title: 'Whom', show: ({ selection }) => selection },
            { title: 'Locked down', show: ({ since }) => <When at={since} /> },
            { title: 'Closed', show: ({ lifted }) => <When at={lifted?.at} /> },
            {
              title: 'Not given back',
              show: ({ stays }) =>
                stays.length === 0 ? 'nothing' : stays.map(({ name }) => name).join(', '),
            },
          ]}
        />
        {closed.length > most && (
          <Button variant="link" onClick={() => setMost(most + MOST_CLOSED)}>
            Show more of {numberText(closed.length)}
          </Button>
        )}
      </CardBody>
    </Card>
  );
}

/** The runbooks that come with the program. */
function Runbooks(): ReactNode {
  const names = useRead<{ readonly json: { readonly runbooks: readonly string[] } }>('/api/runbooks');
  const [name, setName] = useState('');
  const read = useRead<Ended>(name === '' ? null : query('/api/runbooks', { name }));
  return (
    <Card component="section" aria-label="Runbooks">
      <CardTitle component="h2">Runbooks</CardTitle>
      <CardBody>
        <p>What to do, step by step. The page of a case fills in its names and ticks the steps off.</p>
        <Choice
          className="runbook"
          aria-label="Runbook"
          value={name}
          options={[['', 'Choose a runbook'], ...(names.data?.json.runbooks ?? [])]}
          onChange={setName}
        />
        {name !== '' && <Loaded query={read}>{(ended) => <Report ended={ended} label="Runbook" />}</Loaded>}
      </CardBody>
    </Card>
  );
}

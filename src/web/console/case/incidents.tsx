/** Lockdowns: open ones, a new one, the access paths of each open one, closed ones; and the runbooks. */

import './case.css';
import { Button, PageSection } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded, Loading } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type Ended, query, useAddress, useFacts, useRead } from '../api.ts';
import { PlaceNote, useEach } from '../controller.tsx';
import { Report } from '../document.tsx';
import type { Draft } from '../lockdown/lockdown-draft.ts';
import { LockdownForm } from '../lockdown/lockdown-form.tsx';
import { Message, Panel, When } from '../parts.tsx';
import type { IncidentsRead } from './incident-parts.tsx';
import {
  Board,
  contextColumn,
  Elsewhere,
  keyOf,
  type ListProps,
  OpenCases,
  rowsOf,
  Unread,
} from './open-incidents.tsx';

export function Incidents(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  const { read, chosen, place, shown, elsewhere, isOfOne } = useEach<IncidentsRead>('/api/incidents');
  const user = search.get('user') ?? '';
  // The input made before switching to another context of the same controller.
  const [draft, setDraft] = useState<{ readonly places: readonly string[]; readonly held: Draft } | null>(
    null,
  );
  const rows = rowsOf(shown);
  const open = rows.filter(({ incident }) => incident.state !== 'lifted');
  return (
    <>
      <PageHeading
        title="Incidents"
        actions={
          <div className="buttons">
            {/* The form is below what is open, and its button may be out of sight. */}
            <Button variant="secondary" isDanger onClick={toForm}>
              New lockdown
            </Button>
            <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
              Refresh
            </Button>
          </div>
        }
      />
      <PageSection className="stacked">
        {isOfOne && chosen !== null && (chosen.instead !== null || chosen.via === 'database') && (
          <p>
            <PlaceNote chosen={chosen} />
          </p>
        )}
        <Panel label="Open incidents" title="Open incidents" className="open-incidents">
          {read.data !== undefined ? (
            <>
              {shown.map((each) => (
                <Unread key={each.place} read={each} retry={() => void read.refetch()} />
              ))}
              <OpenCases rows={open} shown={shown} />
              <Elsewhere rows={rowsOf(elsewhere)} />
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
        </Panel>
        {chosen === null ? (
          <Loading />
        ) : !isOfOne ? (
          <Panel label="New lockdown" title="Lock down">
            <Choice
              className="runbook"
              aria-label="Lockdown context"
              value=""
              options={[['', 'Select a context'], ...places]}
              onChange={(next) => change({ place: next, only: null })}
            />
          </Panel>
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
        {open.map((row) => (
          <Board key={keyOf(row)} {...row} />
        ))}
        <ClosedCases rows={rows.filter(({ incident }) => incident.state === 'lifted')} shown={shown} />
        <Runbooks />
      </PageSection>
    </>
  );
}

/** Moves to the form of a new lockdown, with the focus in its first field; without a form, to the reason. */
function toForm(): void {
  const section = document.querySelector('section[aria-label="New lockdown"]');
  section?.scrollIntoView({ block: 'nearest' });
  const names =
    section?.querySelector<HTMLElement>('#names') ?? section?.querySelector<HTMLElement>('select, input');
  names?.focus();
}

/** The number of closed incidents drawn at first. */
const MOST_CLOSED = 20;

/** The closed incidents, latest first. */
function ClosedCases({ rows, shown }: ListProps): ReactNode {
  const closed = rows.toSorted((one, other) =>
    (other.incident.lifted?.at ?? '').localeCompare(one.incident.lifted?.at ?? ''),
  );
  if (closed.length === 0) return null;
  return (
    <Panel label="Closed incidents" title="Closed incidents">
      <PlainTable
        label="Closed incidents"
        rows={closed}
        most={MOST_CLOSED}
        keyOf={keyOf}
        columns={[
          {
            title: 'Incident',
            show: ({ place, incident: { id } }) => (
              <Link
                className="schedule"
                aria-label={`Show the case ${id}`}
                to={query('/case', { place, incident: id })}
              >
                {id}
              </Link>
            ),
          },
          ...contextColumn(shown),
          { title: 'Subject', show: ({ incident: { selection } }) => selection },
          { title: 'Locked down', show: ({ incident: { since } }) => <When at={since} /> },
          { title: 'Closed', show: ({ incident: { lifted } }) => <When at={lifted?.at} /> },
          {
            title: 'Not restored',
            show: ({ incident: { stays } }) =>
              stays.length === 0 ? 'nothing' : stays.map(({ name }) => name).join(', '),
          },
        ]}
      />
    </Panel>
  );
}

/** The runbooks that come with the program. */
function Runbooks(): ReactNode {
  const names = useRead<{ readonly json: { readonly runbooks: readonly string[] } }>('/api/runbooks');
  const [name, setName] = useState('');
  const read = useRead<Ended>(name === '' ? null : query('/api/runbooks', { name }));
  return (
    <Panel label="Runbooks" title="Runbooks">
      <p>Step-by-step instructions. A case page fills in the names and tracks the completed steps.</p>
      <Choice
        className="runbook"
        aria-label="Runbook"
        value={name}
        options={[['', 'Select a runbook'], ...(names.data?.json.runbooks ?? [])]}
        onChange={setName}
      />
      {name !== '' && <Loaded query={read}>{(ended) => <Report ended={ended} label="Runbook" />}</Loaded>}
    </Panel>
  );
}

/** The open cases, what could not be read about them, and the access paths of each. */
import { Button, Label } from '@patternfly/react-core';
import { type Column, PlainTable } from '@tokenctl/common/web/table.tsx';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { Fragment, type ReactNode } from 'react';
import { Link } from 'react-router';
import { type Problem, query } from '../api.ts';
import type { Listed } from '../controller.tsx';
import { Message, Panel, When } from '../parts.tsx';
import { EffectLabel, type Incident, type IncidentsRead, PathsTable, WhyText } from './incident-parts.tsx';

/** An incident, with the context and time of reading. */
export interface Row {
  readonly place: string;
  readonly incident: Incident;
  readonly at: string;
  readonly unread: Problem | null;
}

export function rowsOf(lists: readonly Listed<IncidentsRead>[]): readonly Row[] {
  return lists.flatMap(
    ({ place, list: { value } }) =>
      value?.incidents.map((incident) => ({ place, incident, at: value.at, unread: value.unread })) ?? [],
  );
}

export function keyOf({ place, incident: { id, address } }: Row): string {
  return `${id} ${address} ${place}`;
}

export interface ListProps {
  readonly rows: readonly Row[];
  /** Of the controllers that match the filter. */
  readonly shown: readonly Listed<IncidentsRead>[];
}

/** The context column, in a list of several controllers. */
export function contextColumn(shown: readonly Listed<IncidentsRead>[]): readonly Column<Row>[] {
  return shown.length > 1 ? [{ title: 'Context', show: ({ place }) => place }] : [];
}

/** The open cases, before the form for another one. */
export function OpenCases({ rows, shown }: ListProps): ReactNode {
  if (rows.length === 0) {
    const [only] = shown.length === 1 ? shown : [];
    const isWhole = shown.every(({ list }) => list.value?.unread === null);
    const where = only?.place ?? `these ${numberText(shown.length)} controllers`;
    if (isWhole) return <p>{`No lockdown is open in ${where}.`}</p>;
    if (only?.list.value != null) return <p>{`The audit log contains no open lockdown in ${where}.`}</p>;
    return shown.length > 1 && <p>No open lockdown was found in what was read.</p>;
  }
  return (
    <PlainTable
      label="Open incidents"
      rows={rows}
      keyOf={keyOf}
      columns={[
        {
          title: 'Open incident',
          show: ({ place, incident: { id } }) => (
            <Link className="schedule" to={query('/case', { place, incident: id })}>
              {id}
            </Link>
          ),
        },
        ...contextColumn(shown),
        { title: 'Subject', show: ({ incident: { selection } }) => selection },
        { title: 'Since', show: ({ incident: { since } }) => <When at={since} /> },
        {
          title: 'State',
          show: ({ incident }) => (
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

/** What is missing from a controller, and what is shown instead. */
export function Unread({
  read: { place, list },
  retry,
}: {
  read: Listed<IncidentsRead>;
  retry: () => void;
}): ReactNode {
  const { value, problem, waits } = list;
  if (waits !== null) return <p role="status">Still reading {place}: its incidents are not in this list.</p>;
  if (problem !== null) {
    return (
      <Message
        variant="danger"
        title={`The open incidents of ${place} could not be read. ${problem.message}`}
      >
        <Button variant="link" isInline onClick={retry}>
          Try again
        </Button>
      </Message>
    );
  }
  return (
    <>
      {value?.unread != null && (
        <Message
          isLiveRegion
          variant="warning"
          title={`${place} is not checked now: ${value.unread.message}`}
        >
          Its incidents below are from the audit log. Whether they are in effect is not known.
        </Message>
      )}
      {value?.stream != null && <Message variant="warning" title={value.stream} />}
    </>
  );
}

/** The open incidents of the contexts that the filter excludes. */
export function Elsewhere({ rows }: { rows: readonly Row[] }): ReactNode {
  const open = Map.groupBy(
    rows.filter(({ incident }) => incident.state !== 'lifted'),
    ({ place }) => place,
  );
  if (open.size === 0) return null;
  return (
    <p>
      Open in other contexts:{' '}
      {[...open].map(([place, { length }], index) => (
        <Fragment key={place}>
          {index > 0 && ', '}
          <Link to={query('/incidents', { place })}>
            {numberText(length)} in {place}
          </Link>
        </Fragment>
      ))}
      .
    </p>
  );
}

/** An open incident with its access paths. */
export function Board({ place, incident, at, unread }: Row): ReactNode {
  const { id, selection, since, until, by, isOverdue } = incident;
  return (
    <Panel
      label={`Incident ${id}`}
      title={
        <>
          {id}: {selection} <EffectLabel incident={incident} />{' '}
          {isOverdue && <Label color="red">overdue</Label>}
        </>
      }
    >
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
        <Link to={query('/case', { place, incident: id })}>Continue with the case {id}</Link>
      </p>
      <PathsTable incident={incident} place={place} />
    </Panel>
  );
}

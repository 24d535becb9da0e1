/** The ends that tokenctl gives to tokens: the progress of sunsets, and leases, which can be changed. */
import './tokens/charts.css';
import {
  Button,
  Form,
  FormGroup,
  Label,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  PageSection,
} from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { type Column, PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { Lifetimes as Answer } from '../../console/lifetimes.ts';
import { type Json, patternOf, query, useFacts } from './api.ts';
import { AccountFields, useBegin } from './begin.tsx';
import { OwnCommand } from './commands.tsx';
import { useEach } from './controller.tsx';
import { Bars, Failure, Message, NotInList, Panel, Said, When } from './parts.tsx';

type Read = Json<Answer>;
type Week = Read['weeks'][number];

/** A lease, and the context in which it was read. */
type Row = Read['leases'][number] & { readonly at: string };

export function Lifetimes(): ReactNode {
  const { read, shown, place, isOfOne } = useEach<Read>('/api/lifetimes');
  const told = shown.flatMap(({ place, list: { value } }) => (value === null ? [] : { place, value }));
  const rows = told.flatMap(({ place: at, value }) => value.leases.map((lease) => ({ ...lease, at })));
  const unknown = told.reduce((sum, { value }) => sum + value.unknownUses, 0);
  return (
    <>
      <PageHeading
        title="Token lifetimes"
        actions={
          <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
            Refresh
          </Button>
        }
      />
      <PageSection className="stacked">
        <Loaded query={read}>
          {() => (
            <>
              <NotInList readings={shown.map(({ place, list }) => ({ place, ...list }))} />
              {told.map(
                ({ place, value: { job } }) =>
                  job !== null && (
                    <Message
                      key={place}
                      isPlain
                      variant={job.ends ? 'info' : 'warning'}
                      title={`${place}: lease end dates`}
                    >
                      <Said text={job.text} />
                    </Message>
                  ),
              )}
              {told.length > 0 && (
                <>
                  <Sunset
                    weeks={together(told.map(({ value }) => value.weeks))}
                    unknown={unknown}
                    place={isOfOne ? place : undefined}
                  />
                  <Leases
                    rows={rows.toSorted((one, other) => one.until.localeCompare(other.until))}
                    total={told.reduce((sum, { value }) => sum + value.open, 0)}
                    isOfSeveral={shown.length > 1}
                  >
                    {told.map(({ place, value: { overdue } }) => (
                      <EndDue key={place} place={place} count={overdue} />
                    ))}
                  </Leases>
                </>
              )}
            </>
          )}
        </Loaded>
      </PageSection>
    </>
  );
}

/** The weeks of several controllers as one: remaining tokens carry over to the next week. */
function together(all: readonly (readonly Week[])[]): readonly Week[] {
  const weeks = Map.groupBy(all.flat(), ({ week }) => week);
  const sum = (of: readonly Week[], what: 'ends' | 'ended' | 'inUse') =>
    of.reduce((total, each) => total + each[what], 0);
  let left = sum(all.flat(), 'ends');
  return [...weeks]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([week, of]) => {
      const ends = sum(of, 'ends');
      left -= ends;
      return { week, ends, ended: sum(of, 'ended'), inUse: sum(of, 'inUse'), left };
    });
}

/** The number of permanent tokens left each week, and of those ending that are in use. */
function Sunset(props: {
  readonly weeks: readonly Week[];
  readonly unknown: number;
  readonly place: string | undefined;
}): ReactNode {
  const { weeks, unknown, place } = props;
  const ends = weeks.reduce((sum, each) => sum + each.ends, 0);
  const ended = weeks.reduce((sum, week) => sum + week.ended, 0);
  return (
    <Panel label="Sunset" title="Sunset of permanent tokens">
      {weeks.length === 0 ? (
        <>
          <p>No sunset is recorded. To plan one:</p>
          <OwnCommand words="tokens sunset --dry-run" {...(place !== undefined && { place })} />
        </>
      ) : (
        <>
          {unknown > 0 && (
            <Message
              variant="warning"
              title={`Whether ${countText(unknown, 'token')} of the sunset are in use is not known.`}
            />
          )}
          <div className="charts wide">
            <Bars
              title="Remaining after the week of"
              unit="tokens"
              bars={[
                { label: 'at first', count: ends },
                ...weeks.map(({ week, left }) => ({ label: week, count: left })),
              ]}
            />
            <Bars
              title="Ending in the week of, and still used"
              unit="tokens"
              bars={weeks.map(({ week, inUse }) => ({ label: week, count: inUse }))}
            />
          </div>
          <p className="counts">
            {`${numberText(ended)} of ${countText(ends, 'token')} have ended. Used means within the last seven days.`}
          </p>
        </>
      )}
    </Panel>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  exec: 'one program',
  create: 'created with an end date',
  rotation: 'rotation',
  sunset: 'sunset',
  migration: 'migration',
};

const STATES: Readonly<Record<string, string>> = { making: 'being made', unknown: 'creation interrupted' };

/** The number of rows drawn at first. */
const MOST_ROWS = 50;

function Leases(props: {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly isOfSeveral: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const { rows, total, isOfSeveral, children } = props;
  const { readOnly } = useFacts();
  const [changed, setChanged] = useState<Row | null>(null);
  const context: Column<Row>[] = isOfSeveral ? [{ title: 'Context', show: ({ at }) => at }] : [];
  return (
    <Panel label="Leases" title="Leases">
      {children}
      {rows.length === 0 ? (
        <p>No open leases.</p>
      ) : (
        <PlainTable
          label="Leases"
          rows={rows}
          most={MOST_ROWS}
          keyOf={({ at, id }) => `${at} ${id}`}
          columns={[
            { title: 'Ends', show: ({ until }) => <When at={until} /> },
            {
              title: 'Token',
              show: ({ at, token }) =>
                token === null ? (
                  'not known'
                ) : (
                  <Link className="whole" to={query('/tokens', { place: at, text: token.id })}>
                    {token.id}
                  </Link>
                ),
            },
            ...context,
            {
              title: 'Owner',
              show: ({ at, user }) => (
                <Link to={query('/tokens', { place: at, user: patternOf(user) })}>{user}</Link>
              ),
            },
            { title: 'Kind', show: ({ why }) => KINDS[why] ?? why },
            {
              title: 'State',
              show: ({ state, isOverdue, failure }) => (
                <span className="labels">
                  {isOverdue ? <Label color="red">overdue</Label> : <Label>{STATES[state] ?? state}</Label>}
                  {failure !== null && <span>{failure}</span>}
                </span>
              ),
            },
            {
              title: 'Change',
              isAction: true,
              show: (row) =>
                !readOnly && (
                  <Button
                    variant="secondary"
                    size="sm"
                    aria-label={`Change the end of ${nameOf(row)}`}
                    onClick={() => setChanged(row)}
                  >
                    Change…
                  </Button>
                ),
            },
          ]}
        />
      )}
      {rows.length < total && (
        <p>
          {numberText(rows.length)} of {numberText(total)} are listed, sorted by end date.
        </p>
      )}
      {changed !== null && <ChangeDialog row={changed} onClose={() => setChanged(null)} />}
    </Panel>
  );
}

/** Revokes due tokens that no job revoked. */
function EndDue({ place, count }: { place: string; count: number }): ReactNode {
  const { readOnly } = useFacts();
  const begin = useBegin();
  if (count === 0) return null;
  return (
    <Message variant="warning" title={`${place}: ${countText(count, 'token')} with an expired lease`}>
      {!readOnly && (
        <Button
          variant="link"
          isInline
          onClick={() => begin.mutate({ kind: 'tokens leases', place, lease: null, hours: null })}
        >
          Revoke overdue tokens…
        </Button>
      )}
      <Failure error={begin.error} />
    </Message>
  );
}

function nameOf({ id, token }: Row): string {
  return token === null ? id : `token ${token.id}`;
}

/** The choices for a new end, in hours from now. */
const ENDS = [
  ['', 'Revoke the token now'],
  ['2', 'In 2 hours'],
  ['24', 'In a day'],
  ['168', 'In a week'],
  ['720', 'In 30 days'],
] as const;

/** A new end of a lease. The plan is shown before anything is recorded. */
function ChangeDialog({ row, onClose }: { row: Row; onClose: () => void }): ReactNode {
  const { requireReason, requireTicket } = useFacts();
  const [end, setEnd] = useState('24');
  const [account, setAccount] = useState({ reason: '', ticket: '' });
  const begin = useBegin();
  const isAsked = (requireReason && account.reason === '') || (requireTicket && account.ticket === '');
  const change = () =>
    begin.mutate(
      {
        kind: 'tokens leases',
        ...{ place: row.at, lease: row.id, hours: end === '' ? null : Number(end), ...account },
      },
      { onSuccess: onClose },
    );
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="lease-title">
      <ModalHeader title={`Change the end of ${nameOf(row)} of ${row.user}`} labelId="lease-title" />
      <ModalBody tabIndex={0} aria-label="The new end">
        <Form id="lease-form" onSubmit={(event) => event.preventDefault()}>
          <FormGroup label="It ends" fieldId="lease-end">
            <Choice id="lease-end" value={end} options={ENDS} onChange={setEnd} />
          </FormGroup>
          <AccountFields account={account} onChange={setAccount} name="lease" />
          <Failure error={begin.error} />
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button
          variant={end === '' ? 'danger' : 'primary'}
          isDisabled={isAsked || begin.isPending}
          isLoading={begin.isPending}
          onClick={change}
        >
          Show the plan
        </Button>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

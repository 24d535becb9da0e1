/** Lockdowns: the ways in of each open one as a board, its timeline, and the runbooks. */
import {
  Alert,
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
import { Loaded } from '../shared/states.tsx';
import { PlainTable } from '../shared/table.tsx';
import { type Ended, query, useFacts, useRead } from './api.ts';
import { Printed } from './commands.tsx';
import { LockdownForm } from './lockdown-form.tsx';
import { useBegin } from './operation.tsx';
import { Heading, When } from './parts.tsx';
import { RunbookSteps } from './runbook-steps.tsx';

interface Incident {
  readonly id: string;
  readonly scope: { readonly kind: string; readonly names?: readonly string[] };
  readonly selection: string;
  readonly address: string;
  readonly state: string;
  readonly since: string;
  readonly until: string | null;
  readonly by: Readonly<Record<string, string>>;
  readonly reason: string | null;
  readonly ticket: string | null;
  readonly isOverdue: boolean;
  readonly notChecked: readonly string[];
  readonly holds: boolean | null;
  /** None of an incident that is lifted. */
  readonly waysIn: readonly WayIn[];
}

/** A way in, and what was read of it. */
interface WayIn {
  readonly name: string;
  readonly state: 'open' | 'as set' | 'none listed' | 'none found' | 'not checked';
  readonly evidence: string;
}

/** The incidents of a context, and when they were compared with it. */
export interface IncidentsRead {
  readonly at: string;
  readonly address: string;
  readonly incidents: readonly Incident[];
}

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

const COLORS: Readonly<Record<WayIn['state'], 'red' | 'green' | 'orange'>> = {
  open: 'red',
  'as set': 'green',
  'none listed': 'green',
  'none found': 'green',
  'not checked': 'orange',
};

/** Whether a lockdown is in effect. What was not checked is no part of that. */
function EffectLabel({ incident: { holds, notChecked } }: { readonly incident: Incident }): ReactNode {
  if (holds === null) return <Label color="orange">not checked</Label>;
  if (!holds) return <Label color="red">not in effect</Label>;
  if (notChecked.length === 0) return <Label color="green">in effect</Label>;
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
        {isOpen && (
          <PlainTable
            label={`Ways in of ${id}`}
            rows={incident.waysIn}
            keyOf={({ name }) => name}
            columns={[
              { title: 'Way in', show: ({ name }) => name },
              { title: 'State', show: ({ state: line }) => <Label color={COLORS[line]}>{line}</Label> },
              { title: 'Evidence', show: ({ evidence }) => evidence },
            ]}
          />
        )}
        {begin.error !== null && <Alert isInline isLiveRegion variant="danger" title={begin.error.message} />}
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
        <Loaded query={read}>{({ text }) => <Printed text={text} label="Timeline" />}</Loaded>
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

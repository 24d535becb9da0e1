/** Lockdowns: a form whose plan follows the choices, and the ways in of each open one as a board. */
import {
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Checkbox,
  Form,
  FormGroup,
  FormSelect,
  FormSelectOption,
  Grid,
  GridItem,
  Label,
  PageSection,
  Spinner,
  TextInput,
} from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useSearchParams } from 'react-router';
import { Loaded } from '../shared/states.tsx';
import { type ContextRead, call, type Ended, query, useFacts, useRead } from './api.ts';
import { type Account, AccountFields, ProblemAlert, useBegin } from './operation.tsx';
import { CommandLine, Heading, Printed, When } from './parts.tsx';

interface Incident {
  readonly id: string;
  readonly selection: string;
  readonly address: string;
  readonly state: string;
  readonly since: string;
  readonly until: string | null;
  readonly by: Readonly<Record<string, string>>;
  readonly reason: string | null;
  readonly ticket: string | null;
  readonly isOverdue: boolean;
  readonly values: readonly {
    readonly what: string;
    readonly name: string;
    readonly before: unknown;
    readonly locked: unknown;
    readonly found: unknown;
    readonly holds: boolean;
  }[];
  readonly aliveCount: number;
  readonly alive: readonly { readonly id: number; readonly user: string | null; readonly isNew: boolean }[];
  readonly openPaths: readonly { readonly path: string; readonly how: string }[];
  readonly notChecked: readonly string[];
  readonly holds: boolean | null;
  readonly notSeen: string | null;
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
        <LockdownForm key={place} place={place} user={search.get('user') ?? ''} />
      </PageSection>
    </>
  );
}

const PATHS: Readonly<Record<string, string>> = {
  access_tokens: 'Access tokens',
  revoked_token: 'A revoked token',
  authorization_codes: 'Authorization codes',
  refresh_tokens: 'Refresh tokens',
  sessions: 'Sessions',
  basic_authentication: 'Basic authentication',
  external_tokens: 'External tokens',
  users: 'Users',
  passwords: 'Passwords',
  roles: 'Roles',
  applications: 'Applications',
};

interface Line {
  readonly name: string;
  readonly state: 'open' | 'as set' | 'none listed' | 'not checked';
  readonly evidence: string;
}

/** The ways in of an incident, with what was read of each. */
function linesOf(incident: Incident): readonly Line[] {
  const { values, alive, aliveCount, openPaths, notChecked, notSeen } = incident;
  if (notSeen !== null) return [{ name: 'All', state: 'not checked', evidence: notSeen }];
  const tokens: Line =
    aliveCount === 0
      ? { name: 'Access tokens', state: 'none listed', evidence: 'The tokens of the selection were listed.' }
      : {
          ...{ name: 'Access tokens', state: 'open' },
          evidence: `${aliveCount} listed: ${alive
            .slice(0, 5)
            .map(({ id, user }) => `${id} of ${user ?? 'a deleted user'}`)
            .join(', ')}`,
        };
  return [
    tokens,
    ...openPaths.map(({ path, how }): Line => ({ name: PATHS[path] ?? path, state: 'open', evidence: how })),
    ...values.map(
      ({ what, name, locked, found, holds }): Line => ({
        name: what === 'user' ? `User ${name}` : name,
        state: holds ? 'as set' : 'open',
        evidence: `Read: ${JSON.stringify(found)}; set by the lockdown: ${JSON.stringify(locked)}.`,
      }),
    ),
    ...notChecked.map(
      (path): Line => ({
        ...{ name: PATHS[path] ?? path, state: 'not checked' },
        evidence: 'This context cannot list them, or a running server may not have applied the setting yet.',
      }),
    ),
  ];
}

const COLORS = { open: 'red', 'as set': 'green', 'none listed': 'green', 'not checked': 'orange' } as const;

function Board({
  place,
  incident,
  at,
}: {
  readonly place: string;
  readonly incident: Incident;
  readonly at: string;
}): ReactNode {
  const { id, selection, state, since, until, by, reason, ticket, isOverdue, holds } = incident;
  const { readOnly } = useFacts();
  const begin = useBegin();
  const [hours, setHours] = useState('4');
  const isOpen = state !== 'lifted';
  const change = (kind: string, more: object = {}) => begin.mutate({ kind, place, incident: id, ...more });
  return (
    <Card component="section" aria-label={`Incident ${id}`}>
      <CardTitle component="h2">
        {id}: {selection}{' '}
        {isOpen && (
          <Label color={holds === true ? 'green' : holds === false ? 'red' : 'orange'}>
            {holds === true ? 'in effect' : holds === false ? 'not in effect' : 'not checked'}
          </Label>
        )}{' '}
        {!isOpen && <Label>lifted</Label>} {isOverdue && <Label color="red">overdue</Label>}
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
          <Table aria-label={`Ways in of ${id}`} variant="compact">
            <Thead>
              <Tr>
                <Th>Way in</Th>
                <Th>State</Th>
                <Th>Evidence</Th>
              </Tr>
            </Thead>
            <Tbody>
              {linesOf(incident).map((line) => (
                <Tr key={line.name}>
                  <Td dataLabel="Way in">{line.name}</Td>
                  <Td dataLabel="State">
                    <Label color={COLORS[line.state]}>{line.state}</Label>
                  </Td>
                  <Td dataLabel="Evidence">{line.evidence}</Td>
                </Tr>
              ))}
            </Tbody>
          </Table>
        )}
        {begin.error !== null && <Alert isInline isLiveRegion variant="danger" title={begin.error.message} />}
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
          </div>
        )}
      </CardBody>
    </Card>
  );
}

const SCOPES = [
  ['user', 'Users'],
  ['application', 'Applications'],
  ['identityProvider', 'Users of an identity provider'],
  ['all', 'All users'],
] as const;

type Scope = (typeof SCOPES)[number][0];

/** What is done to users, or to the applications that are named; the keys of the request. */
const MEASURES = [
  ['deactivate', 'Deactivate the users'],
  ['resetPassword', 'Reset the passwords'],
  ['stripRoles', 'Take the roles away; lifting gives them back'],
  ['endApplications', 'Replace the secrets of their applications, or delete these'],
] as const;

/** What a measure can be used for. */
function isPossible(measure: string, scope: Scope): boolean {
  if (measure === 'deactivate') return scope !== 'application';
  return scope === 'user' || (scope === 'application' && measure === 'endApplications');
}

const SWITCHES = [
  ['basicAuthOff', 'Turn basic authentication off'],
  ['externalTokensOff', 'Stop external users from creating tokens'],
  ['shortenLifetimes', 'Shorten the lifetimes of new tokens to one hour'],
] as const;

/** What the form holds. */
interface Choices {
  readonly place: string;
  readonly scope: Scope;
  readonly names: string;
  readonly provider: string;
  /** Those that differ from the default. */
  readonly measures: Readonly<Record<string, boolean>>;
  /** Over REST, a controller deactivates no users. */
  readonly canDeactivate: boolean;
  readonly switches: Readonly<Record<string, boolean>>;
  readonly hours: string;
}

/** The request of the form, null without a name; and the defaults of the command for its selection. */
function requestOf(choices: Choices) {
  const { place, scope, names, provider, measures, canDeactivate, switches, hours } = choices;
  const list = names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const isWide = scope === 'all' || scope === 'identityProvider';
  const defaults: Readonly<Record<string, boolean>> = {
    basicAuthOff: isWide,
    externalTokensOff: isWide,
    shortenLifetimes: scope === 'all',
    deactivate: canDeactivate && scope === 'user',
    resetPassword: !canDeactivate && scope === 'user',
  };
  const chosen = MEASURES.map(([name]) => name).filter(
    (name) => isPossible(name, scope) && (measures[name] ?? defaults[name] ?? false),
  );
  const who = {
    user: { user: list },
    application: { application: list },
    identityProvider: { identityProvider: provider },
    all: { all: true },
  }[scope];
  const request = {
    ...{ kind: 'incident lockdown', place, ...switches, ...who },
    ...Object.fromEntries(chosen.map((name) => [name, true])),
    ...(Number(hours) > 0 && { hours: Number(hours) }),
  };
  return { request: isWide || list.length > 0 ? request : null, defaults, chosen: new Set<string>(chosen) };
}

const SETTLED_MS = 500;

/** Plans as one chooses; the plan is the dry run of the command. */
function LockdownForm({ place, user }: { readonly place: string; readonly user: string }): ReactNode {
  const { readOnly } = useFacts();
  const [scope, setScope] = useState<Scope>('user');
  const [names, setNames] = useState(user);
  const [provider, setProvider] = useState('any');
  const [measures, setMeasures] = useState<Readonly<Record<string, boolean>>>({});
  const context = useRead<ContextRead>(query('/api/overview', { place }));
  const canDeactivate = context.data?.capabilities.deactivateUsers ?? false;
  const [switches, setSwitches] = useState<Readonly<Record<string, boolean>>>({});
  const [hours, setHours] = useState('');
  const [account, setAccount] = useState<Account>({ reason: '', ticket: '' });
  const begin = useBegin();
  const choices = { place, scope, names, provider, measures, canDeactivate, switches, hours };
  const { request, defaults, chosen } = requestOf(choices);
  const isWhole = request !== null;
  const planned = usePlan(context.data === undefined ? null : request);
  return (
    <Card component="section" aria-label="New lockdown">
      <CardTitle component="h2">Lock down</CardTitle>
      <CardBody>
        <Grid hasGutter>
          <GridItem lg={5}>
            <Form>
              <FormGroup label="Who" fieldId="scope">
                <FormSelect id="scope" value={scope} onChange={(_event, value) => setScope(value as Scope)}>
                  {SCOPES.map(([value, label]) => (
                    <FormSelectOption key={value} value={value} label={label} />
                  ))}
                </FormSelect>
              </FormGroup>
              {(scope === 'user' || scope === 'application') && (
                <FormGroup label="Names, separated by commas" fieldId="names" isRequired>
                  <TextInput
                    id="names"
                    value={names}
                    autoComplete="off"
                    onChange={(_event, value) => setNames(value)}
                  />
                </FormGroup>
              )}
              {scope === 'identityProvider' && (
                <FormGroup label="Identity provider" fieldId="provider">
                  <FormSelect id="provider" value={provider} onChange={(_event, value) => setProvider(value)}>
                    {['any', 'ldap', 'social', 'enterprise'].map((each) => (
                      <FormSelectOption key={each} value={each} label={each} />
                    ))}
                  </FormSelect>
                </FormGroup>
              )}
              <FormGroup role="group" label="Measures" fieldId="deactivate">
                {MEASURES.map(([name, label]) => (
                  <Checkbox
                    key={name}
                    id={name}
                    label={label}
                    isChecked={chosen.has(name)}
                    isDisabled={!isPossible(name, scope)}
                    onChange={(_event, value) => setMeasures({ ...measures, [name]: value })}
                  />
                ))}
                {SWITCHES.map(([name, label]) => (
                  <Checkbox
                    key={name}
                    id={name}
                    label={label}
                    isChecked={switches[name] ?? defaults[name] ?? false}
                    onChange={(_event, value) => setSwitches({ ...switches, [name]: value })}
                  />
                ))}
              </FormGroup>
              <FormGroup label="Ends after hours (empty: until it is lifted)" fieldId="hours">
                <TextInput
                  id="hours"
                  type="number"
                  min={1}
                  value={hours}
                  onChange={(_event, value) => setHours(value)}
                />
              </FormGroup>
              <AccountFields account={account} onChange={setAccount} />
              {begin.error !== null && (
                <Alert isInline isLiveRegion variant="danger" title={begin.error.message} />
              )}
              {!readOnly && (
                <Button
                  variant="danger"
                  isDisabled={!isWhole || begin.isPending}
                  isLoading={begin.isPending}
                  onClick={() => begin.mutate({ ...request, ...account })}
                >
                  Lock down…
                </Button>
              )}
            </Form>
          </GridItem>
          <GridItem lg={7}>
            {!isWhole && <p>Name a user or an application to see the plan.</p>}
            {planned.isFetching && <Spinner size="md" aria-label="Planning" />}
            {planned.error !== null && <Alert isInline variant="danger" title={planned.error.message} />}
            {planned.data != null && (
              <>
                {planned.data.failure !== null && <ProblemAlert problem={planned.data.failure} />}
                <Printed text={planned.data.text} label="Plan" />
                <CommandLine command={planned.data.command} />
              </>
            )}
          </GridItem>
        </Grid>
      </CardBody>
    </Card>
  );
}

/** The plan of a request, once it has not changed for a moment. */
function usePlan(request: object | null) {
  const [settled, setSettled] = useState<string | null>(null);
  const wanted = request === null ? null : JSON.stringify(request);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  return useQuery({
    queryKey: ['plan', settled],
    queryFn: ({ signal }) =>
      call<Ended & { readonly command: string }>('/api/plans', { body: JSON.parse(settled ?? '{}'), signal }),
    enabled: settled !== null && settled === wanted,
    retry: false,
  });
}

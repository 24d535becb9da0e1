/** The form of a new lockdown. Its plan is the dry run of the command, and follows the choices. */
import {
  Button,
  Card,
  CardBody,
  CardTitle,
  Form,
  FormGroup,
  FormHelperText,
  Grid,
  GridItem,
  HelperText,
  HelperTextItem,
  Spinner,
  TextInput,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'react-router';
import type { FormChoice } from '../../console/command-line.ts';
import { Choice } from '../shared/choice.tsx';
import { type ContextRead, call, type Ended, type Problem, query, useFacts, useRead } from './api.ts';
import { ChoiceFields, type Choices, isPossible } from './choices.tsx';
import { CommandLine } from './commands.tsx';
import { Report } from './document.tsx';
import { GuardFields, type Guards, guardsOf, noGuards, SavePlan } from './guards.tsx';
import { NameField } from './name-field.tsx';
import { type Account, AccountFields, ProblemAlert, useBegin } from './operation.tsx';
import { Message } from './parts.tsx';

const SCOPES = [
  ['user', 'Users'],
  ['application', 'Applications'],
  ['identityProvider', 'Users of an identity provider'],
  ['all', 'All users'],
] as const;

type Scope = (typeof SCOPES)[number][0];

/** What is filled in. */
export interface Draft {
  readonly scope: Scope;
  readonly names: string;
  readonly provider: string;
  /** Those that differ from the default. */
  readonly choices: Choices;
  readonly hours: string;
  readonly account: Account;
  /** The users that stay active, separated by commas. */
  readonly keepActive: string;
  /** The new file of a rescue token; empty without one. */
  readonly rescueToken: string;
  readonly guards: Guards;
}

const EMPTY: Draft = {
  ...{ scope: 'user', names: '', provider: 'any', choices: {}, hours: '' },
  ...{ account: { reason: '', ticket: '' }, keepActive: '', rescueToken: '', guards: noGuards },
};

/** What the form holds. */
interface Held extends Omit<Draft, 'account' | 'guards'> {
  readonly place: string;
  readonly fields: readonly FormChoice[];
  /** Why a measure is not possible through the context, by its name: that is never asked for. */
  readonly gaps: ContextRead['measureGaps'];
}

/** The request of the form, null without a name; and the defaults of the command for its selection. */
function requestOf(held: Held) {
  const { place, fields, scope, names, provider, choices, gaps, hours } = held;
  const list = namesIn(names);
  const isWide = scope === 'all' || scope === 'identityProvider';
  const defaults: Choices = {
    ...Object.fromEntries(fields.map(({ name, onFor }) => [name, onFor.includes(scope)])),
    deactivate: scope === 'user',
    resetPassword: gaps['deactivate'] !== undefined && scope === 'user',
  };
  const isOn = (name: string) => gaps[name] === undefined && (choices[name] ?? defaults[name] ?? false);
  // A switch that was left alone is not sent: the command has the same default.
  const chosen = fields.flatMap((field) => {
    const { name, isSwitch } = field;
    if (isSwitch) return choices[name] === undefined ? [] : [[name, choices[name]] as const];
    return isPossible(field, scope) && isOn(name) ? [[name, true] as const] : [];
  });
  const deactivates = chosen.some(([name]) => name === 'deactivate');
  const keepActive = deactivates ? namesIn(held.keepActive) : [];
  const isBasicOff = isOn('basicAuthOff');
  const rescueToken = isBasicOff ? held.rescueToken.trim() : '';
  const who = {
    user: { user: list },
    application: { application: list },
    identityProvider: { identityProvider: provider },
    all: { all: true },
  }[scope];
  const request = {
    kind: 'incident lockdown',
    place,
    ...who,
    ...Object.fromEntries(chosen),
    ...(Number(hours) > 0 && { hours: Number(hours) }),
    ...(keepActive.length > 0 && { keepActive }),
    ...(rescueToken !== '' && { rescueToken }),
  };
  return {
    request: isWide || list.length > 0 ? request : null,
    defaults,
    isBasicOff,
    deactivates,
  };
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

const SETTLED_MS = 500;

interface FormProps {
  readonly place: string;
  readonly user: string;
  /** The other contexts of the same controller. */
  readonly others: readonly string[];
  /** What was filled in before, through another of them. */
  readonly draft?: Draft | undefined;
  /** Goes on through another of them, with what is filled in. */
  readonly onSwitch: (place: string, held: Draft) => void;
}

/** The form, once it is known what the context can do: what is chosen at first depends on it, and does not change later. */
export function LockdownForm(props: FormProps): ReactNode {
  const { place } = props;
  const context = useRead<ContextRead>(query('/api/overview', { place }));
  return (
    <Card component="section" aria-label="New lockdown">
      <CardTitle component="h2">Lock down</CardTitle>
      <CardBody>
        {context.data !== undefined ? (
          <LoadedForm {...props} context={context.data} />
        ) : context.error !== null ? (
          <Message variant="danger" title={context.error.message} />
        ) : (
          <>
            <Spinner size="md" aria-label="Reading" /> Reading what the context {place} can do.
          </>
        )}
      </CardBody>
    </Card>
  );
}

/** Plans as one chooses; the plan is the dry run of the command. */
function LoadedForm(props: FormProps & { readonly context: ContextRead }): ReactNode {
  const { place, user, context, onSwitch } = props;
  const { readOnly, forms } = useFacts();
  const fields = forms['incident lockdown'];
  const [draft, setDraft] = useState<Draft>(props.draft ?? { ...EMPTY, names: user });
  const set = (some: Partial<Draft>) => setDraft((before) => ({ ...before, ...some }));
  const { scope, names, provider, choices, hours, account, keepActive, rescueToken, guards } = draft;
  const { credential, lockdownRefusal: refusal } = context;
  const gaps = useGaps(props, (other, measure) =>
    onSwitch(other, { ...draft, choices: { ...choices, [measure]: true } }),
  );
  const begin = useBegin();
  const { request, defaults, deactivates, isBasicOff } = requestOf({
    ...{ ...draft, place, fields },
    gaps: context.measureGaps,
  });
  const isWhole = request !== null;
  const planned = usePlan(request === null || refusal !== null ? null : { ...request, ...guardsOf(guards) });
  const isReady = isWhole && refusal === null && !begin.isPending;
  const whole = { ...request, ...guardsOf(guards), ...account, ...plannedId(planned.data) };
  return (
    <>
      {refusal !== null && <RightsMessage refusal={refusal} />}
      <Grid hasGutter>
        <GridItem lg={5}>
          <Form>
            <FormGroup label="Who" fieldId="scope">
              <Choice id="scope" value={scope} options={SCOPES} onChange={(scope) => set({ scope })} />
            </FormGroup>
            {(scope === 'user' || scope === 'application') && (
              <NameField
                id="names"
                label="Names, separated by commas"
                kind={scope === 'user' ? 'users' : 'applications'}
                place={place}
                value={names}
                onChange={(names) => set({ names })}
                isRequired
              />
            )}
            {scope === 'identityProvider' && (
              <FormGroup label="Identity provider" fieldId="provider">
                <Choice
                  id="provider"
                  value={provider}
                  options={['any', 'ldap', 'social', 'enterprise']}
                  onChange={(provider) => set({ provider })}
                />
              </FormGroup>
            )}
            <FormGroup role="group" label="Measures" fieldId="deactivate">
              <ChoiceFields
                fields={fields}
                choices={choices}
                defaults={defaults}
                scope={scope}
                gaps={gaps}
                onChange={(choices) => set({ choices })}
              />
            </FormGroup>
            {deactivates && (
              <NameField
                id="keep-active"
                label="Users that stay active, separated by commas"
                kind="users"
                place={place}
                value={keepActive}
                onChange={(keepActive) => set({ keepActive })}
              />
            )}
            {isBasicOff && credential === 'password' && (
              <FormGroup
                label="New file for a rescue token, on the machine of the console"
                fieldId="rescue-token"
              >
                <TextInput
                  id="rescue-token"
                  value={rescueToken}
                  placeholder="~/rescue.token"
                  autoComplete="off"
                  onChange={(_event, value) => set({ rescueToken: value })}
                />
                <FormHelperText>
                  <HelperText>
                    <HelperTextItem>
                      This context logs in with a password, which stops working. A token of scope write is
                      created in this file first, and used for the lockdown.
                    </HelperTextItem>
                  </HelperText>
                </FormHelperText>
              </FormGroup>
            )}
            <FormGroup label="Ends after hours (empty: until it is lifted)" fieldId="hours">
              <TextInput
                id="hours"
                type="number"
                min={1}
                value={hours}
                onChange={(_event, value) => set({ hours: value })}
              />
            </FormGroup>
            <AccountFields account={account} onChange={(account) => set({ account })} />
            <GuardFields rule={context.approval} guards={guards} onChange={(guards) => set({ guards })} />
            {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
            {readOnly ? (
              <p className="hint">This console is read only: it shows the plan, and locks nobody down.</p>
            ) : (
              <LockdownButtons
                refusal={refusal}
                isReady={isReady}
                isPending={begin.isPending}
                onBegin={(more) => begin.mutate({ ...whole, ...more })}
              />
            )}
          </Form>
        </GridItem>
        <GridItem lg={7} className="stacked">
          {!isWhole && refusal === null && <p>Name a user or an application to see the plan.</p>}
          {planned.isFetching && <Spinner size="md" aria-label="Planning" />}
          {planned.error !== null && <Message variant="danger" title={planned.error.message} />}
          {planned.data != null && (
            <>
              {planned.data.failure !== null && <ProblemAlert problem={planned.data.failure} />}
              <Report ended={planned.data} label="Plan" />
              <CommandLine command={planned.data.command} />
              <InvestigateFirst place={place} names={scope === 'user' ? namesIn(names) : []} />
            </>
          )}
        </GridItem>
      </Grid>
    </>
  );
}

/** Why measures are not possible through the context, by their members, each with the other context that can take it. */
function useGaps(
  { others, context }: Pick<FormProps, 'others'> & { readonly context: ContextRead },
  onSwitch: (place: string, measure: string) => void,
): Readonly<Record<string, ReactNode>> {
  const { forms } = useFacts();
  const { measureGaps } = context;
  const [other] = others;
  const isNeeded = other !== undefined && Object.keys(measureGaps).length > 0;
  const { data } = useRead<ContextRead>(isNeeded ? query('/api/overview', { place: other }) : null);
  if (data === undefined || other === undefined || data.lockdownRefusal !== null) return measureGaps;
  const lost = forms['incident lockdown'].filter(
    ({ name }) => data.measureGaps[name] !== undefined && measureGaps[name] === undefined,
  );
  const but = lost.length === 0 ? '' : `, but not "${lost.map(({ label }) => label).join('", "')}"`;
  return Object.fromEntries(
    Object.entries(measureGaps).map(([name, why]) => [
      name,
      data.measureGaps[name] !== undefined ? (
        why
      ) : (
        <>
          {why} The context {other} of the same controller can{but}.{' '}
          <Button variant="link" isInline onClick={() => onSwitch(other, name)}>
            Use {other}, and keep the form
          </Button>
        </>
      ),
    ]),
  );
}

/** What begins the lockdown, or saves its plan; with why it cannot be begun. */
function LockdownButtons(props: {
  readonly refusal: ContextRead['lockdownRefusal'];
  readonly isReady: boolean;
  readonly isPending: boolean;
  readonly onBegin: (more: { readonly planOut?: string }) => void;
}): ReactNode {
  const { refusal, isReady, isPending, onBegin } = props;
  return (
    <>
      <div>
        <Button
          variant="danger"
          isDisabled={!isReady}
          isLoading={isPending}
          aria-describedby="lock-down-next"
          onClick={() => onBegin({})}
        >
          Lock down…
        </Button>
        <p id="lock-down-next" className="hint">
          {refusal === null
            ? 'Shows the plan once more and asks you to type a word. Nothing is changed before that.'
            : `Not possible. ${refusal.message}`}
        </p>
      </div>
      <SavePlan isDisabled={!isReady} onSave={(planOut) => onBegin({ planOut })} />
    </>
  );
}

/** To what a user did, for who is not sure yet. */
function InvestigateFirst({
  place,
  names: [name, ...others],
}: {
  readonly place: string;
  readonly names: readonly string[];
}): ReactNode {
  if (name === undefined || others.length > 0) return null;
  return (
    <p>
      Not sure yet? <Link to={query('/investigation', { place, user: name })}>Investigate {name} first</Link>.
      An investigation reads only.
    </p>
  );
}

/** Says before anything is typed that the account may not do it. */
function RightsMessage({ refusal }: { readonly refusal: Problem }): ReactNode {
  return (
    <Message variant="warning" title={`This account may not lock down. ${refusal.message}`}>
      {refusal.hint}
    </Message>
  );
}

/** The id of the incident that a plan opens, so that the same one is confirmed; of an open one, the plan finds it itself. */
function plannedId(planned: Ended | undefined): { readonly newIncident?: string } {
  const { plan } = (planned?.json ?? {}) as { readonly plan?: { incident: string; continues: boolean } };
  return plan === undefined || plan.continues ? {} : { newIncident: plan.incident };
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

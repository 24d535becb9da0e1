/** The form of a new lockdown. Its plan is the dry run of the command, and follows the choices. */
import { Button, ExpandableSection, Form, Spinner } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type ContextRead, query, useFacts, useRead } from '../api.ts';
import { ChoiceFields } from '../choices.tsx';
import { NameField, TextField } from '../fields.tsx';
import { GuardFields, guardsOf, SavePlan } from '../guards.tsx';
import { Failure, Message, Panel } from '../parts.tsx';
import {
  type Draft,
  EMPTY,
  type KnownTheft,
  namesIn,
  plannedId,
  requestOf,
  usePlan,
} from './lockdown-draft.ts';
import { RescueField, Subject } from './lockdown-fields.tsx';
import { PlanView } from './lockdown-plan.tsx';
import { RightsMessage, TheftRefused } from './lockdown-refused.tsx';
import './lockdown.css';
import { AccountFields, useBegin } from '../begin.tsx';

interface FormProps {
  readonly place: string;
  /** The prefilled name; for a theft, the chosen account. */
  readonly user: string;
  readonly theft?: KnownTheft | undefined;
  /** The other contexts of the same controller. */
  readonly others: readonly string[];
  /** The input made earlier, in another of them. */
  readonly draft?: Draft | undefined;
  /** Switches to another of them, keeping the input. */
  readonly onSwitch: (place: string, held: Draft) => void;
}

/** The form, once the context's capabilities are known: they decide the initial choices, which then stay. */
export function LockdownForm(props: FormProps): ReactNode {
  const { place } = props;
  const context = useRead<ContextRead>(query('/api/overview', { place }));
  return (
    <Panel label="New lockdown" title="Lock down">
      {context.data !== undefined ? (
        <PossibleForm {...props} context={context.data} />
      ) : context.error !== null ? (
        <Message variant="danger" title={context.error.message} />
      ) : (
        <>
          <Spinner size="md" aria-label="Reading" /> Reading what the context {place} can do.
        </>
      )}
    </Panel>
  );
}

type LoadedProps = FormProps & { readonly context: ContextRead };

/** For a theft that the account may not lock down, its alternatives; otherwise the full form. */
function PossibleForm(props: LoadedProps): ReactNode {
  const { place, user, theft, context } = props;
  const refusal = context.lockdownRefusal;
  if (theft === undefined || refusal === null) return <LoadedForm {...props} />;
  return <TheftRefused {...{ place, user, theft, refusal }} />;
}

/** Updates the plan with each choice; it is the dry run of the command. */
function LoadedForm(props: LoadedProps): ReactNode {
  const { place, user, theft, context, onSwitch } = props;
  const { forms } = useFacts();
  const fields = forms['incident lockdown'];
  const [draft, setDraft] = useState<Draft>(
    props.draft ?? { ...EMPTY, names: user, ...theft?.known, scope: theft?.scope ?? 'user' },
  );
  const set = (some: Partial<Draft>) => setDraft((before) => ({ ...before, ...some }));
  const { scope, names, choices, account, guards, since } = draft;
  const { credential, lockdownRefusal: refusal } = context;
  const gaps = useGaps(props, (other, measure) =>
    onSwitch(other, { ...draft, choices: { ...choices, [measure]: true } }),
  );
  const begin = useBegin();
  const { request, defaults, deactivates, isBasicOff, taken } = requestOf({
    ...{ ...draft, place, fields, picked: theft && user },
    gaps: context.measureGaps,
  });
  const isWhole = request !== null;
  const planned = usePlan(request === null || refusal !== null ? null : { ...request, ...guardsOf(guards) });
  const isReady = isWhole && refusal === null && !begin.isPending;
  const whole = {
    ...{ ...request, ...guardsOf(guards), ...account, ...plannedId(planned.data) },
    ...(theft !== undefined && { theft: theftOf(theft, since) }),
  };
  const savePlan = (
    <SavePlan isDisabled={!isReady} onSave={(planOut) => begin.mutate({ ...whole, planOut })} />
  );
  // If no second person has to approve, files only get in the way of stopping a theft.
  const isSavedLater = theft !== undefined && context.approval.approvers.length === 0;
  return (
    <Form className="lockdown" onSubmit={(event) => event.preventDefault()}>
      {refusal !== null && <RightsMessage refusal={refusal} />}
      <div className="fields">
        <Subject {...{ place, draft, set, theft }} />
        <div className="pair account">
          <AccountFields account={account} onChange={(account) => set({ account })} />
        </div>
        {isBasicOff && credential === 'password' && (
          <RescueField value={draft.rescueToken} onChange={(rescueToken) => set({ rescueToken })} />
        )}
        <Measures
          // The plan of a theft says in a line what is done.
          taken={theft === undefined ? taken : null}
          isWide={scope === 'all' || scope === 'identityProvider'}
        >
          <ChoiceFields
            fields={fields}
            choices={choices}
            defaults={defaults}
            scope={scope}
            gaps={gaps}
            onChange={(choices) => set({ choices })}
          />
          {deactivates && (
            <NameField
              id="keep-active"
              label="Users that stay active, separated by commas"
              kind="users"
              place={place}
              value={draft.keepActive}
              onChange={(keepActive) => set({ keepActive })}
            />
          )}
          <TextField
            id="hours"
            label="Duration in hours (empty: until it is lifted)"
            type="number"
            min={1}
            value={draft.hours}
            onChange={(hours) => set({ hours })}
          />
          {isSavedLater && savePlan}
        </Measures>
        <GuardFields rule={context.approval} guards={guards} onChange={(guards) => set({ guards })} />
      </div>
      <div className="plan stacked">
        {!isWhole && refusal === null && <p>Enter a user or an application to see the plan.</p>}
        <PlanView place={place} planned={planned} isShort={theft !== undefined}>
          {theft === undefined && (
            <InvestigateFirst place={place} names={scope === 'user' ? namesIn(names) : []} />
          )}
        </PlanView>
      </div>
      <div className="begin">
        <Failure error={begin.error} />
        <BeginButton
          refusal={refusal}
          isReady={isReady}
          isPending={begin.isPending}
          onBegin={() => begin.mutate(whole)}
        />
        {!isSavedLater && savePlan}
      </div>
    </Form>
  );
}

/** The known facts of a theft, in the form of the request. */
function theftOf({ token, of }: KnownTheft, since: string): object {
  const at = new Date(since);
  return {
    ...(token !== null && { token }),
    ...(!Number.isNaN(at.getTime()) && { since: at.toISOString() }),
    ...(of !== undefined && { of }),
  };
}

/** The measures, folded under those that will be taken if these are the usual ones. */
function Measures(props: {
  /** Null if that is said elsewhere. */
  readonly taken: readonly string[] | null;
  /** Whether it affects more than named users or applications: each measure should then be checked. */
  readonly isWide: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const { taken, isWide, children } = props;
  const [chosen, setOpen] = useState<boolean | null>(null);
  const isOpen = chosen ?? isWide;
  const also = taken?.length === 0 ? 'only ends tokens and sessions' : taken?.join('; ');
  const closed = also === undefined ? 'Change the measures' : `Measures: ${also}. Change…`;
  return (
    <ExpandableSection
      toggleText={isOpen ? 'Measures' : closed}
      isExpanded={isOpen}
      onToggle={(_event, value) => setOpen(value)}
    >
      <div className="stacked">{children}</div>
    </ExpandableSection>
  );
}

/** Why measures are impossible in the context, by member, each with the context that allows it. */
function useGaps(
  { others, context }: Pick<FormProps, 'others'> & { context: ContextRead },
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

/** The button that begins the lockdown, with the reason if it cannot begin. */
function BeginButton(props: {
  readonly refusal: ContextRead['lockdownRefusal'];
  readonly isReady: boolean;
  readonly isPending: boolean;
  readonly onBegin: () => void;
}): ReactNode {
  const { refusal, isReady, isPending, onBegin } = props;
  const { readOnly } = useFacts();
  if (readOnly)
    return <p className="hint">This console is read-only: it can show the plan, but not run the lockdown.</p>;
  return (
    <div>
      <Button
        variant="danger"
        isDisabled={!isReady}
        isLoading={isPending}
        {...(refusal !== null && { 'aria-describedby': 'lock-down-refusal' })}
        onClick={onBegin}
      >
        Lock down…
      </Button>
      {refusal !== null && (
        <p id="lock-down-refusal" className="hint">
          Not possible. {refusal.message}
        </p>
      )}
    </div>
  );
}

/** Leads to a user's actions, for people who are not sure yet. */
function InvestigateFirst({ place, names: [name, ...others] }: { place: string; names: readonly string[] }) {
  if (name === undefined || others.length > 0) return null;
  return (
    <p>
      Not sure yet? <Link to={query('/investigation', { place, user: name })}>Investigate {name} first</Link>.
      An investigation changes nothing.
    </p>
  );
}

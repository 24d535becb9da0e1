/** Plans the revocation of selected tokens, or of all that match a filter. */

import { Button, Form, FormGroup, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { type ContextRead, call, type Ended, query, useFacts, useRead } from '../api.ts';
import { type Account, AccountFields, ProblemAlert, useBegin } from '../begin.tsx';
import { ChoiceFields, type Choices } from '../choices.tsx';
import { CommandLine } from '../commands.tsx';
import { Report } from '../document.tsx';
import { GuardFields, guardsOf, noGuards, SavePlan } from '../guards.tsx';
import { Failure } from '../parts.tsx';
import { criterionText } from './token-filters.tsx';
import type { Row } from './token-rows.tsx';

interface RevokeProps {
  /** The contexts whose tokens are shown. */
  readonly places: readonly string[];
  readonly filter: Readonly<Record<string, string>>;
  readonly total: number;
  readonly selected: readonly Row[];
  /** Whether more may follow: their current number would look like the total. */
  readonly isReading: boolean;
}

export function RevokeButton(props: RevokeProps): ReactNode {
  const { filter, total, selected, isReading } = props;
  // The button that would revoke the whole list is not emphasized: only manually selected tokens are.
  const isNarrowed = Object.keys(filter).some((name) => name !== 'place');
  const [isOpen, setOpen] = useState(false);
  const text =
    selected.length > 0
      ? `Revoke ${numberText(selected.length)} selected…`
      : isReading
        ? 'Revoke all…'
        : total === 1
          ? 'Revoke it…'
          : `Revoke all ${numberText(total)}…`;
  return (
    <>
      <Button
        variant={selected.length > 0 ? 'danger' : 'secondary'}
        isDanger={selected.length === 0 && isNarrowed}
        onClick={() => setOpen(true)}
      >
        {text}
      </Button>
      {isOpen && <RevokeDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

/** What to revoke and how, with the plan. */
export function RevokeDialog(props: RevokeProps & { readonly onClose: () => void }): ReactNode {
  const { places, filter, total, selected, isReading, onClose } = props;
  const { readOnly, forms } = useFacts();
  const meant =
    selected.length > 0
      ? [...new Set(selected.map(({ place }) => place))]
      : filter['place']
        ? [filter['place']]
        : places;
  const [place, setPlace] = useState(meant[0] ?? '');
  const [account, setAccount] = useState<Account>({ reason: '', ticket: '' });
  const [choices, setChoices] = useState<Choices>({});
  const [guards, setGuards] = useState(noGuards);
  const context = useRead<ContextRead>(query('/api/overview', { place }));
  const gaps = context.data?.revocationGaps ?? {};
  const begin = useBegin();
  const { place: _place, ...criteria } = filter;
  const request = {
    kind: 'tokens revoke',
    place,
    ...account,
    ...(selected.length > 0
      ? { ids: selected.filter((row) => row.place === place).map(({ id }) => id) }
      : { filter: criteria }),
    ...Object.fromEntries(Object.entries(choices).filter(([name]) => gaps[name] === undefined)),
    ...guardsOf(guards),
  };
  const plan = useMutation({
    mutationFn: (body: object) => call<Ended & { readonly command: string }>('/api/plans', { body }),
  });
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="revoke-title">
      <ModalHeader title="Revoke tokens" labelId="revoke-title" />
      <ModalBody tabIndex={0} aria-label="What to revoke">
        <Form>
          {meant.length > 1 && (
            <FormGroup label="Context" fieldId="place">
              <Choice id="place" value={place} options={meant} onChange={setPlace} />
            </FormGroup>
          )}
          <Meant
            selected={selected.filter((row) => row.place === place)}
            total={total}
            isReading={isReading}
            isAll={selected.length === 0}
            place={meant.length > 1 ? place : null}
          />
          {selected.length === 0 && <ChosenBy filter={criteria} />}
          <ChoiceFields fields={forms['tokens revoke']} choices={choices} onChange={setChoices} gaps={gaps} />
          <AccountFields account={account} onChange={setAccount} />
          <GuardFields rule={context.data?.approval} guards={guards} onChange={setGuards} />
          <SavePlan
            isDisabled={begin.isPending}
            onSave={(planOut) => begin.mutate({ ...request, planOut }, { onSuccess: onClose })}
          />
        </Form>
        <Failure error={plan.error ?? begin.error} />
        {plan.data !== undefined && (
          <>
            {plan.data.failure !== null && <ProblemAlert problem={plan.data.failure} />}
            <Report ended={plan.data} label="Plan" />
            <CommandLine command={plan.data.command} />
          </>
        )}
      </ModalBody>
      <ModalFooter>
        {readOnly ? (
          <Button onClick={() => plan.mutate(request)} isLoading={plan.isPending} isDisabled={plan.isPending}>
            Show the plan
          </Button>
        ) : (
          <Button
            variant="primary"
            isLoading={begin.isPending}
            isDisabled={begin.isPending}
            onClick={() => begin.mutate(request, { onSuccess: onClose })}
          >
            Plan
          </Button>
        )}
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

/** The criteria that selected the tokens. */
function ChosenBy({ filter }: { filter: Readonly<Record<string, string>> }): ReactNode {
  const texts = Object.entries(filter).map(([name, value]) => criterionText(name, value));
  return <p className="hint">{texts.length === 0 ? 'No filter: all tokens.' : texts.join('; ')}</p>;
}

/** The maximum number of tokens to name. */
const MOST_NAMED = 20;

/** The subject of the plan, before it is made: the tokens by id and owner, or the number of matches. */
function Meant(props: {
  readonly selected: readonly Row[];
  readonly total: number;
  readonly isReading: boolean;
  readonly isAll: boolean;
  /** The context, if there are several. */
  readonly place: string | null;
}): ReactNode {
  const { selected, total, isReading, isAll, place } = props;
  const where = place === null ? '' : ` in ${place}`;
  if (isAll) {
    return (
      <p>
        {numberText(total)} {total === 1 ? 'token matches' : 'tokens match'}
        {isReading && ' so far; more are being read'}
        {place === null ? '' : `, in all contexts. The plan is for those in ${place}`}.
      </p>
    );
  }
  const named = selected
    .slice(0, MOST_NAMED)
    .map(({ id, user }) => `token ${id} of ${user?.username ?? 'a deleted user'}`);
  const more = selected.length - named.length;
  return (
    <p>
      {numberText(selected.length)} {selected.length === 1 ? 'token' : 'tokens'}
      {where}: {named.join(', ')}
      {more > 0 && ` and ${numberText(more)} more`}.
    </p>
  );
}

/** The decisions of a list together: a reason, asked once, and one button for the plan of all of them. */

import { Button, Form } from '@patternfly/react-core';
import { countText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useRef, useState } from 'react';
import { useFacts } from '../api.ts';
import { AccountFields, useBegin } from '../begin.tsx';
import type { ChosenPlace } from '../controller.tsx';
import { TextField } from '../fields.tsx';
import { Failure } from '../parts.tsx';
import { accountOf, type CaseRead, type Item, sentence } from './case-stages.ts';
import { chosenFate, DECIDE_FORM, type Fate, type Fates, fatesOf, type Receivers } from './item-fates.tsx';

/** The question for each kind, with the member of the request. */
const QUESTIONS = [
  { fate: 'legitimate', member: 'legitimate', why: 'Why it is legitimate' },
  { fate: 'by_hand', member: 'byHand', why: 'How it was resolved' },
  { fate: 'handed_over', member: 'handedOver', why: 'Why others decide' },
] as const;

/** The text of each kind on the button. */
const ACTS: readonly (readonly [Fate, (count: number) => string])[] = [
  ['end', (count) => `end ${count}`],
  ['legitimate', (count) => `keep ${count} as legitimate`],
  ['by_hand', (count) => `mark ${count} as resolved manually`],
  ['handed_over', (count) => `reassign ${count}`],
];

const MAX_REASON = 1000;

/** Why no cleaning can end any of these, so that others decide; empty if one could. */
function groundOf(items: readonly Item[]): string {
  const grounds = items.map(({ notCleanable }) => notCleanable);
  return grounds.includes(null) ? '' : [...new Set(grounds)].join(' ').slice(0, MAX_REASON);
}

export function Decide(props: {
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
  readonly name: string;
  readonly items: readonly Item[];
  readonly rows: readonly Item[];
  readonly fates: Fates;
  readonly receivers: Receivers;
  /** Whether the plan was requested although something was missing. */
  readonly isTried: boolean;
  readonly onTry: (isMissing: boolean) => void;
  readonly onChoose: (items: readonly Item[], fate: Fate) => void;
}): ReactNode {
  const { read, chosen, name, items, rows, fates, receivers, isTried, onTry, onChoose } = props;
  const { requireReason, requireTicket } = useFacts();
  const form = useRef<HTMLFormElement>(null);
  const [typed, setTyped] = useState<Readonly<Partial<Record<Fate, string>>>>({});
  const [account, setAccount] = useState(accountOf(read));
  const [isAsked] = useState(
    (requireReason && account.reason === '') || (requireTicket && account.ticket === ''),
  );
  const begin = useBegin();
  const byFate = Map.groupBy(items, (item) => chosenFate(item, fates));
  const idsOf = (fate: Fate) => (byFate.get(fate) ?? []).map(({ id }) => id);
  const asked = QUESTIONS.filter(({ fate }) => byFate.has(fate));
  const handed = byFate.get('handed_over') ?? [];
  const why = (fate: Fate) => typed[fate] ?? (fate === 'handed_over' ? groundOf(handed) : '');
  const to = ({ id }: Item) => (receivers.get(id) ?? '').trim();
  const isMissing =
    [...asked.map(({ fate }) => why(fate)), ...handed.map(to)].some((text) => text.trim() === '') ||
    (requireReason && account.reason.trim() === '') ||
    (requireTicket && account.ticket.trim() === '');
  const acts = ACTS.flatMap(([fate, text]) => (byFate.has(fate) ? [text(idsOf(fate).length)] : []));
  const isOpen = (item: Item) => item.remains && chosenFate(item, fates) === null;
  const open = items.filter(isOpen).length;
  // Items that may be another user's are ended only if named, as on the command line.
  const endable = rows.filter(
    (item) => isOpen(item) && !item.takesNaming && fatesOf(item).some(([fate]) => fate === 'end'),
  );
  const request = () => ({
    kind: 'incident clean',
    place: chosen.place,
    incident: read.incident.id,
    investigation: name,
    ...(byFate.has('end') && { items: idsOf('end') }),
    ...(asked.length > 0 && {
      decided: Object.fromEntries(
        asked.map(({ fate, member }) => [
          member,
          fate === 'handed_over'
            ? [...Map.groupBy(handed, to)].map(([receiver, some]) => ({
                items: some.map(({ id }) => id),
                ...{ to: receiver, reason: why(fate) },
              }))
            : { items: idsOf(fate), reason: why(fate) },
        ]),
      ),
    }),
    ...(chosen.restContext !== undefined && { restContext: chosen.restContext }),
    ...account,
  });
  const field = (id: string, label: string, value: string, onChange: (text: string) => void) => (
    <TextField
      key={id}
      {...{ id, label, value, onChange }}
      isRequired
      maxLength={MAX_REASON}
      validated={isTried && value.trim() === '' ? 'error' : 'default'}
    />
  );
  return (
    <Form
      ref={form}
      id={DECIDE_FORM}
      className="decide"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onTry(isMissing);
        if (!isMissing) begin.mutate(request());
        else {
          // Includes the fields of the rows, in page order.
          const fields = [...(form.current?.elements ?? [])];
          const empty = fields.find(
            (each): each is HTMLInputElement =>
              each instanceof HTMLInputElement && each.required && each.value.trim() === '',
          );
          empty?.focus({ preventScroll: true });
          // The sticky bar at the bottom would cover it.
          empty?.scrollIntoView({ block: 'center' });
        }
      }}
    >
      {asked.map(({ fate, why: label }) =>
        field(`decide-${fate}`, label, why(fate), (text) => setTyped({ ...typed, [fate]: text })),
      )}
      {isAsked && <AccountFields account={account} onChange={setAccount} name="decide" />}
      <Failure error={begin.error} />
      <div className="decide-bar">
        <Button
          type="submit"
          variant={byFate.has('end') ? 'danger' : 'primary'}
          isDisabled={acts.length === 0 || begin.isPending}
          isLoading={begin.isPending}
        >
          {acts.length === 0 ? 'Choose an action' : `${sentence(acts.join(', '))}…`}
        </Button>
        {isTried && isMissing && <span role="alert">Fill in the highlighted fields.</span>}
        {acts.length > 0 && open > 0 && <span>{countText(open, 'item')} not decided</span>}
        {endable.length > 1 && (
          <Button variant="link" isInline onClick={() => onChoose(endable, 'end')}>
            End all {endable.length} that were recorded
          </Button>
        )}
      </div>
    </Form>
  );
}

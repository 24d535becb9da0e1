/** What the choices of a list do together: why, asked once, and one button to the plan of all of it. */
import { Button, Form, FormGroup, TextInput } from '@patternfly/react-core';
import { type ReactNode, useRef, useState } from 'react';
import { countText } from '../shared/times.tsx';
import { useFacts } from './api.ts';
import { accountOf, type CaseRead, type Item, sentence } from './case-stages.ts';
import type { ChosenPlace } from './controller.tsx';
import { chosenFate, type Fate, type Fates, fatesOf } from './item-fates.tsx';
import { AccountFields, useBegin } from './operation.tsx';
import { Message } from './parts.tsx';

/** What is asked of each kind, with the member of the request. */
const QUESTIONS = [
  { fate: 'honest', member: 'honest', why: 'Why it is honest work' },
  { fate: 'by_hand', member: 'byHand', why: 'What was done by hand' },
  { fate: 'handed_over', member: 'handedOver', why: 'Why others decide' },
] as const;

/** The kinds in the words of the button. */
const ACTS: readonly (readonly [Fate, (count: number) => string])[] = [
  ['end', (count) => `end ${count}`],
  ['honest', (count) => `keep ${count} as honest`],
  ['by_hand', (count) => `mark ${count} as done by hand`],
  ['handed_over', (count) => `hand ${count} over`],
];

const MAX_REASON = 1000;
const MAX_NAME = 200;

export function Decide(props: {
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
  /** The name of the investigation in the case. */
  readonly name: string;
  readonly items: readonly Item[];
  /** Those that are shown. */
  readonly rows: readonly Item[];
  readonly fates: Fates;
  readonly onChoose: (items: readonly Item[], fate: Fate) => void;
}): ReactNode {
  const { read, chosen, name, items, rows, fates, onChoose } = props;
  const { requireReason, requireTicket } = useFacts();
  const form = useRef<HTMLFormElement>(null);
  const [why, setWhy] = useState<Readonly<Record<string, string>>>({});
  const [to, setTo] = useState('');
  const [account, setAccount] = useState(accountOf(read));
  const [isTried, setTried] = useState(false);
  const begin = useBegin();
  const byFate = Map.groupBy(items, (item) => chosenFate(item, fates));
  const idsOf = (fate: Fate) => (byFate.get(fate) ?? []).map(({ id }) => id);
  const asked = QUESTIONS.filter(({ fate }) => byFate.has(fate));
  const isHanding = byFate.has('handed_over');
  const texts = [...asked.map(({ fate }) => why[fate] ?? ''), ...(isHanding ? [to] : [])];
  const isMissing = texts.some((text) => text.trim() === '');
  const acts = ACTS.flatMap(([fate, text]) => (byFate.has(fate) ? [text(idsOf(fate).length)] : []));
  const isOpen = (item: Item) => item.remains && chosenFate(item, fates) === null;
  const open = items.filter(isOpen).length;
  const endable = rows.filter((item) => isOpen(item) && fatesOf(item).some(([fate]) => fate === 'end'));
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
          { items: idsOf(fate), reason: why[fate] ?? '', ...(fate === 'handed_over' && { to }) },
        ]),
      ),
    }),
    ...(chosen.restContext !== undefined && { restContext: chosen.restContext }),
    ...account,
  });
  const field = (id: string, label: string, value: string, onChange: (text: string) => void) => (
    <FormGroup key={id} label={label} fieldId={id} isRequired>
      <TextInput
        id={id}
        value={value}
        isRequired
        maxLength={id === 'decide-to' ? MAX_NAME : MAX_REASON}
        validated={isTried && value.trim() === '' ? 'error' : 'default'}
        onChange={(_event, text) => onChange(text)}
      />
    </FormGroup>
  );
  return (
    <Form
      ref={form}
      className="decide"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(isMissing);
        if (!isMissing) begin.mutate(request());
        else {
          const fields = [...(form.current?.querySelectorAll('input') ?? [])];
          const empty = fields.find(({ value }) => value.trim() === '');
          empty?.focus();
          // The bar that sticks below would cover it.
          empty?.scrollIntoView({ block: 'center' });
        }
      }}
    >
      {asked.flatMap(({ fate, why: label }) => [
        ...(fate === 'handed_over' ? [field('decide-to', 'Who decides: a person or a team', to, setTo)] : []),
        field(`decide-${fate}`, label, why[fate] ?? '', (text) => setWhy({ ...why, [fate]: text })),
      ])}
      {((requireReason && account.reason === '') || (requireTicket && account.ticket === '')) && (
        <AccountFields account={account} onChange={setAccount} name="decide" />
      )}
      {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
      <div className="decide-bar">
        <Button
          type="submit"
          variant={byFate.has('end') ? 'danger' : 'primary'}
          isDisabled={acts.length === 0 || begin.isPending}
          isLoading={begin.isPending}
        >
          {acts.length === 0 ? 'Choose what becomes of each' : `${sentence(acts.join(', '))}…`}
        </Button>
        {isTried && isMissing && <span role="alert">Fill in the fields above.</span>}
        {acts.length > 0 && open > 0 && <span>{countText(open, 'item')} not decided</span>}
        {endable.length > 1 && (
          <Button variant="link" isInline onClick={() => onChoose(endable, 'end')}>
            End all {endable.length} possible
          </Button>
        )}
      </div>
    </Form>
  );
}

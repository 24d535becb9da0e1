/** The decision about an item of an investigation: chosen in its row, or undone there. */
import { Button, TextInput } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import type { ReactNode } from 'react';
import { call, type Ended, useFacts } from '../api.ts';
import type { ChosenPlace } from '../controller.tsx';
import { accountOf, type CaseRead, type Item } from './case-stages.ts';
import { StateLabel } from './item-details.tsx';

/** The choices for an item: end it, or a mark. */
export type Fate = 'end' | 'legitimate' | 'by_hand' | 'handed_over';

/** The choices, by item id. */
export type Fates = ReadonlyMap<string, Fate>;

/** Who decides about reassigned items, by item id. */
export type Receivers = ReadonlyMap<string, string>;

const MAX_NAME = 200;

/** The id of the form for the choices: the fields of the rows are outside of it. */
export const DECIDE_FORM = 'decide-form';

const SAID = [
  ['legitimate', 'Legitimate'],
  ['by_hand', 'Resolved manually'],
  ['handed_over', 'Reassign'],
] as const;

/** The action of a cleaning, in the words of its row. */
const ENDINGS: Readonly<Record<NonNullable<Item['ending']>['act'], string>> = {
  ...{ delete: 'Delete', restore: 'Restore', cancel: 'Cancel', rename: 'Rename' },
  ...{ disable: 'Disable', enable: 'Enable' },
  ...{ unassign: 'Take away', disassociate: 'Take away', assign: 'Give back', associate: 'Give back' },
};

function endingText({ kind, ending }: Item): string {
  if (ending === null) return '';
  const verb = ending.act === 'disable' && kind === 'user' ? 'Deactivate' : ENDINGS[ending.act];
  return ending.isForGood ? `${verb} for good` : verb;
}

/** The possible choices for an item; none for a decided one. */
export function fatesOf(item: Item): readonly (readonly [Fate, string])[] {
  const { remains, ending, fate, mark } = item;
  if (remains) return [...(ending === null ? [] : [['end', endingText(item)] as const]), ...SAID];
  return fate === 'over' && mark === null ? [['legitimate', 'Legitimate']] : [];
}

/** The choice for an item, if it is still possible. */
export function chosenFate(item: Item, fates: Fates): Fate | null {
  const fate = fates.get(item.id);
  return fate !== undefined && fatesOf(item).some(([each]) => each === fate) ? fate : null;
}

/** The mark that counts now; null without one. */
function markOf({ fate, mark }: Item): Exclude<Fate, 'end'> | null {
  if (fate === 'by_hand' || fate === 'handed_over') return fate;
  return mark === null ? null : 'legitimate';
}

type MarkProps = {
  readonly item: Item;
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
  /** Called before it is undone. */
  readonly onUndo: () => void;
};

/** Undoes an item's mark; shows nothing without one. */
export function UndoMark({ item, read, chosen, onUndo }: MarkProps): ReactNode {
  const { requireReason, requireTicket } = useFacts();
  const queries = useQueryClient();
  const as = markOf(item);
  const { reason, ticket } = accountOf(read);
  const undo = useMutation({
    mutationFn: () =>
      call<Ended>('/api/case/marks', {
        body: {
          ...{ place: chosen.place, incident: read.incident.id, items: [item.id], as, undo: true },
          ...((requireTicket || ticket !== '') && { ticket }),
          ...(requireReason && { reason }),
        },
      }),
    onSettled: () => queries.invalidateQueries(),
  });
  if (as === null) return null;
  return (
    <>
      <Button
        variant="link"
        isInline
        aria-label={`Remove the mark from: ${item.summary}`}
        isDisabled={undo.isPending}
        onClick={() => {
          onUndo();
          undo.mutate();
        }}
      >
        Undo
      </Button>
      {undo.error !== null && <p className="problem">{undo.error.message}</p>}
    </>
  );
}

/** The first cell of a row: the choice for the item, or its result. */
export function FateCell({
  fates,
  receivers,
  isTried,
  onChoose,
  onReceiver,
  ...props
}: MarkProps & {
  fates: Fates;
  receivers: Receivers;
  /** Whether the plan was requested: missing input is then marked. */
  isTried: boolean;
  onChoose: (fate: Fate | null) => void;
  onReceiver: (to: string) => void;
}): ReactNode {
  const { item } = props;
  const { readOnly } = useFacts();
  const options = fatesOf(item);
  if (readOnly || options.length === 0) {
    return (
      <>
        <StateLabel item={item} isShort /> {!readOnly && <UndoMark {...props} />}
      </>
    );
  }
  const fate = chosenFate(item, fates);
  const to = receivers.get(item.id) ?? '';
  return (
    <>
      <Choice<Fate>
        className="fate"
        aria-label={`Action for: ${item.summary}`}
        value={fate ?? ('' as Fate)}
        options={[['', item.remains ? 'Choose…' : item.stateText], ...options]}
        onChange={(chosen) => onChoose((chosen as string) === '' ? null : chosen)}
      />
      {fate === 'handed_over' && (
        <TextInput
          className="fate"
          aria-label={`Assignee of: ${item.summary}`}
          placeholder="Assignee"
          value={to}
          isRequired
          maxLength={MAX_NAME}
          form={DECIDE_FORM}
          validated={isTried && to.trim() === '' ? 'error' : 'default'}
          onChange={(_event, text) => onReceiver(text)}
        />
      )}
    </>
  );
}

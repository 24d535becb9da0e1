/** What people say of an item of an investigation: how it is said, and how it is taken back. */
import {
  Button,
  Checkbox,
  Form,
  FormGroup,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  TextInput,
} from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call, type Ended } from './api.ts';
import { accountOf, type CaseRead, type Item } from './case-stages.ts';
import type { ChosenPlace } from './controller.tsx';
import { Message } from './parts.tsx';

interface Said {
  readonly items: readonly string[];
  readonly as: 'honest' | 'by_hand' | 'handed_over';
  readonly undo: boolean;
  /** Who decides about what is handed over, and why. */
  readonly to?: string;
  readonly reason?: string;
}

/** Records in the audit log what somebody says of items, with the account of the incident. */
export function useMark({ read, chosen }: { readonly read: CaseRead; readonly chosen: ChosenPlace }) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (said: Said) =>
      call<Ended>('/api/case/marks', {
        body: { place: chosen.place, incident: read.incident.id, ...accountOf(read), ...said },
      }),
    onSettled: () => queries.invalidateQueries(),
  });
}

type Mark = ReturnType<typeof useMark>;

/** The mark that counts now; null without one. */
function markOf({ fate, mark }: Item): Said['as'] | null {
  if (fate === 'by_hand' || fate === 'handed_over') return fate;
  return mark === null ? null : 'honest';
}

const SAID = {
  honest: 'Marked as honest work.',
  by_hand: 'Marked as done by hand.',
  handed_over: 'Marked as handed over.',
} as const;

interface MarkProps {
  readonly item: Item;
  readonly mark: Mark;
  /** Called before something is said. */
  readonly onSay: () => void;
  readonly onHandOver: () => void;
}

/** What can be said of an item in its row. A mark that was set says so, and can be taken back there. */
export function MarkCell({ item, mark, onSay, onHandOver }: MarkProps): ReactNode {
  const { id, summary, remains } = item;
  const set = markOf(item);
  // A box is not disabled meanwhile: the keyboard would lose its place.
  const say = (as: Said['as'], undo: boolean) => {
    if (mark.isPending) return;
    onSay();
    mark.mutate({ items: [id], as, undo });
  };
  return (
    <div className="marks">
      {(set === null || set === 'honest') && (
        <Checkbox
          id={`honest ${id}`}
          label="Honest"
          aria-label={`Honest work: ${summary}`}
          isChecked={set === 'honest'}
          onChange={(_event, isHonest) => say('honest', !isHonest)}
        />
      )}
      {(remains || set === 'by_hand') && (
        <Checkbox
          id={`by hand ${id}`}
          label="Done by hand"
          aria-label={`Done by hand: ${summary}`}
          isChecked={set === 'by_hand'}
          onChange={(_event, isHandled) => say('by_hand', !isHandled)}
        />
      )}
      {remains && (
        <Button
          variant="link"
          isInline
          aria-label={`Hand over: ${summary}`}
          isDisabled={mark.isPending}
          onClick={onHandOver}
        >
          Hand over…
        </Button>
      )}
      {set !== null && (
        <p className="hint">
          {SAID[set]}{' '}
          <Button
            variant="link"
            isInline
            aria-label={`Undo the mark of: ${summary}`}
            isDisabled={mark.isPending}
            onClick={() => say(set, true)}
          >
            Undo
          </Button>
        </p>
      )}
    </div>
  );
}

/** The same in the dialog of an item. */
export function MarkButtons({ item, mark, onSay, onHandOver }: MarkProps): ReactNode {
  const set = markOf(item);
  const button = (text: string, onClick: () => void) => (
    <Button key={text} variant="secondary" isDisabled={mark.isPending} onClick={onClick}>
      {text}
    </Button>
  );
  const say = (as: Said['as'], undo: boolean) => {
    onSay();
    mark.mutate({ items: [item.id], as, undo });
  };
  const handOver = () => {
    onSay();
    onHandOver();
  };
  if (set !== null) return button('Undo the mark', () => say(set, true));
  return [
    button('Mark as honest work', () => say('honest', false)),
    ...(item.remains
      ? [button('Mark as done by hand', () => say('by_hand', false)), button('Hand over…', handOver)]
      : []),
  ];
}

/** Asks who decides about an item, and why. */
export function HandOverDialog({
  item,
  mark,
  onClose,
}: {
  readonly item: Item;
  readonly mark: Mark;
  readonly onClose: () => void;
}): ReactNode {
  const [to, setTo] = useState('');
  const [reason, setReason] = useState('');
  const isReady = to.trim() !== '' && reason.trim() !== '' && !mark.isPending;
  return (
    <Modal
      isOpen
      variant="small"
      elementToFocus="#hand-over-to"
      onClose={onClose}
      aria-labelledby="hand-over-title"
    >
      <ModalHeader title="Hand over an item" labelId="hand-over-title" />
      <ModalBody tabIndex={0} aria-label="To whom, and why">
        <Form
          id="hand-over-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!isReady) return;
            const said = { items: [item.id], as: 'handed_over', undo: false, to: to.trim(), reason } as const;
            mark.mutate(said, { onSuccess: onClose });
          }}
        >
          <p>
            <strong>{item.summary}</strong>
          </p>
          <p>
            Somebody else decides about it. It stays as it is, the report lists it as handed over, and it does
            not keep the case open. Nobody is told by this: tell them yourself.
          </p>
          <FormGroup label="Who decides (a person or a team)" fieldId="hand-over-to" isRequired>
            <TextInput
              id="hand-over-to"
              value={to}
              maxLength={200}
              isRequired
              onChange={(_event, value) => setTo(value)}
            />
          </FormGroup>
          <FormGroup label="Why" fieldId="hand-over-why" isRequired>
            <TextInput
              id="hand-over-why"
              value={reason}
              maxLength={1000}
              isRequired
              onChange={(_event, value) => setReason(value)}
            />
          </FormGroup>
        </Form>
        {mark.error !== null && <Message isLiveRegion variant="danger" title={mark.error.message} />}
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form="hand-over-form" isDisabled={!isReady} isLoading={mark.isPending}>
          Hand it over
        </Button>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

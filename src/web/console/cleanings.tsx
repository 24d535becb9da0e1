/** The cleanings of a case: the way to the plan of one, and those that were made. */
import { Button, Form, Label, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { PlainTable } from '../shared/table.tsx';
import { useFacts } from './api.ts';
import { accountOf, type CaseRead } from './case-stages.ts';
import type { ChosenPlace } from './controller.tsx';
import { type Account, AccountFields, useBegin } from './operation.tsx';
import { END_COLORS, Message, When } from './parts.tsx';

/** Asks for the reason and the ticket, and goes on to the plan. */
export function CleanDialog(props: {
  readonly read: CaseRead;
  readonly title: string;
  readonly request: object;
  readonly onClose: () => void;
}): ReactNode {
  const { read, title, request, onClose } = props;
  const [account, setAccount] = useState<Account>(accountOf(read));
  const begin = useBegin();
  const plan = () => begin.mutate({ ...request, ...account }, { onSuccess: onClose });
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="clean-title">
      <ModalHeader title={title} labelId="clean-title" />
      <ModalBody tabIndex={0} aria-label="What to clean">
        <Form
          id="clean-form"
          onSubmit={(event) => {
            event.preventDefault();
            plan();
          }}
        >
          <p>
            Everything is investigated again, and the plan is shown. Nothing is changed before you confirm it.
          </p>
          <AccountFields account={account} onChange={setAccount} name="clean" />
        </Form>
        {begin.error !== null && <Message isLiveRegion variant="danger" title={begin.error.message} />}
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form="clean-form" isDisabled={begin.isPending} isLoading={begin.isPending}>
          Show the plan
        </Button>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

/** The cleanings that were made, to undo. */
export function Cleanings({
  read,
  chosen,
}: {
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
}): ReactNode {
  const { readOnly } = useFacts();
  const [undone, setUndone] = useState<string | null>(null);
  const made = read.runs.filter(({ operation }) => operation === 'incident.clean').toReversed();
  if (made.length === 0) return null;
  return (
    <>
      <h3>Cleanings</h3>
      <PlainTable
        label="Cleanings"
        rows={made}
        keyOf={({ run }) => run}
        columns={[
          { title: 'When', show: ({ at }) => <When at={at} /> },
          { title: 'What', show: ({ sentence }) => sentence },
          {
            title: 'How it ended',
            show: ({ state }) => (
              <Label color={END_COLORS[state] ?? 'grey'}>{state === 'partly' ? 'in part' : state}</Label>
            ),
          },
          ...(readOnly
            ? []
            : [
                {
                  title: 'Undo',
                  isAction: true as const,
                  show: ({ run }: { readonly run: string }) => (
                    <Button variant="link" isInline onClick={() => setUndone(run)}>
                      Undo…
                    </Button>
                  ),
                },
              ]),
        ]}
      />
      {undone !== null && (
        <CleanDialog
          read={read}
          title="Undo a cleaning"
          request={{
            kind: 'incident clean',
            place: chosen.place,
            incident: read.incident.id,
            undo: undone,
            ...(chosen.restContext !== undefined && { restContext: chosen.restContext }),
          }}
          onClose={() => setUndone(null)}
        />
      )}
    </>
  );
}

/** Adds existing resources to a list, such as users to a team or hosts to a group, and removes them. */
import { Button, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { callApi, problemText } from '@tokenctl/common/web/api.ts';
import { ApiForm } from '@tokenctl/common/web/form.tsx';
import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { type ReactNode, useState } from 'react';

export function AddMember(props: {
  /** The URL of the list, which accepts the id of the resource to add. */
  readonly path: string;
  /** The button's text, such as "Add member". */
  readonly title: string;
  /** The message afterwards. */
  readonly done: string;
  readonly choice: Pick<FormField, 'label' | 'collection' | 'listedIn' | 'shows'>;
}): ReactNode {
  const { path, title, done, choice } = props;
  const [isOpen, setOpen] = useState(false);
  const notify = useNotify();
  return (
    <>
      <Button onClick={() => setOpen(true)}>{title}</Button>
      <Modal isOpen={isOpen} variant="small" onClose={() => setOpen(false)} aria-labelledby="add-title">
        <ModalHeader title={title} labelId="add-title" />
        <ModalBody>
          <ApiForm
            fields={[{ name: 'id', kind: 'lookup', required: true, ...choice }]}
            initial={{ id: '' }}
            submitLabel={title}
            onCancel={() => setOpen(false)}
            send={async ({ id }) => {
              await callApi(path, { method: 'POST', body: { id: Number(id) } });
              notify(done);
              setOpen(false);
            }}
          />
        </ModalBody>
      </Modal>
    </>
  );
}

export function RemoveMember(props: {
  readonly path: string;
  readonly id: number;
  readonly name: string;
  /** The message afterwards. */
  readonly done: string;
}): ReactNode {
  const { path, id, name, done } = props;
  const queries = useQueryClient();
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await callApi(path, { method: 'POST', body: { id, disassociate: true } });
      notify(done);
    } catch (error) {
      notify(`${name} was not removed: ${problemText(error)}`, 'danger');
    }
    setBusy(false);
    await queries.invalidateQueries();
  };
  return (
    <Button
      variant="link"
      isInline
      isDisabled={isBusy}
      aria-label={`Remove ${name}`}
      onClick={() => void remove()}
    >
      Remove
    </Button>
  );
}

/** Whether users are active: the state on the pages, and the button that changes it. */
import { Alert, Button, Label, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { callApi, type Page, problemText, withQuery } from '@tokenctl/common/web/api.ts';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { type User, useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { createContext, type ReactNode, useContext, useState } from 'react';

/** The deactivated ones among some users; null while unknown. */
const Inactive = createContext<ReadonlySet<number> | null>(null);

/** The URL of the list of deactivated users. The API can filter by it, but does not show it, as on a controller. */
function inactivePath(ids: readonly number[]): string {
  return withQuery('/api/v2/users/', { is_active: false, id__in: ids.join(','), page_size: ids.length });
}

/** Reads which of these users are deactivated, for its children. */
export function InactiveUsers(props: {
  readonly users: readonly Pick<User, 'id'>[];
  readonly children: ReactNode;
}): ReactNode {
  const { users, children } = props;
  const { data } = useApi<Page<User>>(inactivePath(users.map(({ id }) => id)));
  const inactive = data === undefined ? null : new Set(data.results.map(({ id }) => id));
  return <Inactive value={inactive}>{children}</Inactive>;
}

export function UserState({ user }: { user: Pick<User, 'id'> }): ReactNode {
  const inactive = useContext(Inactive);
  if (inactive === null) return '';
  const isActive = !inactive.has(user.id);
  return (
    <Label isCompact {...(isActive ? { color: 'green' } : { status: 'warning' })}>
      {isActive ? 'Active' : 'Deactivated'}
    </Label>
  );
}

/** The first notice on a deactivated user's page; nothing for other users. */
export function InactiveNotice({ user }: { user: Pick<User, 'id' | 'username'> }): ReactNode {
  if (useContext(Inactive)?.has(user.id) !== true) return null;
  const title = `${user.username} is deactivated and cannot log in.`;
  return <Alert isInline variant="warning" component="p" className="page-notice" title={title} />;
}

/** Deactivates a user after a confirmation, or activates one. Only for superusers, and for other users. */
export function ActivationButton({ user }: { user: User }): ReactNode {
  const me = useMe();
  const inactive = useContext(Inactive);
  const [isOpen, setOpen] = useState(false);
  const { isBusy, change } = useActivation(user);
  if (!me.is_superuser || me.id === user.id || inactive === null) return null;
  if (inactive.has(user.id)) {
    return (
      <Button variant="secondary" isLoading={isBusy} isDisabled={isBusy} onClick={() => void change(true)}>
        Activate
      </Button>
    );
  }
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        Deactivate
      </Button>
      <Modal
        isOpen={isOpen}
        variant="small"
        onClose={() => setOpen(false)}
        aria-labelledby="deactivate-title"
      >
        <ModalHeader
          title={`Deactivate ${user.username}?`}
          titleIconVariant="warning"
          labelId="deactivate-title"
        />
        <ModalBody>
          The user can no longer log in, all sessions end, and tokens are rejected. Nothing is deleted: when
          the user is active again, the tokens work again.
        </ModalBody>
        <ModalFooter>
          <Button
            variant="danger"
            isLoading={isBusy}
            isDisabled={isBusy}
            onClick={() => void change(false).then(() => setOpen(false))}
          >
            Deactivate user
          </Button>
          <Button variant="link" isDisabled={isBusy} onClick={() => setOpen(false)}>
            Cancel
          </Button>
        </ModalFooter>
      </Modal>
    </>
  );
}

function useActivation(props: User) {
  const { id, username } = props;
  const notify = useNotify();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const change = async (isActive: boolean) => {
    setBusy(true);
    try {
      await callApi(`/api/v2/users/${id}/`, { method: 'PATCH', body: { is_active: isActive } });
      // A controller does not change the field, and answers 200.
      const { count } = await callApi<Page<User>>(inactivePath([id]));
      if ((count === 0) === isActive) notify(`${isActive ? 'Activated' : 'Deactivated'} ${username}.`);
      else
        notify(`${username} was not changed because this controller cannot do that over its API.`, 'danger');
    } catch (error) {
      notify(`${username} was not changed: ${problemText(error)}`, 'danger');
    }
    await queries.invalidateQueries();
    setBusy(false);
  };
  return { isBusy, change };
}

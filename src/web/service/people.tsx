/** The people with a role: list, adding and removing one. */
import { Button, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { callApi, problemText } from '../shared/api.ts';
import { ApiForm } from '../shared/form.tsx';
import { ResourceList } from '../shared/list.tsx';
import { useNotify } from '../shared/notices.tsx';
import type { User } from '../shared/queries.ts';
import { InactiveUsers, UserState } from './user-state.tsx';

const WITH_ARTICLE = {
  member: 'a member',
  administrator: 'an administrator',
  auditor: 'an auditor',
} as const;
type Noun = keyof typeof WITH_ARTICLE;

/** The users with a role in an organization or a team. */
export function People({
  mayEdit,
  path,
  noun,
}: {
  /** Whether this user may add and remove people. */
  readonly mayEdit: boolean;
  /** The collection of the users, which takes users to add and to remove. */
  readonly path: string;
  readonly noun: Noun;
}): ReactNode {
  return (
    <ResourceList<User>
      name={`${noun}s`}
      path={path}
      order="username"
      columns={[
        {
          title: 'Username',
          orderBy: 'username',
          show: ({ id, username }) => <Link to={`/users/${id}`}>{username}</Link>,
        },
        { title: 'State', show: (user) => <UserState user={user} /> },
        { title: 'First name', orderBy: 'first_name', show: ({ first_name }) => first_name },
        { title: 'Last name', orderBy: 'last_name', show: ({ last_name }) => last_name },
      ]}
      filters={[{ name: 'username__icontains', label: 'Username' }]}
      isWhole={mayEdit}
      around={(users, table) => <InactiveUsers users={users}>{table}</InactiveUsers>}
      actions={mayEdit && <AddPerson path={path} noun={noun} />}
      {...(mayEdit && {
        rowActions: (user: User) => <RemovePerson path={path} user={user} noun={noun} />,
      })}
    />
  );
}

function AddPerson({ path, noun }: { readonly path: string; readonly noun: Noun }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const notify = useNotify();
  const title = `Add ${noun}`;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{title}</Button>
      <Modal isOpen={isOpen} variant="small" onClose={() => setOpen(false)} aria-labelledby="add-title">
        <ModalHeader title={title} labelId="add-title" />
        <ModalBody>
          <ApiForm
            fields={[
              {
                name: 'id',
                label: 'User',
                kind: 'lookup',
                collection: '/api/v2/users/',
                shows: 'username',
                required: true,
              },
            ]}
            initial={{ id: '' }}
            submitLabel={title}
            onCancel={() => setOpen(false)}
            send={async ({ id }) => {
              await callApi(path, { method: 'POST', body: { id: Number(id) } });
              notify(`Added ${WITH_ARTICLE[noun]}.`);
              setOpen(false);
            }}
          />
        </ModalBody>
      </Modal>
    </>
  );
}

function RemovePerson({
  path,
  user,
  noun,
}: {
  readonly path: string;
  readonly user: User;
  readonly noun: Noun;
}): ReactNode {
  const queries = useQueryClient();
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await callApi(path, { method: 'POST', body: { id: user.id, disassociate: true } });
      notify(`${user.username} is no longer ${WITH_ARTICLE[noun]}.`);
    } catch (error) {
      notify(`${user.username} was not removed: ${problemText(error)}`, 'danger');
    }
    setBusy(false);
    await queries.invalidateQueries();
  };
  return (
    <Button
      variant="link"
      isInline
      isDisabled={isBusy}
      aria-label={`Remove ${user.username}`}
      onClick={() => void remove()}
    >
      Remove
    </Button>
  );
}

/** The dialog for a session that expired during input, loaded after the first view. */
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import type { Page } from './api.ts';
import { type User, useApi } from './queries.ts';

const POLL_MS = 2_000;

/** Asks for a login in another tab, and closes when there is a session again. */
export function ExpiredDialog({ onClose }: { onClose: () => void }): ReactNode {
  const queries = useQueryClient();
  const [openedAt] = useState(() => Date.now());
  const { isSuccess, dataUpdatedAt } = useApi<Page<User>>('/api/v2/me/', { every: POLL_MS });
  const isBack = isSuccess && dataUpdatedAt > openedAt;
  useEffect(() => {
    if (!isBack) return;
    void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' });
    onClose();
  }, [isBack, queries, onClose]);
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="expired-title">
      <ModalHeader title="Your session has expired" titleIconVariant="warning" labelId="expired-title" />
      <ModalBody>
        <p>
          Nothing was saved. Your input is still here. Log in in a new tab, and then come back. This message
          closes automatically, and you can continue.
        </p>
      </ModalBody>
      <ModalFooter>
        <Button component="a" href="/api/login/" target="_blank" rel="noreferrer">
          Log in in a new tab
        </Button>
        <Button variant="link" onClick={onClose}>
          Close
        </Button>
      </ModalFooter>
    </Modal>
  );
}

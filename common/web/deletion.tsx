/** Deletes one or several resources after a confirmation. */
import {
  Alert,
  Button,
  List,
  ListItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
} from '@patternfly/react-core';
import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { ApiError, callApi, problemText } from './api.ts';
import { useNotify } from './notices.tsx';
import { useWait } from './states.tsx';
import { countText, numberText, unbroken } from './times.tsx';

export interface Deletion<T> {
  /** The singular, such as "token". */
  readonly noun: string;
  /** By default "Delete". */
  readonly verb?: 'Revoke';
  /** The plural; by default the singular with an s. */
  readonly plural?: string;
  readonly path: (row: T) => string;
  /** A row's name in the confirmation. */
  readonly describe: (row: T) => string;
  /** The consequence, as a sentence. */
  readonly consequence?: string;
  readonly mayDelete?: (row: T) => boolean;
}

/** A button that asks for confirmation, and then deletes the given rows. Disabled without rows. */
export function DeleteButton<T>(props: {
  readonly deletion: Deletion<T>;
  readonly rows: readonly T[];
  /** Called after all of them were deleted. */
  readonly onDone: () => void;
  readonly variant?: 'secondary' | 'link';
  /** Whether it is a row's button, named after the row. */
  readonly isInRow?: boolean;
}): ReactNode {
  const { deletion, rows, onDone, variant = 'secondary', isInRow = false } = props;
  const [isOpen, setOpen] = useState(false);
  const { verb = 'Delete' } = deletion;
  const [row] = rows;
  return (
    <>
      <Button
        variant={variant}
        isDanger
        isDisabled={rows.length === 0}
        onClick={() => setOpen(true)}
        {...(isInRow &&
          row !== undefined && { 'aria-label': `${verb} ${deletion.describe(row)}`, isInline: true })}
      >
        {verb}
      </Button>
      {isOpen && (
        <DeleteDialog
          deletion={deletion}
          rows={rows}
          onClose={(isDone) => {
            setOpen(false);
            if (!isDone) return;
            onDone();
            // The button, which had the focus before the dialog, is now disabled, or its page was left.
            document.querySelector('main')?.focus({ preventScroll: true });
          }}
        />
      )}
    </>
  );
}

const MAX_NAMED = 20;

function DeleteDialog<T>(props: {
  deletion: Deletion<T>;
  rows: readonly T[];
  onClose: (isDone: boolean) => void;
}): ReactNode {
  const { deletion, rows, onClose } = props;
  const queries = useQueryClient();
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const [left, setLeft] = useState(rows);
  const [problem, setProblem] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  const wait = useWait(refusal);
  // If the user stops, the remaining ones are not deleted.
  const isStopped = useRef(false);
  const [done, setDone] = useState(0);
  const { noun, verb = 'Delete', plural = `${noun}s` } = deletion;
  const what = left.length === 1 ? noun : countText(left.length, noun, plural);

  async function remove(): Promise<void> {
    setBusy(true);
    setProblem(null);
    setRefusal(null);
    isStopped.current = false;
    const failed: T[] = [];
    const problems: string[] = [];
    // One by one: the service runs a user's requests in turn anyway.
    for (const [index, row] of left.entries()) {
      if (isStopped.current) {
        failed.push(...left.slice(index));
        problems.push(`Stopped: ${countText(left.length - index, noun, plural)} left.`);
        break;
      }
      setDone(index);
      const error = await callApi(deletion.path(row), { method: 'DELETE' }).then(() => null, asProblem);
      if (error === null) continue;
      failed.push(row);
      problems.push(`${deletion.describe(row)}: ${problemText(error)}`);
      if (error instanceof ApiError && error.retryAfter !== null) {
        failed.push(...left.slice(index + 1));
        setRefusal(error);
        break;
      }
    }
    await forget(
      queries,
      left.filter((row) => !failed.includes(row)).map((row) => deletion.path(row)),
    );
    setBusy(false);
    const count = left.length - failed.length;
    if (count > 0) notify(`${verb}d ${countText(count, noun, plural)}.`);
    if (failed.length === 0) return onClose(true);
    setLeft(failed);
    setProblem(problems.join(' '));
  }

  return (
    <Modal isOpen variant="small" onClose={() => !isBusy && onClose(false)} aria-labelledby="delete-title">
      <ModalHeader title={`${verb} ${what}?`} titleIconVariant="warning" labelId="delete-title" />
      <ModalBody>
        {problem !== null && <Alert isInline variant="danger" title={problem} component="p" />}
        {deletion.consequence !== undefined && <p>{deletion.consequence}</p>}
        <List>
          {left.slice(0, MAX_NAMED).map((row) => (
            <ListItem key={deletion.path(row)}>{deletion.describe(row)}</ListItem>
          ))}
          {left.length > MAX_NAMED && <ListItem>and {left.length - MAX_NAMED} more</ListItem>}
        </List>
        {isBusy && left.length > 1 && (
          <p role="status">
            {numberText(done)} of {numberText(left.length)} done
          </p>
        )}
      </ModalBody>
      <ModalFooter>
        <Button
          variant="danger"
          isLoading={isBusy}
          isDisabled={isBusy || wait > 0}
          onClick={() => void remove()}
        >
          {verb} {what}
          {wait > 0 && unbroken(` (in ${wait} s)`)}
        </Button>
        <Button
          variant="link"
          onClick={() => {
            if (!isBusy) return onClose(false);
            isStopped.current = true;
          }}
        >
          {isBusy ? 'Stop' : 'Cancel'}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

/** Refreshes what is shown, except deleted resources, whose page is left next. */
async function forget(queries: QueryClient, deleted: readonly string[]): Promise<void> {
  const isDeleted = ({ queryKey: [key] }: Query) => deleted.some((path) => String(key).startsWith(path));
  await Promise.all([
    queries.invalidateQueries({ predicate: isDeleted, refetchType: 'none' }),
    queries.invalidateQueries({ predicate: (query) => !isDeleted(query) }),
  ]);
}

/** A failed deletion; null if it was deleted before. */
function asProblem(error: unknown): unknown {
  return error instanceof ApiError && error.status === 404 ? null : error;
}

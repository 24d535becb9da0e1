/** One change from its plan to its report, in a dialog that can be closed and opened again at any time. */

import {
  Alert,
  Button,
  Form,
  FormGroup,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  Progress,
  Spinner,
  Stack,
  StackItem,
  TextInput,
} from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { RevocationJson } from '../../cli/revocation/revocation-flow.ts';
import { call, type Json, type Operation, type Problem, query, useFacts, useOperation } from './api.ts';
import { CommandLine, Printed } from './commands.tsx';
import { Bars } from './parts.tsx';

/** Begins an operation, and shows it. */
export function useBegin() {
  const [, setSearch] = useSearchParams();
  return useMutation({
    mutationFn: (request: object) => call<Operation>('/api/operations', { body: request }),
    onSuccess: ({ id }) => {
      setSearch((before) => {
        before.set('operation', id);
        return before;
      });
    },
  });
}

const TITLES: Readonly<Record<Operation['state'], string>> = {
  planning: 'Planning',
  asking: 'Confirm the plan',
  working: 'Under way',
  done: 'Report',
  failed: 'Not carried out',
  cancelled: 'Cancelled',
};

export function OperationDialog({
  id,
  onClose,
}: {
  readonly id: string;
  readonly onClose: () => void;
}): ReactNode {
  const { operation, isLost, error } = useOperation(id);
  const queries = useQueryClient();
  const state = operation?.state;
  useEffect(() => {
    // What was read before the change is out of date.
    if (state === 'done' || state === 'failed') void queries.invalidateQueries();
  }, [state, queries]);
  const title = operation === null ? 'Operation' : `${operation.kind}: ${TITLES[operation.state]}`;
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="operation-title">
      <ModalHeader title={title} labelId="operation-title" />
      <ModalBody tabIndex={0} aria-label="The operation">
        <Stack hasGutter>
          {isLost && (
            <StackItem>
              <Alert
                isInline
                isLiveRegion
                variant="warning"
                title="The connection to the console is lost. What was confirmed goes on; this page looks for it."
              />
            </StackItem>
          )}
          {error !== null && (
            <StackItem>
              <Alert isInline variant="danger" title={error.message} />
            </StackItem>
          )}
          {operation === null ? (
            error === null && <Spinner aria-label="Loading" />
          ) : (
            <Stage operation={operation} />
          )}
        </Stack>
      </ModalBody>
      <ModalFooter>{operation !== null && <Actions operation={operation} onClose={onClose} />}</ModalFooter>
    </Modal>
  );
}

function Stage({ operation }: { readonly operation: Operation }): ReactNode {
  const { state, asked, progress, result, failure, command, notices } = operation;
  return (
    <>
      {notices.map((notice) => (
        <StackItem key={notice}>
          <Alert isInline isPlain variant="warning" title={notice} />
        </StackItem>
      ))}
      {failure !== null && state !== 'cancelled' && (
        <StackItem>
          <ProblemAlert problem={failure} />
        </StackItem>
      )}
      {state === 'planning' && (
        <StackItem>
          <Spinner size="md" aria-label="Planning" /> Reading what would change. Nothing is changed.
        </StackItem>
      )}
      {state === 'cancelled' && (
        <StackItem>
          <Alert isInline variant="info" title={failure?.message ?? 'Cancelled. Nothing was changed.'} />
        </StackItem>
      )}
      {state === 'asking' && asked !== null && <PlanItem asked={asked} />}
      {state === 'working' && (
        <StackItem>
          <Progress
            title={
              progress === null
                ? 'Working'
                : `${progress.verb}: ${progress.done} of ${progress.total}${progress.failed > 0 ? `, ${progress.failed} failed` : ''}`
            }
            value={progress === null || progress.total === 0 ? 0 : (100 * progress.done) / progress.total}
            aria-label="Progress"
          />
          <p>Closing this page does not stop the work.</p>
        </StackItem>
      )}
      {result !== null && (
        <StackItem>
          {result.failure === null ? (
            <Alert isInline isLiveRegion variant="success" title="Done. The report says what was checked." />
          ) : (
            <ProblemAlert problem={result.failure} />
          )}
          <Printed text={result.text} label="Report" />
          <SavedPlanLink json={result.json} />
        </StackItem>
      )}
      <StackItem>
        <CommandLine command={command} />
      </StackItem>
    </>
  );
}

/** To the plan that was saved instead of being carried out. */
function SavedPlanLink({ json }: { readonly json: unknown }): ReactNode {
  const { planFile = null } = (json ?? {}) as { readonly planFile?: string | null };
  if (planFile === null) return null;
  return <Link to={query('/plans', { path: planFile })}>Show the saved plan with its approval</Link>;
}

/** A failure in the words of the command. */
export function ProblemAlert({ problem }: { readonly problem: Problem }): ReactNode {
  return (
    <Alert isInline isLiveRegion variant="danger" title={problem.message}>
      {problem.hint}
    </Alert>
  );
}

const SHOWN = 6;

function PlanItem({ asked }: { readonly asked: NonNullable<Operation['asked']> }): ReactNode {
  // Changes without tokens have no such plan.
  const { plan } = (asked.json ?? {}) as Partial<Json<RevocationJson>>;
  return (
    <>
      {plan != null && (
        <StackItem>
          <div className="charts">
            <Bars title="By owner, hardest hit first" bars={named(plan.byUser)} />
            <Bars title="By application" bars={named(plan.byApplication)} />
          </div>
          <p>
            Digest of the plan: <code>{plan.digest.slice(0, 12)}</code>
          </p>
        </StackItem>
      )}
      <StackItem>
        <Printed text={asked.plan} label="Plan" />
      </StackItem>
      {plan != null && plan.accessPaths.length > 0 && (
        <StackItem>
          <Alert isInline variant="warning" title="Not covered">
            <ul>
              {plan.accessPaths.map(({ path, how }) => (
                <li key={path}>{how}</li>
              ))}
            </ul>
          </Alert>
        </StackItem>
      )}
    </>
  );
}

function named(counts: readonly { readonly name: string; readonly count: number }[]) {
  return counts.slice(0, SHOWN).map(({ name, count }) => ({ label: name, count }));
}

function Actions({
  operation,
  onClose,
}: {
  readonly operation: Operation;
  readonly onClose: () => void;
}): ReactNode {
  const { id, state, asked } = operation;
  const cancel = useMutation({
    mutationFn: () => call(`/api/operations/${id}/cancel`, { body: {} }),
    onSuccess: onClose,
  });
  if (state === 'asking' && asked !== null) {
    return (
      <>
        <ConfirmForm id={id} asked={asked} />
        <Button variant="link" onClick={() => cancel.mutate()}>
          Cancel
        </Button>
      </>
    );
  }
  return (
    <Button variant="secondary" onClick={onClose}>
      Close
    </Button>
  );
}

function ConfirmForm({
  id,
  asked,
}: {
  readonly id: string;
  readonly asked: NonNullable<Operation['asked']>;
}): ReactNode {
  const [answer, setAnswer] = useState('');
  const { act, type, digest } = asked;
  const confirm = useMutation({
    mutationFn: () => call(`/api/operations/${id}/confirm`, { body: { digest, answer } }),
  });
  return (
    <Form
      className="confirm"
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate();
      }}
    >
      <FormGroup label={`Type ${type} to ${act}`} fieldId="confirm-answer">
        <TextInput
          id="confirm-answer"
          value={answer}
          autoComplete="off"
          onChange={(_event, value) => setAnswer(value)}
        />
      </FormGroup>
      {confirm.error !== null && (
        <Alert isInline isLiveRegion variant="danger" title={confirm.error.message} />
      )}
      <Button type="submit" variant="danger" isDisabled={answer.trim() !== type || confirm.isPending}>
        {act.slice(0, 1).toUpperCase() + act.slice(1)}
      </Button>
    </Form>
  );
}

/** The reason and the ticket of a change. */
export interface Account {
  readonly reason: string;
  readonly ticket: string;
}

/** The fields for the reason and the ticket, for the audit log. */
export function AccountFields({
  account,
  onChange,
}: {
  readonly account: Account;
  readonly onChange: (account: Account) => void;
}): ReactNode {
  const { requireReason, requireTicket } = useFacts();
  return (
    <>
      <FormGroup label="Reason" fieldId="reason" isRequired={requireReason}>
        <TextInput
          id="reason"
          value={account.reason}
          isRequired={requireReason}
          onChange={(_event, reason) => onChange({ ...account, reason })}
        />
      </FormGroup>
      <FormGroup label="Ticket" fieldId="ticket" isRequired={requireTicket}>
        <TextInput
          id="ticket"
          value={account.ticket}
          isRequired={requireTicket}
          onChange={(_event, ticket) => onChange({ ...account, ticket })}
        />
      </FormGroup>
    </>
  );
}

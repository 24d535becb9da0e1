/** Shared by all forms of changes: starting a change, its reason, and why it is impossible. */
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useSearchParams } from 'react-router';
import { call, type Operation, type Problem, useFacts } from './api.ts';
import { TextField } from './fields.tsx';
import { Message, Said } from './parts.tsx';

/**
 * Begins an operation, and shows it.
 * @param how.replaces Whether it replaces the current page in the history.
 */
export function useBegin({ replaces = false }: { replaces?: boolean } = {}) {
  const [, setSearch] = useSearchParams();
  return useMutation({
    mutationFn: (request: object) => call<Operation>('/api/operations', { body: request }),
    onSuccess: ({ id }) =>
      setSearch(
        (before) => {
          before.set('operation', id);
          return before;
        },
        { replace: replaces },
      ),
  });
}

export interface Account {
  readonly reason: string;
  readonly ticket: string;
}

/** The fields for the reason and the ticket, for the audit log. */
export function AccountFields(props: {
  readonly account: Account;
  readonly onChange: (account: Account) => void;
  /** Distinguishes the fields from those of another form on the page. */
  readonly name?: string;
}): ReactNode {
  const { account, onChange, name = 'account' } = props;
  const { requireReason, requireTicket } = useFacts();
  return (
    <>
      <TextField
        id={`${name}-reason`}
        label="Reason"
        value={account.reason}
        isRequired={requireReason}
        onChange={(reason) => onChange({ ...account, reason })}
      />
      <TextField
        id={`${name}-ticket`}
        label="Ticket"
        value={account.ticket}
        isRequired={requireTicket}
        onChange={(ticket) => onChange({ ...account, ticket })}
      />
    </>
  );
}

/** A failure in the words of the command; the purpose of its flags in those of the forms. */
export function ProblemAlert({ problem }: { problem: Problem }): ReactNode {
  if (problem.code === 'not_approved') {
    return (
      <Message isLiveRegion variant="danger" title="This requires a second person's approval.">
        Save the plan to a file so that it can be approved. Then apply it on the page{' '}
        <Link to="/plans">Saved plans</Link>.
      </Message>
    );
  }
  return (
    <Message isLiveRegion variant="danger" title={problem.message}>
      {problem.hint !== null && <Said text={problem.hint} />}
    </Message>
  );
}

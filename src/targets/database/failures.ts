import { sqlState } from '../../db/sql-state.ts';
import { TokenctlError } from '../../domain/errors.ts';

/** What a failure of the database means for the target. Holds the address and the server's state, no values. */
export function databaseFailure(error: unknown, address: string): unknown {
  if (error instanceof TokenctlError)
    return error.code === 'database_unreachable' ? unreachable(error) : error;
  const state = sqlState(error);
  if (state === null) return error;
  const [message, options] = explain(state, address);
  return new TokenctlError(options.code, message, {
    ...(options.hint !== undefined && { hint: options.hint }),
    cause: error,
    details: { sqlstate: state },
  });
}

/** The same for a connection that did not come about. */
function unreachable(error: TokenctlError): TokenctlError {
  const { message, cause } = error;
  const state = sqlState(cause) ?? '';
  if (state.startsWith('28')) {
    return new TokenctlError('credentials_refused', message, {
      hint: 'Check the role and its password, and that pg_hba.conf lets it in from here.',
      cause,
    });
  }
  // 42501 at this point is the right to connect at all.
  if (state === '42501') return new TokenctlError('permission_refused', message, { cause });
  return new TokenctlError('target_unreachable', message, {
    hint:
      state === '57P01'
        ? 'An administrator ended the connection, or the server is shutting down. What is done stays done: run it again.'
        : (error.hint ?? 'Try again when the database is back.'),
    cause,
  });
}

interface Explanation {
  readonly code: TokenctlError['code'];
  readonly hint?: string;
}

function explain(state: string, address: string): readonly [message: string, Explanation] {
  if (state === '42501') {
    return [`${address} does not give this role the rights for it`, { code: 'permission_refused' }];
  }
  if (state === '25006') {
    return [
      `${address} takes no changes: it is a standby, or set to read only`,
      { code: 'permission_refused', hint: 'Use the address of the primary server.' },
    ];
  }
  if (state === '57014') {
    return [
      `${address} did not finish a statement in time`,
      {
        code: 'target_unreachable',
        hint: 'Check the load of the database, and try again: what is done stays done.',
      },
    ];
  }
  if (isHeld(state)) {
    return [
      `In ${address} another transaction holds what is needed`,
      { code: 'busy', hint: 'Try again; pg_stat_activity and pg_locks tell who holds it.' },
    ];
  }
  if (state.startsWith('23')) {
    return [
      `${address} refuses a change because of a constraint on its tables`,
      { code: 'target_misbehaved', hint: 'Something refers to these rows that a controller does not have.' },
    ];
  }
  return [
    `${address} refuses a statement (SQLSTATE ${state})`,
    { code: 'target_misbehaved', hint: "The server's own log says why." },
  ];
}

/** Whether a transaction failed only because of others at the same time: serialization, deadlock, lock. */
function isHeld(state: string): boolean {
  return state === '40001' || state === '40P01' || state === '55P03';
}

/**
 * Whether the same statement may pass when it is tried again, with a few rows at a time: the rows are held,
 * it took too long, or (23503) something came to refer to one of them meanwhile.
 */
export function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && (isHeld(state) || state === '57014' || state === '23503');
}

/** Why rows that were tried again and again could not be changed. */
export function reasonOf(error: unknown): string {
  switch (sqlState(error)) {
    case '23503':
      return 'another table of the database refers to it';
    case '57014':
      return 'the database did not finish in time';
    default:
      return HELD;
  }
}

/** The reason where nothing failed and the rows were just never free. */
export const HELD = 'another transaction holds it';

import { TokenctlError } from '../domain/errors.ts';
import type { AccountFlags } from './flags.ts';

/**
 * Makes sure that a change says why and names a ticket, where the configuration asks for that: before anything
 * is read.
 *
 * @throws TokenctlError `usage`
 */
export function requireAccount(
  required: {
    readonly requireReason?: boolean | undefined;
    readonly requireTicket?: boolean | undefined;
  },
  { reason, ticket }: AccountFlags,
): void {
  const missing = [
    ...(required.requireReason === true && isBlank(reason) ? ['--reason'] : []),
    ...(required.requireTicket === true && isBlank(ticket) ? ['--ticket'] : []),
  ];
  if (missing.length === 0) return;
  throw new TokenctlError('usage', `A change has to be given ${missing.join(' and ')} here`, {
    hint: 'The configuration asks for it: auditLog.requireReason, auditLog.requireTicket.',
  });
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Lease } from '../../domain/leases.ts';
import type { Change, OperationRun } from '../journal/operation-run.ts';
import type { LeaseReader } from '../journal/recorded-leases.ts';
import { endLeases, leftLeases } from '../leases/end-leases.ts';
import type { LimitedToken } from '../leases/make-limited-token.ts';
import { type SecretStore, sameValue } from '../ports/secret-store.ts';

/** Who a token is for, and where it is stored. */
export interface Delivery extends Change {
  readonly consumer: { readonly name: string };
  readonly store: SecretStore;
  readonly leases: LeaseReader;
  /** Additional data for the entries about the delivery. */
  readonly stated?: Readonly<Record<string, unknown>>;
}

type Made = Pick<LimitedToken, 'token' | 'value' | 'lease'>;

/**
 * Writes a token to the store and reads it back. If the store does not hold it, it is revoked at once: the
 * old one stays.
 * @param parts.over What the store held before.
 * @throws TokenctlError `store_changed`, `partly_done`, and as the store and the audit log.
 */
export async function deliver(
  delivery: Delivery,
  { run, made, over }: { run: OperationRun; made: Made; over: Parameters<SecretStore['write']>[1] },
): Promise<void> {
  const { store, consumer, signal } = delivery;
  const step = stepOf(delivery, made.lease, made.token.id);
  const intent = await run.journal.intent(step);
  let failure: TokenctlError | null = null;
  let isWritten = true;
  try {
    await store.write(made.value, over, signal);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    failure = error;
    isWritten = error.code !== 'store_changed';
  }
  if (isWritten) {
    try {
      // Without the signal: what may have been written must be known.
      if (sameValue(await store.read(), made.value)) {
        await run.journal.outcome(intent, { ...step, result: 'done' });
        return;
      }
      isWritten = false;
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      failure ??= error;
    }
  }
  const reason = failure?.message ?? `${store.name} contains a different value than the one that was written`;
  await run.journal.outcome(intent, { ...step, result: isWritten ? 'unknown' : 'refused', reason });
  if (!isWritten) {
    throw await undone(delivery, made, {
      code: failure?.code ?? 'store_changed',
      message: reason,
      hint: failure?.hint,
    });
  }
  throw new TokenctlError(
    failure?.code ?? 'partly_done',
    `Whether ${store.name} has the new token is not known: ${reason}`,
    {
      hint: `Both tokens of ${consumer.name} are live. The next run reads the store and revokes the token that is not in it.`,
    },
  );
}

/** Records that the store holds a lease's token whose delivery was interrupted before that was recorded. */
export async function confirmStored(
  delivery: Delivery,
  { run, lease }: { run: OperationRun; lease: Lease },
): Promise<void> {
  const step = stepOf(delivery, lease.id, lease.token?.id);
  await run.journal.outcome(await run.journal.intent(step), { ...step, result: 'done' });
}

/** The data for the entries about a token's delivery. */
function stepOf({ consumer, stated }: Delivery, lease: string | null, token: number | undefined) {
  return { step: 'store', consumer: consumer.name, lease, token, ...stated };
}

/** The original error, after the new token was revoked; it says if that failed. */
export async function undone(
  delivery: Delivery,
  made: Made,
  { code, message, hint }: Pick<TokenctlError, 'code' | 'message'> & { hint?: string | undefined },
): Promise<TokenctlError> {
  const leases = await delivery.leases.read(delivery.description);
  const lease = leases.find(({ id }) => id === made.lease);
  const ended =
    lease === undefined ? [] : await endLeases({ ...delivery, reason: 'the rotation failed' }, [lease]);
  const left = leftLeases(ended, 'The next run tries again.');
  const fate = left === undefined ? 'The new token was revoked; the old token was not changed' : left.message;
  return new TokenctlError(code, `${message}. ${fate}`, { hint });
}

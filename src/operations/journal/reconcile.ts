import type { AuditLog, Entry, EntryDraft } from '../ports/audit-log.ts';
import type { Target } from '../ports/target.ts';
import type { TargetDescription } from '../ports/target-description.ts';
import { planSessions } from '../sessions/planned-sessions.ts';
import { intendedIds } from './batch-entries.ts';
import { stillAlive, stillAliveRefreshTokens } from './still-alive.ts';

/** What to reconcile, and with what. */
export interface ReconcileOptions {
  readonly log: AuditLog;
  readonly target: Target;
  readonly description: TargetDescription;
  readonly actor: Readonly<Record<string, string>>;
}

/**
 * Closes what runs on the same target left open when they were killed: each of their intents gets an
 * outcome that says what can still be found out, marked `reconciled`.
 *
 * @returns How many intents were closed.
 * @throws TokenctlError `audit_unavailable`, and whatever the target throws.
 */
export async function reconcile(options: ReconcileOptions): Promise<number> {
  const { log, description } = options;
  const abandoned = (await log.abandonedIntents()).filter(
    (intent) => intent.target['address'] === description.address,
  );
  for (const intent of abandoned) {
    const { operation, run, target } = intent;
    const data = { reconciled: true, ...(await findOut(intent, options.target)) };
    await log.append({
      kind: 'outcome',
      operation,
      run,
      actor: options.actor,
      target,
      data,
      closes: intent.seq,
    });
  }
  return abandoned.length;
}

/** What the target can still tell of an intent that has no outcome. */
async function findOut({ operation, data }: Entry, target: Target): Promise<EntryDraft['data']> {
  const { step } = data;
  switch (step) {
    case 'batch':
      return { step, ...(await since(data, (ids) => stillAlive(target, ids))) };
    case 'refresh_tokens':
      return { step, ...(await since(data, (ids) => stillAliveRefreshTokens(target, ids))) };
    case 'refresh_token_rows':
      return { step, ...(await since(data, (ids) => stillAliveRefreshTokens(target, ids, ANY_STATE))) };
    case 'sessions':
      return { step, alive: (await planSessions(target, userIds(data))).count };
    default:
      if (!operation.startsWith('settings.')) return { result: 'unknown' };
      return { result: 'unknown', settings: await target.settings.read() };
  }
}

const ANY_STATE = ['live', 'orphaned', 'revoked'] as const;

/** Which of a batch are gone since, and which are not. */
async function since(
  data: Entry['data'],
  aliveOf: (ids: readonly number[]) => Promise<readonly number[]>,
): Promise<{ gone: readonly number[]; alive: readonly number[] }> {
  const ids = intendedIds(data);
  const alive = await aliveOf(ids);
  const living = new Set(alive);
  return { gone: ids.filter((id) => !living.has(id)), alive };
}

function userIds({ users }: Entry['data']): readonly number[] | 'all' {
  if (users === 'all') return users;
  return Array.isArray(users) ? users.filter((id): id is number => Number.isSafeInteger(id)) : [];
}

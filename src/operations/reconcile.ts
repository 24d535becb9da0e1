import type { AuditLog, Entry, EntryDraft } from './audit-log-port.ts';
import type { Target, TargetDescription } from './ports.ts';
import { stillAlive } from './still-alive.ts';

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
async function findOut(intent: Entry, target: Target): Promise<EntryDraft['data']> {
  if (intent.data['step'] === 'batch') return await sinceRevoked(batchIds(intent), target);
  if (intent.operation.startsWith('settings.'))
    return { result: 'unknown', settings: await target.settings.read() };
  return { result: 'unknown' };
}

async function sinceRevoked(ids: readonly number[], target: Target): Promise<EntryDraft['data']> {
  const alive = await stillAlive(target, ids);
  const living = new Set(alive);
  return { step: 'batch', gone: ids.filter((id) => !living.has(id)), alive };
}

/** The ids that a batch intent lists by owner: `tokens: [{ user, ids }]`. */
function batchIds(intent: Entry): number[] {
  const groups = intent.data['tokens'];
  if (!Array.isArray(groups)) return [];
  return groups.flatMap((group: unknown) =>
    typeof group === 'object' && group !== null && 'ids' in group && Array.isArray(group.ids)
      ? group.ids.filter((id): id is number => Number.isSafeInteger(id))
      : [],
  );
}

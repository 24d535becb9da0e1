import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { StoredRefreshTokenState } from '../../domain/token.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { knownSettings } from '../scope/known-settings.ts';
import { partOf } from '../scope/target-parts.ts';
import { countSessions } from '../scope/user-sessions.ts';
import { intendedIds, numbersIn, objectOf } from './journal.ts';

interface ReconcileOptions {
  readonly log: AuditLog;
  readonly target: Target;
  readonly description: TargetDescription;
  readonly actor: Readonly<Record<string, string>>;
}

/**
 * Closes the open intents of killed runs on the same target: each gets an outcome with what can still be
 * found out, marked `reconciled`. At a standby nothing is closed, because it does not show the current state.
 * @returns The number of closed intents, excluding those that another process closed in the meantime.
 * @throws TokenctlError `audit_unavailable`.
 */
export async function reconcile(options: ReconcileOptions): Promise<number> {
  const { log, description } = options;
  if (description.standby !== undefined) return 0;
  const abandoned = (await log.abandonedIntents()).filter(
    (intent) => intent.target['address'] === description.address,
  );
  let closed = 0;
  for (const intent of abandoned) {
    const { operation, run, target } = intent;
    const data = { reconciled: true, ...(await findOut(intent, options)) };
    const outcome = { operation, run, actor: options.actor, target, data, closes: intent.seq };
    try {
      await log.append({ kind: 'outcome', ...outcome });
      closed += 1;
    } catch (error) {
      if (!(error instanceof TokenctlError) || error.code !== 'intent_closed') throw error;
    }
  }
  return closed;
}

/** Determines the result of an intent without an outcome, as far as the target still shows it. */
async function findOut({ operation, data }: Entry, { target, description }: ReconcileOptions) {
  const { step } = data;
  switch (step) {
    case 'batch':
      return { step, ...(await since(data, (ids) => stillAlive(target, ids))) };
    case 'refresh_tokens':
      return { step, ...(await since(data, (ids) => findLiveRefreshTokens(target, ids))) };
    case 'refresh_token_rows':
      return { step, ...(await since(data, (ids) => findLiveRefreshTokens(target, ids, ANY_STATE))) };
    case 'authorization_codes':
      return { step, ...(await since(data, (ids) => findLiveCodes(target, ids))) };
    case 'sessions': {
      const notRead = description.sessionCache?.problem ?? undefined;
      const users = data['users'] === 'all' ? 'all' : numbersIn(data['users']);
      return { step, alive: await countSessions(target, users), notRead };
    }
    case 'application':
      return { step, listed: await isListed(target, objectOf(data['application'])) };
    default:
      if (!operation.startsWith('settings.')) return { result: 'unknown' };
      return { result: 'unknown', ...(await settingsNow(target)) };
  }
}

/** The current settings, or why they are unknown: an unclosed intent would block every later change. */
async function settingsNow(target: Target): Promise<object> {
  const { values, why } = await knownSettings(target);
  return values === null ? { settings: null, why } : { settings: values };
}

/** Whether the application named by an intent still exists. */
async function isListed(target: Target, named: Readonly<Record<string, unknown>> | null | undefined) {
  const found = await target.applications.list([String(named?.['name'] ?? '')]);
  return found.some(({ id }) => id === named?.['id']);
}

const ANY_STATE = ['live', 'orphaned', 'revoked'] as const;

/** Which tokens of a batch are gone since, and which are not. */
async function since(data: Entry['data'], aliveOf: (ids: readonly number[]) => Promise<readonly number[]>) {
  const ids = intendedIds(data);
  const alive = await aliveOf(ids);
  const living = new Set(alive);
  return { gone: ids.filter((id) => !living.has(id)), alive };
}

const CONCURRENCY = 4;

/** The maximum number of ids per query. */
const MOST = 5000;

/** The states of refresh tokens that are not revoked. */
const ALIVE: readonly StoredRefreshTokenState[] = ['live', 'orphaned'];

/** Which of these access tokens exist, ascending. */
export function stillAlive(target: Target, ids: readonly number[]): Promise<number[]> {
  return found(ids, (part) => target.tokens({ ids: part }));
}

/** Which of these refresh tokens are in one of these states, ascending. Default: those not revoked. */
export function findLiveRefreshTokens(
  target: Target,
  ids: readonly number[],
  states: readonly StoredRefreshTokenState[] = ALIVE,
): Promise<number[]> {
  return found(ids, (part) => partOf(target, 'refreshTokens').list({ ids: part, states }));
}

function findLiveCodes(target: Target, ids: readonly number[]): Promise<number[]> {
  return found(ids, (part) => partOf(target, 'authorizationCodes').list({ ids: part, state: 'live' }));
}

async function found(
  ids: readonly number[],
  ask: (part: readonly number[]) => AsyncIterable<{ readonly id: number }>,
): Promise<number[]> {
  const size = Math.min(MOST, Math.ceil(ids.length / CONCURRENCY));
  const alive: number[] = [];
  let start = 0;
  const work = async () => {
    while (start < ids.length) {
      const part = ids.slice(start, start + size);
      start += size;
      for await (const { id } of ask(part)) alive.push(id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return alive.sort((a, b) => a - b);
}

import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { controllerTime } from '../../domain/clock-difference.ts';
import { incidentOperations } from '../../domain/incident/incident.ts';

/** The controller of a case, as it answered or as recorded in the audit log. */
export interface CaseController {
  readonly address: string;
  readonly installUuid: string | null;
  /** How far its clock is ahead of this machine's. */
  readonly aheadMs: number;
}

/** A case, and the context in which it is read. */
export interface CaseOf {
  readonly incident: string;
  readonly place: string;
}

/** Errors that make a controller unavailable, and say nothing about an incident. */
const UNREAD: ReadonlySet<TokenctlErrorCode> = new Set([
  'target_unreachable',
  'target_misbehaved',
  'database_unreachable',
  'credentials_refused',
]);

export function isUnread(error: unknown): error is TokenctlError {
  return error instanceof TokenctlError && UNREAD.has(error.code);
}

/**
 * The controller of a case; from the audit log if it is unavailable.
 * @throws TokenctlError what the context throws, if the log does not identify the controller.
 */
export async function controllerOfCase(runtime: Runtime, of: CaseOf): Promise<CaseController> {
  try {
    const { address, installUuid, clock } = await runtime.description();
    return { address, installUuid, aheadMs: clock?.aheadMs ?? 0 };
  } catch (error) {
    const recorded = isUnread(error) ? await recordedController(runtime, of) : null;
    if (recorded === null) throw error;
    return recorded;
  }
}

/** The controller of a context, from the last incident recorded for it; null without one. */
export async function recordedPlace(
  runtime: Pick<Runtime, 'auditLog'>,
  place: string,
): Promise<CaseController | null> {
  let last: CaseController | null = null;
  const log = await runtime.auditLog();
  for await (const { target, at } of log.entries(1, { operations: incidentOperations })) {
    const { address, installUuid = null, context } = target;
    if (address === undefined || context !== place) continue;
    const aheadMs = controllerTime({ at, target }).getTime() - Date.parse(at);
    last = { address, installUuid, aheadMs };
  }
  return last;
}

/**
 * The controller of an incident in the log. A lockdown of several contexts has one id at several controllers:
 * the context then decides. Null if there is none, or if there are several.
 */
export async function recordedController(
  runtime: Pick<Runtime, 'auditLog'>,
  { incident, place }: CaseOf,
): Promise<CaseController | null> {
  const found = new Map<string, CaseController & { readonly context: string | undefined }>();
  const log = await runtime.auditLog();
  for await (const { data, target, at } of log.entries(1, { operations: incidentOperations })) {
    const { address, installUuid = null, context } = target;
    if (data['incident'] !== incident || address === undefined || data['incidentAddress'] !== undefined)
      continue;
    const aheadMs = controllerTime({ at, target }).getTime() - Date.parse(at);
    if (!found.has(address)) found.set(address, { address, installUuid, context, aheadMs });
  }
  const all = [...found.values()];
  const own = all.find(({ context }) => context === place) ?? (all.length === 1 ? all[0] : undefined);
  return own ?? null;
}

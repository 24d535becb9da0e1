import { isDeepStrictEqual } from 'node:util';
import type { LockdownScope, Measures } from './scope.ts';

/** An entry of the audit log, as far as incidents are concerned. */
export interface IncidentEntry {
  readonly kind: 'intent' | 'outcome' | 'note';
  readonly operation: string;
  readonly run: string;
  readonly seq: number;
  readonly at: string;
  readonly actor: Readonly<Record<string, string>>;
  readonly target: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, unknown>>;
  readonly closes?: number;
}

/** An incident: a lockdown, recorded so that it can be lifted. Instants are RFC 3339. */
export interface Incident {
  readonly id: string;
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** The scope in words. */
  readonly selection: string;
  /** When it began. */
  readonly since: string;
  /** Who began it. */
  readonly by: Readonly<Record<string, string>>;
  readonly context: string;
  readonly reason: string | null;
  readonly ticket: string | null;
  /** When it is to be lifted; null for not by itself. */
  readonly until: string | null;
  /**
   * `unfinished` was killed half-way, or is under way; `locked` went through, `partly` left something; a
   * `lifting` one was begun to be lifted; `lifted` is over.
   */
  readonly state: 'unfinished' | 'locked' | 'partly' | 'lifting' | 'lifted';
  /** When its lockdown last went through; null where it never did. */
  readonly locked: string | null;
  readonly lifted: { readonly at: string; readonly by: Readonly<Record<string, string>> } | null;
  /** What was there before, and the SHA-256 (hex) of that file. */
  readonly snapshot: { readonly file: string; readonly sha256: string } | null;
  /** Ids of the caller's own tokens, which it left alive. */
  readonly kept: readonly number[];
}

/** The operations whose entries tell of incidents. */
export const incidentOperations: readonly string[] = [
  'incident.lockdown',
  'incident.extend',
  'incident.lift',
];

/** Whether an entry tells of an incident. */
export function isIncidentEntry({ operation, data }: IncidentEntry): boolean {
  return incidentOperations.includes(operation) && typeof data['incident'] === 'string';
}

/** Whether an open incident is what a lockdown of this scope and these measures would go on with. */
export function isSame(
  incident: Incident,
  other: { readonly scope: LockdownScope; readonly measures: Measures },
): boolean {
  return (
    isDeepStrictEqual(incident.scope, other.scope) && isDeepStrictEqual(incident.measures, other.measures)
  );
}

/** The incident that the first intent of a lockdown begins, or goes on with. */
export function openingOf(entry: IncidentEntry, before: Incident | null): Incident {
  const { data, at, actor, target } = entry;
  const text = (name: string) => (typeof data[name] === 'string' ? String(data[name]) : null);
  return {
    id: String(data['incident']),
    scope: data['scope'] as LockdownScope,
    measures: data['measures'] as Measures,
    selection: text('selection') ?? '',
    since: before?.since ?? at,
    by: before?.by ?? actor,
    context: target['context'] ?? '',
    reason: text('reason') ?? before?.reason ?? null,
    ticket: text('ticket') ?? before?.ticket ?? null,
    until: text('until') ?? before?.until ?? null,
    state: 'unfinished',
    locked: before?.locked ?? null,
    lifted: null,
    snapshot: before?.snapshot ?? null,
    kept: Array.isArray(data['kept']) ? data['kept'].filter((id) => Number.isSafeInteger(id)) : [],
  };
}

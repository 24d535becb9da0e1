/** The client of the console's HTTP interface: JSON, the cookie, and the key only of pages of this origin. */
import { keepPreviousData, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, withQuery } from '@tokenctl/common/web/api.ts';
import { useEffect, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { AuditsTogether } from '../../console/audits-together.ts';
import type { Incidents } from '../../console/case/read-incidents.ts';
import type { Ended as EndedOf, OperationState, Problem } from '../../console/operations.ts';
import type { FleetRow, Overview } from '../../console/overview.ts';
import type { Facts } from '../../console/routes.ts';

/**
 * The storage item in which the page that opens the console puts the key for all tabs of this origin
 * (`KEEP_KEY` of `src/console/server.ts`).
 */
const STORED_KEY = 'console-key';

function headers(): Record<string, string> {
  return { Accept: 'application/json', 'X-Console-Key': localStorage.getItem(STORED_KEY) ?? '' };
}

interface Options {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Made by the page itself: it does not keep the console running. */
  readonly quiet?: boolean;
}

/**
 * Reads a path, or posts to it if there is a body.
 * @throws ApiError for any answer other than 2xx; status 0 without an answer.
 */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

/** The same, for a response that is not JSON. */
export async function send(path: string, { body, signal, quiet = false }: Options = {}): Promise<Response> {
  const response = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...headers(),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(quiet && { 'X-Console-Quiet': '1' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError('The console does not respond. Is it still running in its terminal?', { status: 0 });
  });
  if (response.ok) return response;
  const failed = (await response.json().catch(() => null)) as { error?: Problem } | null;
  const { message = `The console responded with status ${response.status}.`, hint } = failed?.error ?? {};
  throw new ApiError([message, hint].filter(Boolean).join(' '), { status: response.status });
}

const UNREACHABLE: ReadonlySet<string> = new Set(['target_unreachable', 'database_unreachable']);
const REFUSED: ReadonlySet<string> = new Set(['credentials_refused', 'permission_refused']);

/** The text for an unreadable context: one that refuses the credential was reached. */
export function unreadText({ code }: Pick<Problem, 'code'>): string {
  if (UNREACHABLE.has(code)) return 'not reachable';
  return REFUSED.has(code) ? 'login rejected or permission denied' : 'not read';
}

/** The pattern that matches exactly a name. */
export function patternOf(name: string): string {
  return name.replaceAll(/[*?]/g, '\\$&');
}

/** Saves a response as a file. */
export async function saved(response: Response, name: string): Promise<void> {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function useRead<T>(path: string | null, every?: number | false): UseQueryResult<T, Error> {
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => call<T>(path ?? '', { signal, quiet: Boolean(every) }),
    enabled: path !== null,
    placeholderData: keepPreviousData,
    refetchInterval: every ?? false,
  });
}

/** The interval at which a page asks for pending data, or reconnects. */
const AGAIN_MS = 1_000;

/**
 * The same, each second until everything is there. The page repeats it on its own, which does not keep the
 * console running.
 * @param more.isAnew Whether the console's cache is too old for a newly opened page.
 */
export function useGradually<T>(
  path: string | null,
  isWaiting: (read: T) => boolean,
  { isAnew = false }: { isAnew?: boolean } = {},
): UseQueryResult<T, Error> {
  const queries = useQueryClient();
  const waits = (read: T | undefined) => read !== undefined && isWaiting(read);
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => {
      const quiet = waits(queries.getQueryData<T>([path]));
      const asked = isAnew && !quiet ? `${path}${path?.includes('?') ? '&' : '?'}anew=true` : path;
      return call<T>(asked ?? '', { signal, quiet });
    },
    enabled: path !== null,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => waits(state.data as T | undefined) && AGAIN_MS,
  });
}

/** A response as it arrives: times are RFC 3339 texts. */
export type Json<Value> = Value extends Date
  ? string
  : Value extends object
    ? { readonly [Name in keyof Value]: Json<Value[Name]> }
    : Value;

export const query = withQuery;

/** The parameters of the page's URL, and a function that changes some; null or an empty value removes one. */
export function useAddress(): readonly [
  URLSearchParams,
  (changes: Readonly<Record<string, string | null>>) => void,
] {
  const [search, setSearch] = useSearchParams();
  const change = (changes: Readonly<Record<string, string | null>>) =>
    setSearch((before) => {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === '') before.delete(name);
        else before.set(name, value);
      }
      return before;
    });
  return [search, change];
}

export type { Facts, Problem };

/** The console's facts, read before any page is shown. */
export function useFacts(): Facts {
  const { data } = useRead<Facts>('/api/console');
  if (data === undefined) throw new Error('the page was shown before the console was read');
  return data;
}

export type ContextRead = Json<Overview>;

export type ControllerRead = Json<FleetRow>;

/** Who may approve plans for a context, and what one person may do there alone. */
export type ApprovalRule = ContextRead['approval'];

/** Audits of controllers, and what is missing from them. */
export type AuditRead = Json<AuditsTogether> & {
  readonly readings: readonly {
    readonly place: string;
    readonly problem: Problem | null;
    readonly waits: number | null;
  }[];
};

/** The audit of a context, or of all that have answered, repeated each second until that is all. */
export function useAudit(path: string | null) {
  return useGradually<AuditRead>(path, ({ readings }) => readings.some(({ waits }) => waits !== null));
}

export type AccessPath = Json<Incidents>['incidents'][number]['accessPaths'][number];

/** Number of an incident's access paths that were not checked. */
export function uncheckedIn(incident: { readonly accessPaths: readonly AccessPath[] }): number {
  return incident.accessPaths.filter(({ state }) => state === 'not_checked').length;
}

export type Ended = Json<EndedOf>;

/** A change from its plan to its report. */
export type Operation = Json<OperationState>;

/**
 * The progress of an operation. Reconnects if the connection is lost: the work does not depend on it.
 * @returns The last state, and whether the connection is lost.
 */
export function useOperation(id: string): {
  readonly operation: Operation | null;
  readonly isLost: boolean;
  readonly error: Error | null;
} {
  const [operation, setOperation] = useState<Operation | null>(null);
  const [isLost, setLost] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const take = (state: Operation) => {
      setLost(false);
      setOperation(state);
    };
    void follow(id, { signal, take, onLost: () => setLost(true) }).catch((failure: unknown) => {
      if (!signal.aborted) setError(failure instanceof Error ? failure : new Error(String(failure)));
    });
    return () => ending.abort();
  }, [id]);
  return { operation, isLost, error };
}

/** Follows an operation to its end, reconnecting as necessary. */
async function follow(
  id: string,
  given: {
    readonly signal: AbortSignal;
    readonly take: (state: Operation) => void;
    readonly onLost: () => void;
  },
): Promise<void> {
  const { signal, take, onLost } = given;
  while (!signal.aborted) {
    try {
      for await (const state of events(id, signal)) {
        take(state);
        if (state.ended !== null) return;
      }
    } catch (failure) {
      const isAnswer = failure instanceof ApiError && failure.status !== 0;
      if (signal.aborted || isAnswer) throw failure;
    }
    onLost();
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** The states of an operation, from server-sent events. */
async function* events(id: string, signal: AbortSignal): AsyncIterable<Operation> {
  const response = await send(`/api/operations/${id}/events`, { signal, quiet: true });
  let text = '';
  if (response.body === null) return;
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) if (part.startsWith('data: ')) yield JSON.parse(part.slice(6)) as Operation;
  }
}

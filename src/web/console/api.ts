/** The HTTP interface of the console: JSON, the cookie, and the key that only pages of this address have. */
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiError } from '../shared/api.ts';

const STORED_KEY = 'console-key';

/** Takes the key out of the address that the console opened, and keeps it for the other tabs of this address. */
export function takeKey(): void {
  const [, key] = /^#key=([\w-]+)$/.exec(location.hash) ?? [];
  if (key === undefined) return;
  localStorage.setItem(STORED_KEY, key);
  history.replaceState(null, '', location.pathname + location.search);
}

function headers(): Record<string, string> {
  return { Accept: 'application/json', 'X-Console-Key': localStorage.getItem(STORED_KEY) ?? '' };
}

/** How a request is made. */
interface Options {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Made by the page itself: it does not keep the console running. */
  readonly quiet?: boolean;
}

/**
 * Reads a path, or posts to it if there is a body.
 *
 * @throws ApiError for any answer other than 2xx; status 0 without an answer.
 */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

/** The same, for an answer that is no JSON. */
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
    throw new ApiError('The console does not answer. Is it still running in its terminal?', { status: 0 });
  });
  if (response.ok) return response;
  const failed = (await response.json().catch(() => null)) as { error?: Problem } | null;
  const { message = `The console answered with status ${response.status}.`, hint } = failed?.error ?? {};
  throw new ApiError([message, hint].filter(Boolean).join(' '), { status: response.status });
}

/** Saves an answer as a file. */
export async function saved(response: Response, name: string): Promise<void> {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Reads a path, and keeps what was read. */
export function useRead<T>(path: string | null, every?: number | false): UseQueryResult<T, Error> {
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => call<T>(path ?? '', { signal, quiet: Boolean(every) }),
    enabled: path !== null,
    placeholderData: keepPreviousData,
    refetchInterval: every ?? false,
  });
}

/** A query string; parameters without a value are left out. */
export function query(
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** A failure, in the words of the commands. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** What the console is. */
export interface Facts {
  readonly version: string;
  readonly readOnly: boolean;
  readonly operator: { readonly user: string; readonly host: string };
  readonly places: readonly string[];
  /** The files that the console was started with, as flags. */
  readonly startedWith: readonly string[];
  readonly requireReason: boolean;
  readonly requireTicket: boolean;
}

/** What the console is; read before any page is shown. */
export function useFacts(): Facts {
  const { data } = useRead<Facts>('/api/console');
  if (data === undefined) throw new Error('the page was shown before the console was read');
  return data;
}

/** What is known of a context. */
export interface ContextRead {
  readonly place: string;
  readonly address: string;
  readonly dialect: string;
  readonly product: string | null;
  readonly identity: {
    readonly username: string;
    readonly isSuperuser: boolean;
    readonly isSystemAuditor: boolean;
  };
  readonly credential: string;
  readonly warnings: readonly string[];
  readonly ownToken: { readonly earliest: string } | null;
  readonly incomplete: string | null;
  readonly capabilities: {
    readonly refreshTokens: boolean;
    readonly sessions: boolean;
    readonly deactivateUsers: boolean;
  };
  readonly settings:
    | (Readonly<Record<string, unknown>> & {
        readonly OAUTH2_PROVIDER?: { readonly ACCESS_TOKEN_EXPIRE_SECONDS: number } | null;
      })
    | null;
  readonly approval: ApprovalRule;
}

/** Who may approve plans for a context, and what one person may do there alone. */
export interface ApprovalRule {
  readonly required: boolean;
  /** The names of the approvers. */
  readonly approvers: readonly string[];
  readonly aloneUpTo: number;
  /** In seconds. */
  readonly validFor: number;
  readonly breakGlass: boolean;
}

/** How many tokens share something. */
export interface Count {
  readonly name: string | null;
  readonly count: number;
}

/** A plan of a revocation, as far as the page shows it. */
interface RevocationPlan {
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly selection: string;
  readonly digest: string;
  readonly byUser: readonly { readonly name: string; readonly count: number }[];
  readonly byApplication: readonly { readonly name: string; readonly count: number }[];
  readonly kept: readonly { readonly tokenId: number; readonly reason: string }[];
  readonly staysAlive: readonly {
    readonly what: string;
    readonly why: string;
    readonly count: number | null;
  }[];
}

/** What a command ended with. */
export interface Ended {
  readonly json: unknown;
  readonly text: string;
  readonly failure: Problem | null;
}

/** One change from its plan to its report. */
export interface Operation {
  readonly id: string;
  readonly kind: string;
  readonly place: string | null;
  readonly command: string;
  readonly state: 'planning' | 'asking' | 'working' | 'done' | 'failed' | 'cancelled';
  readonly began: string;
  readonly ended: string | null;
  readonly asked: {
    readonly plan: string;
    readonly json: { readonly plan?: RevocationPlan | null } | null;
    readonly act: string;
    readonly type: string;
    readonly digest: string;
  } | null;
  readonly progress: {
    readonly verb: string;
    readonly done: number;
    readonly total: number;
    readonly failed: number;
  } | null;
  readonly result: Ended | null;
  readonly failure: Problem | null;
  readonly notices: readonly string[];
}

const AGAIN_MS = 1_000;

/**
 * An operation as it goes on. A lost connection is made again: the work does not depend on it.
 *
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

/** Follows an operation to its end, over as many connections as that takes. */
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

/** The REST API over the browser's session: JSON, the session cookie, and the CSRF token from a cookie. */

/** A page of a list in the controller's form. */
export interface Page<T> {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly T[];
}

/** The error response of a request. */
export class ApiError extends Error {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The messages of fields, by name. Those of the whole form are in `message`. */
  readonly fields: Readonly<Record<string, string>>;
  /** The seconds to wait before another attempt, if the server sent them. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    facts: { status: number; fields?: Record<string, string>; retryAfter?: number | null },
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = facts.status;
    this.fields = facts.fields ?? {};
    this.retryAfter = facts.retryAfter ?? null;
  }
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** An automatic poll: it does not extend the session (the controller's X-WS-Session-Quiet). */
  readonly quiet?: boolean;
}

const TIMEOUT_MS = 60_000;

/** The window event for a change that was refused because the session has expired. */
export const CHANGE_WITHOUT_SESSION = 'change-without-session';

/**
 * Sends a request to the API and returns the response's body, undefined for an empty one. A change that is
 * refused because the cookie with the CSRF token is missing or outdated is resent once with a new token.
 * @param path A path of this origin, such as `/api/v2/users/`.
 * @throws ApiError for every response other than 2xx, and if there is none within a minute.
 */
export async function callApi<T>(path: string, options: RequestOptions = {}): Promise<T> {
  try {
    return await send<T>(path, options);
  } catch (error) {
    if (!isCsrfRefusal(error)) throw error;
  }
  // Sets the cookie, on the service and on a controller.
  await send('/api/', {});
  return send<T>(path, options).catch((error: unknown) => {
    if (!isCsrfRefusal(error)) throw error;
    const advice =
      'Nothing was changed. Check that the browser accepts cookies from this site, and try again.';
    throw new ApiError(`${error.message} ${advice}`, { status: error.status });
  });
}

/** Whether a change was refused as a possible forgery, by the text of Django REST framework and the service. */
function isCsrfRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403 && error.message.startsWith('CSRF Failed');
}

/** What went wrong, in a sentence or two, with the time to wait if the server sent it. */
export function problemText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // Browsers' messages about a part of the page that they could not load.
  if (/dynamically imported|module script|preload CSS/.test(message)) {
    return 'The page could not be loaded. Check the connection and try again.';
  }
  const wait = error instanceof ApiError ? error.retryAfter : null;
  return wait === null ? message : `${message} Try again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`;
}

async function send<T>(path: string, options: RequestOptions): Promise<T> {
  const { method = 'GET', body, signal, quiet = false } = options;
  const early = method === 'GET' ? takeEarly(path) : undefined;
  if (early !== undefined) return (await early.answer) as T;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(path, {
    method,
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    credentials: 'same-origin',
    headers: {
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(method !== 'GET' && { 'X-CSRFToken': cookie('csrftoken') }),
      ...(quiet && { 'X-WS-Session-Quiet': '1' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError('The service did not respond. Check the connection and try again.', { status: 0 });
  });
  const text = await response.text();
  const answer = parse(text);
  if (response.ok) {
    if (answer !== undefined || text === '') return answer as T;
    const advice = 'A proxy or firewall between this page and the service may have responded instead.';
    throw new ApiError(`The response could not be parsed. ${advice}`, { status: response.status });
  }
  const isRead = method === 'GET' || method === 'OPTIONS';
  if (response.status === 401 && !isRead) window.dispatchEvent(new Event(CHANGE_WITHOUT_SESSION));
  throw failure(response, answer);
}

/** A read that was started before it was requested. */
interface EarlyRead {
  readonly answer: Promise<unknown>;
  /** The response, once it arrived. */
  value?: unknown;
}

const EARLY_MS = 10_000;
const earlyReads = new Map<string, EarlyRead>();

/** Starts reading a path before the page that needs it is loaded. Its next read within ten seconds gets the result. */
export function readEarly(path: string, options: RequestOptions = {}): void {
  const read: EarlyRead = { answer: callApi(path, options) };
  read.answer.then(
    (value) => {
      read.value = value;
    },
    // The caller that takes the response shows the failure.
    () => undefined,
  );
  earlyReads.set(path, read);
  setTimeout(() => earlyReads.delete(path), EARLY_MS);
}

/** Resolves once the early reads have been answered, or after `limit` milliseconds. */
export async function earlyAnswers(limit: number): Promise<void> {
  const answers = [...earlyReads.values()].map(({ answer }) => answer);
  await Promise.race([Promise.allSettled(answers), new Promise((resolve) => setTimeout(resolve, limit))]);
}

/** Takes the response to an early read; undefined if there is no such read or no response yet. */
export function earlyAnswer(path: string): unknown {
  return earlyReads.get(path)?.value === undefined ? undefined : takeEarly(path)?.value;
}

function takeEarly(path: string): EarlyRead | undefined {
  const read = earlyReads.get(path);
  earlyReads.delete(path);
  return read;
}

/** The value of a cookie that scripts may read; empty if it does not exist. */
export function cookie(name: string): string {
  const found = document.cookie.split('; ').find((each) => each.startsWith(`${name}=`));
  return found === undefined ? '' : decodeURIComponent(found.slice(name.length + 1));
}

/** A path with a query string, without empty or undefined parameters. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)]));
  return entries.length === 0 ? path : `${path}?${search}`;
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The keys of messages that belong to no single field. */
const GENERAL = new Set(['detail', '__all__', 'non_field_errors', 'error', 'msg']);

function failure(response: Response, answer: unknown): ApiError {
  const { status } = response;
  const retryAfter = seconds(response.headers.get('Retry-After'));
  if (typeof answer !== 'object' || answer === null) {
    const message = Array.isArray(answer) ? textOf(answer) : `The service responded with status ${status}.`;
    return new ApiError(message, { status, retryAfter });
  }
  const entries = Object.entries(answer);
  const general = entries.filter(([name]) => GENERAL.has(name)).map(([, value]) => textOf(value));
  const fields = Object.fromEntries(entries.filter(([name]) => !GENERAL.has(name)).flatMap(fieldMessages));
  const message = general.length > 0 ? general.join(' ') : defaultMessage(status, fields);
  return new ApiError(message, { status, fields, retryAfter });
}

function defaultMessage(status: number, fields: Readonly<Record<string, string>>): string {
  const names = Object.keys(fields);
  if (names.length > 0) return 'Some values were rejected.';
  return `The service responded with status ${status}.`;
}

/** A field with its message. For an object of messages, each part with its own, as `field.part`. */
function fieldMessages([name, value]: readonly [string, unknown]): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, textOf(value)]];
  return Object.entries(value).map(([part, inner]) => [`${name}.${part}`, textOf(inner)] as const);
}

/** Messages are texts, lists of them, or objects of lists, for a setting with several values. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(' ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${textOf(inner)}`)
      .join(' ');
  }
  return String(value);
}

/** Retry-After in seconds (RFC 9110 section 10.2.3), from seconds or a date. */
function seconds(header: string | null): number | null {
  if (header === null) return null;
  const given = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(given) ? Math.max(0, Math.ceil(given)) : null;
}

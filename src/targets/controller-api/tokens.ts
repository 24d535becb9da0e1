import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { z } from 'zod';
import type { Outcome } from '../../domain/plan.ts';
import type { ApplicationReference, Token, UserReference } from '../../domain/token.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import type { CreatedToken, TokenRequest } from '../../operations/ports/target.ts';
import { readCaller } from './account.ts';
import type { Api } from './api.ts';
import { type HttpResponse, MAX_REQUESTS_IN_FLIGHT } from './connection.ts';
import type { Listing } from './listing.ts';
import { isTransient } from './network-errors.ts';
import { isJson, isUnauthenticated, parseJson, responseError } from './responses.ts';

type Fields = Readonly<Record<string, unknown>>;

export const TOKEN_LISTING: Listing<Token> = { path: 'tokens/', what: 'the list of tokens', read: readToken };

/** Reads a token from the controller's JSON; null if invalid. Uses no schema, because there may be a million tokens. */
function readToken(body: unknown): Token | null {
  if (!isFields(body)) return null;
  const { id, scope, description } = body;
  const created = dateOf(body['created']);
  const expires = dateOf(body['expires']);
  if (!isId(id) || typeof scope !== 'string' || created === null || expires === null) return null;
  const summary = isFields(body['summary_fields']) ? body['summary_fields'] : {};
  return {
    id,
    user: userReference(body['user'], summary['user']),
    application: applicationReference(body['application'], summary['application']),
    scope,
    description: typeof description === 'string' ? description : '',
    created,
    expires,
    lastUsed: 'last_used' in body ? dateOf(body['last_used']) : undefined,
    // The controller masks an existing refresh token, and shows null for a missing one.
    hasRefreshToken: typeof body['refresh_token'] === 'string' && body['refresh_token'] !== '',
    fingerprint: null,
  };
}

function userReference(id: unknown, summary: unknown): UserReference | null {
  if (!isId(id)) return null;
  const name = isFields(summary) ? summary['username'] : undefined;
  return { id, username: typeof name === 'string' ? name : `user ${id}` };
}

function applicationReference(id: unknown, summary: unknown): ApplicationReference | null {
  if (!isId(id)) return null;
  const name = isFields(summary) ? summary['name'] : undefined;
  return { id, name: typeof name === 'string' ? name : `application ${id}` };
}

function dateOf(value: unknown): Date | null {
  if (typeof value !== 'string') return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** The provider's name in the refusal of a token [seen on controllers and gateways]. */
const PROVIDER = /external authentication provider \(([^()"]{1,512})\)/;

const createdToken = z.object({ token: z.string().min(1) });

/**
 * Creates a personal access token for the caller. A lifetime is sent as an end time, corrected by the known
 * difference to the server's clock.
 * @throws TokenctlError as requests do; `unsupported` for another user or a lifetime; `permission_refused`
 * with the provider in its details if the caller is an external user and such users may not have tokens.
 */
export async function createPersonalToken(
  api: Api,
  { now, ...request }: TokenRequest & { now: () => Date },
): Promise<CreatedToken> {
  const { scope, description, user, lifetime } = request;
  const caller = user === undefined && lifetime === undefined ? null : await readCaller(api);
  const dialect = caller?.dialect ?? api.dialect.name;
  // tokenctl's own service accepts an earlier end than its settings define.
  const asked = dialect === 'service' ? { user } : { user, lifetime };
  requireRestCreates(asked, { username: caller?.user.username ?? '', dialect });
  const end = lifetime !== undefined && { expires: new Date(now().getTime() + lifetime * 1000) };
  const response = await api.send({ method: 'POST', path: 'tokens/', json: { scope, description, ...end } });
  if (response.status === 403 && response.body.includes('external authentication provider')) {
    throw new TokenctlError(
      'permission_refused',
      'Users from an external identity provider cannot have tokens here',
      {
        hint: 'Use a local account, or ask an administrator to run `tokenctl settings external-tokens allow`.',
        details: { provider: PROVIDER.exec(response.body.toString())?.[1] ?? null },
      },
    );
  }
  const body = parseJson(response, api, 'a new token');
  const token = readToken(body);
  const value = createdToken.safeParse(body).data?.token;
  if (token === null || value === undefined) {
    throw new TokenctlError('target_misbehaved', `${api.address} did not return the new token`, {
      hint: 'The token may have been created. Check with `tokenctl tokens list`.',
    });
  }
  const fingerprint = createHash('sha256').update(value).digest('hex').slice(0, 12);
  return { token: { ...token, fingerprint }, value: new Secret(value) };
}

/** The initial limit of deletions in flight. Each quick response raises it by one. */
const FIRST_LIMIT = 20;
const MIN_LIMIT = 4;
/** Slower responses lower the limit. In milliseconds. */
const SLOW_MS = 500;
/** How long an interruption waits for the deletions in flight, in milliseconds. */
const GRACE_MS = 900;

/** A batch's deletions that wait for a slot. */
type WaitingBatch = (() => void)[];

/**
 * Limits the deletions in flight over all batches of one target. The limit follows the response time, so that
 * requests in flight are answered within about {@link SLOW_MS}, which is how long an interruption waits. Earlier
 * batches go first: they end one by one, and while one is recorded, the others keep the connections busy.
 */
export class DeletionLimit {
  #limit = FIRST_LIMIT;
  #inFlight = 0;
  /** How many responses must arrive before the limit may fall again. */
  #untilNextFall = 0;
  readonly #batches = new Set<WaitingBatch>();

  /** Begins a batch. End it with {@link end}. */
  begin(): WaitingBatch {
    const batch: WaitingBatch = [];
    this.#batches.add(batch);
    return batch;
  }

  end(batch: WaitingBatch): void {
    this.#batches.delete(batch);
  }

  /** Waits for a slot. Release it with {@link leave}. */
  async enter(batch: WaitingBatch): Promise<void> {
    if (this.#inFlight < this.#limit) this.#inFlight += 1;
    else await new Promise<void>((resolve) => batch.push(resolve));
  }

  /** Releases a slot. @param responseMs The response time; undefined if nothing was sent. */
  leave(responseMs?: number): void {
    this.#inFlight -= 1;
    if (responseMs !== undefined) this.#adapt(responseMs);
    while (this.#inFlight < this.#limit) {
      const next = this.#next();
      if (next === undefined) return;
      this.#inFlight += 1;
      next();
    }
  }

  #next(): (() => void) | undefined {
    for (const batch of this.#batches) if (batch.length > 0) return batch.shift();
    return undefined;
  }

  #adapt(responseMs: number): void {
    this.#untilNextFall -= 1;
    if (responseMs < SLOW_MS / 2) this.#limit = Math.min(this.#limit + 1, MAX_REQUESTS_IN_FLIGHT);
    if (responseMs <= SLOW_MS || this.#untilNextFall > 0) return;
    this.#limit = Math.max(MIN_LIMIT, Math.floor((this.#limit * SLOW_MS) / responseMs));
    this.#untilNextFall = this.#inFlight;
  }
}

/**
 * Deletes access tokens, many at a time, and yields each outcome. A missing token (404) counts as unchanged:
 * a retry after a broken connection gets this response if the first attempt succeeded.
 * @param options `signal`: once aborted, no further request is sent, and those in flight are awaited for
 * {@link GRACE_MS}. A token without a response by then failed with an unknown result, and a token that was
 * not started has no outcome.
 * @throws TokenctlError if no further token can be tried (`credentials_refused`, `target_unreachable`), after
 * all requests in flight have ended.
 */
export async function* deleteTokens(
  api: Api,
  ids: readonly number[],
  options: { readonly limit: DeletionLimit; readonly signal?: AbortSignal | undefined },
): AsyncIterable<Outcome> {
  const { limit, signal } = options;
  const pending = ids.values();
  const batch = limit.begin();
  const outcomes = new OutcomeQueue();
  const grace = graceAfter(signal);
  let failure: TokenctlError | null = null;
  const take = () => (failure !== null || signal?.aborted ? undefined : pending.next().value);
  const attempt = async (tokenId: number) => {
    try {
      outcomes.add(await Promise.race([deleteToken(api, tokenId), grace.expired(tokenId)]));
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      failure ??= error;
      if (error.code !== 'credentials_refused') outcomes.add(unknownOutcome(tokenId, error.message));
    }
  };
  const work = async () => {
    for (;;) {
      await limit.enter(batch);
      const tokenId = take();
      if (tokenId === undefined) return limit.leave();
      const started = performance.now();
      await attempt(tokenId).finally(() => limit.leave(performance.now() - started));
    }
  };
  const workers = Array.from({ length: Math.min(MAX_REQUESTS_IN_FLIGHT, ids.length) }, work);
  outcomes.endAfter(Promise.all(workers).finally(() => limit.end(batch)));
  try {
    yield* outcomes.all();
  } finally {
    grace.end();
  }
  if (failure !== null) throw failure;
}

/** Ends the wait for responses some time after a signal. One listener and one timer serve all requests of a batch. */
function graceAfter(signal: AbortSignal | undefined) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    timer = setTimeout(resolve, GRACE_MS);
  };
  if (signal?.aborted) begin();
  else signal?.addEventListener('abort', begin, { once: true });
  return {
    expired: async (tokenId: number): Promise<Outcome> => {
      await promise;
      return unknownOutcome(tokenId, 'interrupted before the response');
    },
    end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', begin);
      resolve();
    },
  };
}

async function deleteToken(api: Api, tokenId: number): Promise<Outcome> {
  const response = await api.send({ method: 'DELETE', path: `tokens/${tokenId}/` });
  if (response.status >= 200 && response.status <= 299) return { tokenId, result: 'revoked' };
  // Only the controller's own 404 means that the token is missing; a proxy's says nothing about it.
  if (response.status === 404 && isJson(response)) return { tokenId, result: 'unchanged' };
  if (isUnauthenticated(response) || isTransient(response)) {
    throw responseError(response, api, 'the revocation');
  }
  const reason = failureReason(response, api);
  return { tokenId, result: 'failed', reason, ...(response.status === 403 && { refused: true as const }) };
}

function failureReason(response: HttpResponse, api: Api): string {
  if (response.status === 403 && api.answeredBy() === api.address)
    return 'this account, or the scope of this token, does not allow revoking it';
  if (response.status === 409) return 'the target reports it as in use';
  return responseError(response, api, 'the revocation').message;
}

function unknownOutcome(tokenId: number, why: string): Outcome {
  return { tokenId, result: 'failed', reason: `no response, so it may or may not be revoked: ${why}` };
}

/** Passes on the outcomes of several workers in order of arrival. */
class OutcomeQueue {
  #ready: Outcome[] = [];
  #workers: Promise<unknown> | null = null;
  #hasEnded = false;
  #wake: () => void = () => undefined;

  add(outcome: Outcome): void {
    this.#ready.push(outcome);
    this.#wake();
  }

  /** No outcomes follow once the workers have ended. If they fail, {@link all} throws their error. */
  endAfter(workers: Promise<unknown>): void {
    this.#workers = workers.finally(() => {
      this.#hasEnded = true;
      this.#wake();
    });
    // `all` awaits it at the end. Without this handler, an earlier failure would be an unhandled rejection.
    this.#workers.catch(() => undefined);
  }

  async *all(): AsyncIterable<Outcome> {
    for (;;) {
      const ready = this.#ready;
      this.#ready = [];
      yield* ready;
      if (this.#ready.length > 0) continue;
      if (this.#hasEnded) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await this.#workers;
  }
}

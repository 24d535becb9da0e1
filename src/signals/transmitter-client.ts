import { TokenctlError } from '@tokenctl/common/errors.ts';
import { exchange } from '@tokenctl/common/network/exchange.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { z } from 'zod';
import type {
  EventStream,
  PollAnswer,
  PollRequest,
  PollSource,
  StreamManagement,
  TransmitterMetadata,
  WantedStream,
} from '../operations/ports/transmitters.ts';

export interface TransmitterClientOptions {
  /** Its name in messages: `The transmitter corporate`. */
  readonly name: string;
  /** The value of the Authorization header. A new one after the transmitter refused the last. */
  readonly authorization: (last?: 'refused') => Promise<Secret>;
  /** Aborted when the caller gives up. */
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;
/** In bytes: a hundred of the longest tokens. */
const MAX_BYTES = 8 * 1024 * 1024;

interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly body?: unknown;
  /** The language of the descriptions in the body. */
  readonly language?: string;
  /** Whether the token is sent. */
  readonly signedIn?: boolean;
  readonly signal?: AbortSignal;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends a request, and retries once with a new token if refused: tokens may expire during a long poll. */
async function ask(options: TransmitterClientOptions, request: Exchange): Promise<Answer> {
  if (request.signedIn === false) return await send(options, request, null);
  const answer = await send(options, request, await options.authorization());
  return answer.status === 401
    ? await send(options, request, await options.authorization('refused'))
    : answer;
}

/** Sends one request. Follows no redirect, and quotes only the status of the response. */
async function send(
  { name, signal: given }: TransmitterClientOptions,
  { method, url, body, language, signal }: Exchange,
  authorization: Secret | null,
): Promise<Answer> {
  const signals = [AbortSignal.timeout(TIMEOUT_MS), given, signal].filter((each) => each !== undefined);
  const response = await exchange(url, {
    method,
    headers: {
      accept: 'application/json',
      ...(authorization !== null && { authorization: authorization.reveal() }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(language !== undefined && { 'content-language': language }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.any(signals),
    maxBytes: MAX_BYTES,
  }).catch((cause: unknown) => {
    if (given?.aborted || signal?.aborted) throw new TokenctlError('interrupted', 'Interrupted', { cause });
    if (cause instanceof TokenctlError) throw cause;
    throw new TokenctlError('target_unreachable', `${name} could not be reached at ${shown(url)}`, {
      hint: 'Check the address, the network and the certificate.',
      cause,
    });
  });
  return { status: response.status, body: await response.json().catch(() => null) };
}

function refusal({ name }: TransmitterClientOptions, what: string, status: number): TokenctlError {
  const said = `${name} responded with ${status} to ${what}`;
  if (status === 401) {
    return new TokenctlError('credentials_refused', said, { hint: 'Check the configured token or client.' });
  }
  if (status === 403) {
    return new TokenctlError('permission_refused', said, {
      hint: "Give the token's client permission to manage and read its stream.",
    });
  }
  const passes = status === 429 || status >= 500;
  return new TokenctlError(passes ? 'target_unreachable' : 'target_misbehaved', said, {
    hint: passes ? 'Try again later.' : undefined,
  });
}

const pollAnswer = z.object({
  sets: z.record(z.string(), z.string()).default({}),
  moreAvailable: z.boolean().default(false),
});

/** A polled stream (RFC 8936). */
export function openPollSource(url: string, options: TransmitterClientOptions): PollSource {
  return {
    async poll({ acknowledged, refused, maxEvents }: PollRequest, signal: AbortSignal): Promise<PollAnswer> {
      const { status, body } = await ask(options, {
        ...{ method: 'POST', url, signal },
        // RFC 8936, section 2.6.
        ...(refused.size > 0 && { language: 'en' }),
        body: {
          maxEvents,
          returnImmediately: true,
          ...(acknowledged.length > 0 && { ack: acknowledged }),
          ...(refused.size > 0 && { setErrs: Object.fromEntries(refused) }),
        },
      });
      if (status !== 200 && !(status === 204 && maxEvents === 0))
        throw refusal(options, 'a poll for events', status);
      const { sets, moreAvailable } = read(options, 'a poll for events', pollAnswer, body ?? {});
      return { sets: new Map(Object.entries(sets)), hasMore: moreAvailable };
    },
  };
}

const metadataAnswer = z.object({
  issuer: z.string(),
  jwks_uri: z.string().optional(),
  delivery_methods_supported: z.array(z.string()).default([]),
  configuration_endpoint: z.string().optional(),
  status_endpoint: z.string().optional(),
  verification_endpoint: z.string().optional(),
  critical_subject_members: z.array(z.string().regex(/^[\x21-\x7e]{1,100}$/)).default([]),
  default_subjects: z.string().optional(),
});

const streamAnswer = z.object({
  stream_id: z.string().min(1).max(256),
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  delivery: z.object({ method: z.string(), endpoint_url: z.string().optional() }),
  events_delivered: z.array(z.string()).optional(),
});

/** The path of a transmitter's metadata, inserted before its issuer's path (OpenID Shared Signals 1.0, section 7.2). */
const WELL_KNOWN = '/.well-known/ssf-configuration';

/**
 * The management API of the transmitter with this issuer.
 * @param options `host` is where the token may be sent, if not to the issuer's host: metadata can contain any URL.
 */
export function openStreamManagement(
  issuer: string,
  options: TransmitterClientOptions & { readonly host?: string | undefined },
): StreamManagement {
  let published: Promise<z.output<typeof metadataAnswer>> | undefined;
  const readMetadata = async () => {
    const url = metadataAddress(issuer);
    const { status, body } = await ask(options, { method: 'GET', url, signedIn: false });
    if (status !== 200) throw refusal(options, shown(url), status);
    return read(options, shown(url), metadataAnswer, body);
  };
  const requireHost = (text: string) => {
    const own = options.host ?? URL.parse(issuer)?.host;
    const host = URL.parse(text)?.host;
    if (host === own) return;
    throw new TokenctlError(
      'target_misbehaved',
      `${options.name} uses a management API on ${host ?? 'an invalid address'}, but the token is for ${own}`,
      { hint: "If the API is there, set the transmitter's `management.host` to that host." },
    );
  };
  const metadata = () => {
    published ??= readMetadata();
    return published;
  };
  const endpoint = async (name: `${'configuration' | 'status' | 'verification'}_endpoint`) => {
    const found = await metadata();
    // The token is sent there, so the issuer's own page must confirm it.
    if (found.issuer !== issuer)
      throw new TokenctlError(
        'target_misbehaved',
        `${options.name} publishes a different issuer: ${found.issuer}`,
      );
    const url = found[name] ?? null;
    if (url !== null) requireHost(url);
    return url;
  };
  const required = async (name: Parameters<typeof endpoint>[0]) => {
    const url = await endpoint(name);
    if (url !== null) return url;
    throw new TokenctlError('unsupported', `${options.name} publishes no ${name}`, {
      hint: "Manage its stream in the provider's own administration.",
    });
  };
  const withId = (url: string, id: string) => {
    const address = new URL(url);
    address.searchParams.set('stream_id', id);
    return address.href;
  };
  const streams = async () => {
    const url = await required('configuration_endpoint');
    const { status, body } = await ask(options, { method: 'GET', url });
    if (status === 404) return [];
    if (status !== 200) throw refusal(options, 'the list of streams', status);
    const list = Array.isArray(body) ? body : [body];
    return list.map((each) => streamOf(read(options, 'the list of streams', streamAnswer, each)));
  };
  return {
    async metadata(): Promise<TransmitterMetadata> {
      const found = await metadata();
      return {
        issuer: found.issuer,
        jwks: found.jwks_uri ?? null,
        deliveryMethods: found.delivery_methods_supported,
        criticalMembers: found.critical_subject_members,
        needsSubjects: found.default_subjects === 'NONE',
      };
    },
    streams,
    async create({ method, endpoint: pushTo, authorization, events }: WantedStream) {
      const url = await required('configuration_endpoint');
      const delivery = {
        method,
        ...(pushTo !== null && { endpoint_url: pushTo }),
        ...(authorization !== null && { authorization_header: authorization.reveal() }),
      };
      const body = { delivery, events_requested: events, description: 'tokenctl' };
      const answer = await ask(options, { method: 'POST', url, body });
      if (answer.status === 409) throw existing(options, await streams());
      if (answer.status !== 201 && answer.status !== 200)
        throw refusal(options, 'the creation of a stream', answer.status);
      return streamOf(read(options, 'the creation of a stream', streamAnswer, answer.body));
    },
    async status(id) {
      const url = await endpoint('status_endpoint');
      if (url === null) return null;
      const { status, body } = await ask(options, { method: 'GET', url: withId(url, id) });
      if (status !== 200) throw refusal(options, 'the state of the stream', status);
      return read(options, 'the state of the stream', z.object({ status: z.string().max(100) }), body).status;
    },
    async verify(id, state) {
      const url = await required('verification_endpoint');
      const { status } = await ask(options, { method: 'POST', url, body: { stream_id: id, state } });
      if (status !== 204 && status !== 200 && status !== 202)
        throw refusal(options, 'the request for a verification event', status);
    },
    async delete(id) {
      const url = await required('configuration_endpoint');
      const { status } = await ask(options, { method: 'DELETE', url: withId(url, id) });
      if (status === 404) return false;
      if (status !== 204 && status !== 200) throw refusal(options, 'the deletion of the stream', status);
      return true;
    },
  };
}

/** The error for a transmitter that allows no further stream (section 8.1.1.1). */
function existing({ name }: TransmitterClientOptions, streams: readonly EventStream[]): TokenctlError {
  const there = streams.map(
    ({ id, method, endpoint }) => `${id} (${method}${endpoint && ` to ${endpoint}`})`,
  );
  return new TokenctlError(
    'configuration',
    `${name} allows no more streams for this client. There is: ${there.join(', ') || 'none visible'}`,
    { hint: "Set `push.url` or `poll` to match that stream, or delete it in the provider's administration." },
  );
}

function metadataAddress(issuer: string): string {
  const url = URL.parse(issuer);
  if (url === null) throw new TokenctlError('configuration', `The issuer "${issuer}" is not an address`);
  const path = url.pathname.replace(/\/$/, '');
  return `${url.origin}${WELL_KNOWN}${path}`;
}

function streamOf(answer: z.output<typeof streamAnswer>): EventStream {
  const { stream_id: id, iss, aud, delivery, events_delivered: delivered } = answer;
  return {
    ...{ id, issuer: iss, audience: typeof aud === 'string' ? [aud] : aud, method: delivery.method },
    endpoint: delivery.endpoint_url ?? null,
    delivered: delivered ?? null,
  };
}

function read<Shape extends z.ZodType>(
  { name }: TransmitterClientOptions,
  what: string,
  shape: Shape,
  body: unknown,
): z.output<Shape> {
  const result = shape.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : ` (${issue.path.join('.')})`;
  throw new TokenctlError('target_misbehaved', `${name} returned ${what} in an invalid format${where}`);
}

/** A URL without possible secrets. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

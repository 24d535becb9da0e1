import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { AUDIENCE, EVENTS, type startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { MANAGEMENT_TOKEN } from './signal-world.ts';

/** What a poll reported. */
interface Reported {
  readonly ack: string[];
  readonly setErrs: Record<string, { readonly err: string }>;
}

/** The management API and the poll endpoint of a transmitter (OpenID Shared Signals 1.0, RFC 8936). */
export interface StreamTransmitter {
  readonly serve: NonNullable<Parameters<typeof startTransmitter>[0]>;
  /** Has it sign verification events with this transmitter's keys. */
  use(transmitter: Transmitter): void;
  /** Has an event wait to be polled. */
  add(id: string, token: string): void;
  /** The events that were not acknowledged or refused yet. */
  waiting(): readonly string[];
  readonly reported: Reported;
  /** What streams were asked for, and deleted. */
  readonly created: { readonly delivery: Record<string, string>; readonly events_requested: string[] }[];
  deleted: number;
  /** The audience of its streams. */
  audience: string;
  /** What it says about the state of its stream. */
  state: string;
  /** The issuer that it publishes; its own unless it is to differ. */
  issuer: string | null;
  /** The issuer of its streams; its own unless it is to differ. */
  streamIssuer: string | null;
  /** Changes the issuer, or the address, of the stream that it has. */
  answerStreamsAs(issuer: string): void;
  moveStream(endpoint: string): void;
  /** Whether it refuses to create a stream, as it has one. */
  conflicts: boolean;
  /** The members of complex subjects that it declares critical. */
  criticalMembers: readonly string[];
  /** The subjects that a new stream is about. */
  defaultSubjects: 'ALL' | 'NONE';
  /** Whether it answers a request for a verification event with one. */
  verifies: boolean;
  /** The status of answers to polls; 200 unless it is to fail. */
  pollStatus: number;
}

/** A transmitter that keeps one stream for its receiver, as a real one does. */
export function streamTransmitter(): StreamTransmitter {
  const events = new Map<string, string>();
  let transmitter: Transmitter | undefined;
  let stream: Record<string, unknown> | null = null;
  const self: StreamTransmitter = {
    serve: async (request, url) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', url);
      const body = JSON.parse((await text(request)) || '{}') as Record<string, never>;
      if (pathname === '/.well-known/ssf-configuration') return { status: 200, body: metadata(url) };
      if (request.headers.authorization !== `Bearer ${MANAGEMENT_TOKEN}`) return { status: 401, body: null };
      const routes: Record<string, () => ReturnType<StreamTransmitter['serve']>> = {
        'POST /poll': async () => poll(body),
        'GET /status': async () =>
          searchParams.get('stream_id') === 's-1'
            ? { status: 200, body: { stream_id: 's-1', status: self.state } }
            : { status: 404, body: null },
        'POST /verify': async () =>
          body['stream_id'] === 's-1' ? await verify(body['state'] ?? '') : { status: 404, body: null },
        'GET /streams': async () => ({ status: 200, body: stream === null ? [] : [stream] }),
        'DELETE /streams': async () => remove(searchParams.get('stream_id')),
        'POST /streams': async () => create(url, body),
      };
      return (await routes[`${request.method} ${pathname}`]?.()) ?? null;
    },
    use(given) {
      transmitter = given;
    },
    add: (id, token) => void events.set(id, token),
    waiting: () => [...events.keys()],
    answerStreamsAs(issuer) {
      stream = { ...stream, iss: issuer };
    },
    moveStream(endpoint) {
      stream = { ...stream, delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: endpoint } };
    },
    ...{ reported: { ack: [], setErrs: {} }, created: [], deleted: 0 },
    ...{ audience: AUDIENCE, state: 'enabled', verifies: true, pollStatus: 200 },
    ...{ issuer: null, streamIssuer: null, conflicts: false, defaultSubjects: 'ALL', criticalMembers: [] },
  };
  const metadata = (url: string) => ({
    ...{ issuer: self.issuer ?? url, jwks_uri: `${url}/jwks`, configuration_endpoint: `${url}/streams` },
    ...{ status_endpoint: `${url}/status`, verification_endpoint: `${url}/verify` },
    critical_subject_members: self.criticalMembers,
    default_subjects: self.defaultSubjects,
    delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
  });
  function remove(id: string | null) {
    if (stream === null || id !== 's-1') return { status: 404, body: null };
    stream = null;
    self.deleted += 1;
    return { status: 204, body: null };
  }
  function create(url: string, body: Record<string, never>) {
    const { delivery } = body as unknown as StreamTransmitter['created'][number];
    if (self.conflicts) return { status: 409, body: null };
    self.created.push(body as unknown as StreamTransmitter['created'][number]);
    const isPoll = delivery['method'] === 'urn:ietf:rfc:8936';
    stream = {
      ...{
        stream_id: 's-1',
        iss: self.streamIssuer ?? url,
        aud: self.audience,
        events_delivered: [EVENTS.sessionRevoked],
      },
      delivery: {
        method: delivery['method'],
        endpoint_url: isPoll ? `${url}/poll` : delivery['endpoint_url'],
      },
    };
    return { status: 201, body: stream };
  }
  async function verify(state: string) {
    const jti = randomUUID();
    if (self.verifies && transmitter !== undefined) {
      const stream = { format: 'opaque', id: 's-1' };
      events.set(jti, await transmitter.event(EVENTS.verification, stream, { jti, body: { state } }));
    }
    return { status: 204, body: null };
  }
  function poll(body: Record<string, never>) {
    if (self.pollStatus !== 200) return { status: self.pollStatus, body: null };
    const {
      ack = [],
      setErrs = {},
      maxEvents = 100,
      returnImmediately = false,
    } = body as unknown as Partial<Reported> & {
      readonly maxEvents?: number;
      readonly returnImmediately?: boolean;
    };
    // RFC 8936, section 2.4.2: else the answer would wait for an event, although it brings none.
    if (!returnImmediately) return { status: 400, body: null };
    for (const id of [...ack, ...Object.keys(setErrs)]) events.delete(id);
    self.reported.ack.push(...ack);
    Object.assign(self.reported.setErrs, setErrs);
    const sent = [...events].slice(0, maxEvents);
    return {
      status: 200,
      body: { sets: Object.fromEntries(sent), moreAvailable: sent.length < events.size },
    };
  }
  return self;
}

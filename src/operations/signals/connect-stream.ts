import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  deliveryMethods,
  type EventStream,
  type StreamManagement,
  type WantedStream,
} from '../ports/transmitters.ts';

/** The configuration of a transmitter whose stream is managed. */
export interface StreamSettings {
  readonly issuer: string;
  /** Where the keys are published; null if they are in a file. */
  readonly jwks: string | null;
  readonly audience: readonly string[];
  readonly criticalMembers: readonly string[];
  readonly method: keyof typeof deliveryMethods;
  /** Where events are pushed or polled; null if not configured. */
  readonly endpoint: string | null;
}

/** A configuration value that does not match the stream. */
interface WantedSetting {
  /** Its path below the transmitter: `audience`, `poll.url`. */
  readonly path: string;
  readonly value: string;
}

/** A stream, and the configuration changes it needs. */
export interface ConnectedStream {
  readonly stream: EventStream;
  readonly isNew: boolean;
  readonly settings: readonly WantedSetting[];
  /** Requested event types that the transmitter does not send. */
  readonly withheld: readonly string[];
  /** Whether the stream has no subjects until they are added. */
  readonly needsSubjects: boolean;
}

/**
 * Finds the stream of this configuration at its transmitter; null if there is none.
 * @throws TokenctlError `configuration` if the transmitter is not the configured one, and as the API.
 */
export async function findStream(
  api: StreamManagement,
  settings: StreamSettings,
): Promise<EventStream | null> {
  await requireTransmitter(api, settings);
  const found = await streamOfSettings(api, settings);
  if (found !== null && found.issuer !== settings.issuer) throw ofAnotherIssuer(found);
  return found;
}

async function streamOfSettings(api: StreamManagement, settings: StreamSettings) {
  const method = deliveryMethods[settings.method];
  const streams = (await api.streams()).filter((each) => each.method === method);
  const { endpoint } = settings;
  if (endpoint !== null) {
    const same = streams.find((each) => each.endpoint === endpoint);
    if (same !== undefined || settings.method === 'push') return same ?? null;
  }
  if (streams.length > 1)
    throw new TokenctlError('configuration', `The client of this token has ${streams.length} poll streams`, {
      hint: 'Select one with poll.url.',
    });
  return streams[0] ?? null;
}

/** Shared Signals 1.0, sections 8.1.1.1 and 8.1.1.2: a stream's `iss` is the issuer that named the API. */
function ofAnotherIssuer({ id, issuer }: EventStream): TokenctlError {
  return new TokenctlError('target_misbehaved', `The stream ${id} belongs to a different issuer: ${issuer}`, {
    hint: 'Its events would be rejected. Ask the operator of the transmitter.',
  });
}

async function requireTransmitter(api: StreamManagement, { issuer, jwks, method }: StreamSettings) {
  const metadata = await api.metadata();
  if (metadata.issuer !== issuer) {
    throw new TokenctlError(
      'configuration',
      `The transmitter publishes the issuer ${metadata.issuer}, but the configuration contains ${issuer}`,
      { hint: 'Its events would be rejected. Correct the issuer if this is the right transmitter.' },
    );
  }
  if (metadata.jwks !== null && jwks !== null && metadata.jwks !== jwks) {
    throw new TokenctlError(
      'configuration',
      `The transmitter publishes its keys at ${metadata.jwks}, not at ${jwks}`,
      { hint: "Correct the transmitter's `jwks`." },
    );
  }
  const { deliveryMethods: offered } = metadata;
  if (offered.length === 0 || offered.includes(deliveryMethods[method])) return;
  throw new TokenctlError(
    'unsupported',
    `The transmitter does not deliver by ${method}: ${offered.join(', ')}`,
    {
      hint: `Use \`${method === 'push' ? 'poll' : 'push'}\` instead, as described in \`tokenctl docs signals\`.`,
    },
  );
}

/**
 * Creates the stream of this configuration unless it exists, and compares it with the configuration.
 * @param record Called before the stream is created, and with it afterwards; if it throws, the stream is not
 * created.
 * @throws TokenctlError as {@link findStream}.
 */
export async function connectStream(
  api: StreamManagement,
  options: {
    settings: StreamSettings;
    wanted: WantedStream;
    record: (created: EventStream | null) => Promise<void>;
  },
): Promise<ConnectedStream> {
  const { settings, wanted, record } = options;
  const found = await findStream(api, settings);
  if (found === null) await record(null);
  const stream = found ?? (await api.create(wanted));
  if (found === null) await record(stream);
  if (stream.issuer !== settings.issuer) {
    // Just created, and unusable.
    await api.delete(stream.id);
    throw ofAnotherIssuer(stream);
  }
  const { needsSubjects, criticalMembers } = await api.metadata();
  const isKnown = criticalMembers.every((each) => settings.criticalMembers.includes(each));
  const critical = isKnown ? [] : [{ path: 'criticalMembers', value: `[${criticalMembers.join(', ')}]` }];
  const { delivered } = stream;
  const withheld = delivered === null ? [] : wanted.events.filter((uri) => !delivered.includes(uri));
  return {
    stream,
    isNew: found === null,
    settings: [...wantedSettings(stream, settings), ...critical],
    withheld,
    needsSubjects,
  };
}

function wantedSettings(stream: EventStream, { audience, method, endpoint }: StreamSettings) {
  const [first = ''] = stream.audience;
  return [
    ...(stream.audience.some((each) => audience.includes(each)) ? [] : [{ path: 'audience', value: first }]),
    ...(method === 'poll' && stream.endpoint !== null && stream.endpoint !== endpoint
      ? [{ path: 'poll.url', value: stream.endpoint }]
      : []),
  ];
}

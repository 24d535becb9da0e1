import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { TransmitterKeys } from '@tokenctl/common/security-events/transmitter-keys.ts';
import { requestedEvents } from '@tokenctl/common/signals/signal-event.ts';
import { pino } from 'pino';
import type { Configuration } from '../../config/configuration.ts';
import type { Environment } from '../../config/paths.ts';
import { readSecret, readSecretFile } from '../../config/secrets.ts';
import type { SignalsSettings, TransmitterSettings } from '../../config/signals.ts';
import type { SecretReference } from '../../config/value-schemas.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import type { SignalStore } from '../../operations/ports/signals.ts';
import {
  deliveryMethods,
  type PolledStreams,
  type PollSource,
  type StreamManagement,
  type TransmitterMetadata,
  type WantedStream,
} from '../../operations/ports/transmitters.ts';
import type { StreamSettings } from '../../operations/signals/connect-stream.ts';
import {
  openPollSource,
  openStreamManagement,
  type TransmitterClientOptions,
} from '../../signals/transmitter-client.ts';
import { Intake } from './intake.ts';
import { HeldNotices } from './notices.ts';
import { openQueue, requireSignals, SignalDesk } from './signal-desk.ts';

/** Throws `not_found` for an unknown transmitter. */
export function transmitterNamed({ transmitters }: SignalsSettings, name: string): TransmitterSettings {
  const found = Object.hasOwn(transmitters, name) ? transmitters[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(transmitters);
  const near = nearestName(name, names);
  throw new TokenctlError('not_found', `The configuration has no transmitter named "${name}"`, {
    hint: near === undefined ? `It has: ${names.join(', ') || 'none'}.` : `Did you mean "${near}"?`,
  });
}

/** The stream of a polled transmitter. Throws TokenctlError `configuration` if its polling is not configured. */
export function pollSourceOf(
  name: string,
  { poll, client }: TransmitterSettings,
  environment: Environment,
): PollSource {
  if (poll?.url === undefined) {
    throw new TokenctlError('configuration', `The transmitter ${name} has no \`poll\` with a \`url\``, {
      hint: 'Run `tokenctl signals connect` with its issuer to find it.',
    });
  }
  const named = `The transmitter ${name}`;
  const authorization = authorizationOf(named, { token: poll.token, client }, environment);
  return openPollSource(poll.url, { name: named, authorization });
}

/** The configured token, or one that its client requests, and requests again once it is refused. */
function authorizationOf(
  name: string,
  { token, client }: { token: SecretReference | undefined } & Pick<TransmitterSettings, 'client'>,
  environment: Environment,
): TransmitterClientOptions['authorization'] {
  if (token !== undefined) {
    const bearer = new Secret(`Bearer ${readSecret(token, environment).reveal()}`);
    return () => Promise.resolve(bearer);
  }
  if (client === undefined)
    throw new TokenctlError('configuration', `${name} has neither a token nor a client`);
  const { tokenUrl, clientId, clientSecret, privateKey, keyId, scope } = client;
  const credential =
    clientSecret === undefined
      ? {
          privateKey: new Secret(readSecretFile(privateKey?.file ?? '', environment)),
          ...(keyId !== undefined && { keyId }),
        }
      : { secret: readSecret(clientSecret, environment) };
  let made: Promise<Secret> | undefined;
  return async (last) => {
    if (last === 'refused') made = undefined;
    made ??= import('../../directories/access-tokens.ts').then(({ clientCredentialsToken }) =>
      clientCredentialsToken({ name, tokenUrl: new URL(tokenUrl), clientId, credential, scope }),
    );
    return await made;
  };
}

/** A transmitter with a managed stream. */
export interface ManagedTransmitter {
  readonly name: string;
  readonly api: StreamManagement;
  readonly settings: StreamSettings;
  readonly wanted: WantedStream;
}

/** Opens a transmitter's management API. Throws `configuration` if a required setting is missing. */
export function managedTransmitter(
  name: string,
  transmitter: TransmitterSettings,
  { environment, signal }: { environment: Environment; signal: AbortSignal },
): ManagedTransmitter {
  const { issuer, jwks, audience = [], criticalMembers, push, poll, management, client } = transmitter;
  const lacks = (what: string, hint: string) =>
    new TokenctlError('configuration', `The transmitter ${name} has no ${what}`, { hint });
  if (management === undefined)
    throw lacks(
      '`management`',
      'Add `management: { token: { file: PATH } }` with a token for its management API, or `management: {}` and a `client`.',
    );
  const method = poll === undefined ? 'push' : 'poll';
  if (push === undefined && poll === undefined)
    throw lacks(
      '`push` or `poll`',
      'Configure how its events arrive, as described in `tokenctl docs signals`.',
    );
  const endpoint = poll === undefined ? (push?.url ?? null) : (poll.url ?? null);
  if (method === 'push' && endpoint === null)
    throw lacks('`push.url`', `Set the address where it can reach the receiver: https://…/signals/${name}`);
  const token = push?.token === undefined ? null : readSecret(push.token, environment);
  const called = `The transmitter ${name}`;
  return {
    name,
    api: openStreamManagement(issuer, {
      ...{ name: called, signal, host: management.host },
      authorization: authorizationOf(called, { token: management.token, client }, environment),
    }),
    settings: {
      issuer,
      jwks: typeof jwks === 'string' ? jwks : null,
      audience,
      criticalMembers,
      method,
      endpoint,
    },
    wanted: {
      method: deliveryMethods[method],
      endpoint: method === 'push' ? endpoint : null,
      authorization: token === null ? null : new Secret(`Bearer ${token.reveal()}`),
      events: requestedEvents,
    },
  };
}

/** An intake for polled events. Any process that works on the queue handles what it accepts. */
export function pollingIntake(settings: SignalsSettings, store: SignalStore): Intake {
  return new Intake({
    ...{ settings, store, keys: new TransmitterKeys(), clock: machineClock },
    find: () => Promise.resolve('unknown'),
    onWaiting: () => undefined,
  });
}

/**
 * Opens the streams that the job signals-poll polls, with the queue and the contexts in which their events
 * are handled.
 * @throws TokenctlError as {@link openQueue} and the configuration.
 */
export async function openPolledStreams(options: {
  configuration: Configuration;
  environment: Environment;
  auditLog: AuditLog;
  signal: AbortSignal;
  /** The recipients of notices about pending events, by name. */
  notifiers: ReadonlyMap<string, Notifier>;
}): Promise<PolledStreams> {
  const { configuration, environment, auditLog, signal, notifiers } = options;
  const settings = requireSignals(configuration);
  const store = await openQueue(settings, environment);
  const intake = pollingIntake(settings, store);
  const log = pino({ enabled: false });
  const told = [...notifiers].map(([name, notifier]) => ({ name, notifier }));
  const notices = new HeldNotices({ store, notifiers: told, log });
  const desk = new SignalDesk({ configuration, environment, store, auditLog, log, signal });
  return {
    names: Object.entries(settings.transmitters).flatMap(([name, { poll }]) =>
      poll === undefined ? [] : [name],
    ),
    source: (name) => pollSourceOf(name, transmitterNamed(settings, name), environment),
    take: (name, id, token) => intake.polledEvent(name, id, token),
    check: (name, id, token) => intake.checkPolledEvent(name, id, token),
    async carryOut() {
      const ended = await desk.work();
      notices.send();
      await notices.sent();
      return ended;
    },
    async close() {
      await desk.close();
      await store.close();
    },
  };
}

/** The published metadata of an issuer's transmitter, for one that is not configured yet. */
export async function openMetadata(issuer: string, signal: AbortSignal): Promise<TransmitterMetadata> {
  if (!URL.canParse(issuer))
    throw new TokenctlError('usage', `"${issuer}" is not an address`, {
      hint: 'Specify the issuer: https://…',
    });
  // Reading metadata requires no token.
  const authorization = () => Promise.resolve(new Secret(''));
  const options = { name: `The transmitter at ${new URL(issuer).host}`, authorization, signal };
  return await openStreamManagement(issuer, options).metadata();
}

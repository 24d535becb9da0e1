import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { stateDigest, verificationReason } from '../../app/signals/intake.ts';
import { requireSignals } from '../../app/signals/signal-desk.ts';
import {
  type ManagedTransmitter,
  managedTransmitter,
  openMetadata,
  pollingIntake,
  pollSourceOf,
  transmitterNamed,
} from '../../app/signals/streams.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import type { SignalStore } from '../../operations/ports/signals.ts';
import type { EventStream } from '../../operations/ports/transmitters.ts';
import { type ConnectedStream, connectStream, findStream } from '../../operations/signals/connect-stream.ts';
import { pollStream } from '../../operations/signals/poll-stream.ts';
import { facts, type Line, lines, list, would } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import type { ChangeRequest, Ending, PlannedChange } from '../change/change.ts';
import { writeNotice } from '../output/streams.ts';
import { withQueue } from './signal-view.ts';

/** What `signals connect` prints with `--json`. */
export interface ConnectionJson {
  readonly transmitter: string;
  /** The stream at the transmitter; null in a dry run that would create it. */
  readonly stream: string | null;
  readonly created: boolean;
  /** Whether the requested verification event arrived; null if none was requested. */
  readonly verified: boolean | null;
  /** Settings of the transmitter that must be corrected first. */
  readonly settings: readonly { readonly path: string; readonly value: string }[];
  /** Event types that the transmitter does not send on this stream. */
  readonly withheld: readonly string[];
  /** Whether it only sends events about users added to the stream, which tokenctl does not do. */
  readonly needsSubjects: boolean;
}

/** What `signals disconnect` prints with `--json`. */
export interface DisconnectionJson {
  readonly transmitter: string;
  /** The stream; null if there was none. */
  readonly stream: string | null;
  readonly deleted: boolean;
}

/** The polling interval for the verification event in the queue, in milliseconds. */
const LOOK_MS = 500;

/**
 * Plans to connect to the transmitter with this issuer: to create the stream unless it exists, and to request
 * a verification event.
 * @throws TokenctlError `configuration`, and as the transmitter; its act `audit_unavailable`, and as the
 * queue.
 */
export async function connectFlow({
  issuer,
  waitSeconds,
  ...request
}: ChangeRequest & { issuer: string; waitSeconds: number }): Promise<
  PlannedChange<Connection, ConnectionJson> | Report<ConnectionJson>
> {
  const { runtime, flags } = request;
  const managed = await transmitterOf(runtime, issuer);
  const { name, api, settings, wanted } = managed;
  const found = await findStream(api, settings);
  const { needsSubjects } = await api.metadata();
  const planned: ConnectionJson = {
    ...{ transmitter: name, stream: found?.id ?? null, created: false, verified: null },
    ...{ settings: [], withheld: [], needsSubjects },
  };
  if (flags['dry-run'] === true) {
    const document = [
      found === null ? creationPlan(managed) : lines(`The stream ${found.id} of ${name} already exists.`),
      needsSubjects && lines(NEEDS_SUBJECTS),
    ];
    return report({ json: planned, document });
  }
  return {
    plan: [creationPlan(managed)],
    isElsewhere: true,
    question: found === null ? { act: 'create the stream', type: name } : 'unneeded',
    async act() {
      const connected = await connectStream(api, {
        ...{ settings, wanted },
        async record(stream) {
          if (stream === null && found !== null) throw streamGone(name, found);
          await note(request, { managed, operation: 'signals.connect', stream });
        },
      });
      if (connected.settings.length > 0) return { ...connected, verified: null };
      const verified = await verification(runtime, { managed, stream: connected.stream, waitSeconds });
      return { ...connected, verified };
    },
    ended: (done) => connectionEnding(name, done),
    json: ({ done }) => {
      if (done === null) return planned;
      const { stream, isNew: created, verified, settings, withheld, needsSubjects } = done;
      return { transmitter: name, stream: stream.id, created, verified, settings, withheld, needsSubjects };
    },
  };
}

/** A stream, and whether its verification event arrived; null if none was requested. */
type Connection = ConnectedStream & Pick<ConnectionJson, 'verified'>;

/** The error if a new stream would be needed, which was not confirmed. */
function streamGone(name: string, { id }: EventStream): TokenctlError {
  return new TokenctlError('plan_outdated', `The stream ${id} of ${name} was just deleted`, {
    hint: 'Run it again.',
  });
}

/** The transmitter of an issuer, or how to configure it. */
async function transmitterOf(runtime: Runtime, issuer: string): Promise<ManagedTransmitter> {
  const { configuration, environment } = runtime;
  const signal = runtime.stopSignal();
  const { transmitters } = requireSignals(configuration);
  const same = (one: string) => one.replace(/\/$/, '') === issuer.replace(/\/$/, '');
  const found = Object.entries(transmitters).find(([, each]) => same(each.issuer));
  if (found !== undefined) return managedTransmitter(...found, { environment, signal });
  const metadata = await openMetadata(issuer, signal);
  throw new TokenctlError(
    'configuration',
    `The configuration has no transmitter with the issuer ${metadata.issuer}`,
    {
      hint: `Add it to signals.transmitters with a name of your choice: { issuer: ${metadata.issuer}, jwks: ${metadata.jwks ?? 'URL'}, management: { token: { file: PATH } }, and push or poll as shown in \`tokenctl docs signals\` }.`,
    },
  );
}

/** Shared Signals 1.0, section 7.1: `default_subjects` is `NONE`. */
const NEEDS_SUBJECTS =
  "This transmitter only sends events about users that are added to the stream. Add them in the transmitter's administration; tokenctl does not.";

function creationPlan({ name, settings, wanted }: ManagedTransmitter) {
  return facts(
    [
      ['transmitter', `${name} (${settings.issuer})`],
      ['delivery', settings.method === 'push' ? `push to ${settings.endpoint ?? ''}` : 'poll'],
      ['authorization', wanted.authorization === null ? 'none' : 'the token of push.token'],
      ['events', wanted.events.map((uri) => uri.slice(uri.lastIndexOf('/') + 1))],
    ],
    would`create a stream`.text,
  );
}

/** Records a change to a stream: before it, and after it with the stream's id. */
async function note(
  { runtime, flags }: ChangeRequest,
  entry: { managed: ManagedTransmitter; operation: string; stream: EventStream | null },
): Promise<void> {
  const { managed, operation, stream } = entry;
  const log = await runtime.auditLog();
  await log.append({
    ...{ kind: 'note', operation, run: randomUUID(), actor: runtime.operator },
    target: { context: managed.name, address: managed.settings.issuer },
    data: {
      step: 'operation',
      ...(stream === null ? { begins: true } : { stream: stream.id }),
      ...(flags.reason !== undefined && { reason: flags.reason }),
      ...(flags.ticket !== undefined && { ticket: flags.ticket }),
    },
  });
}

/** Requests a verification event, and waits until it is recorded. */
async function verification(
  runtime: Runtime,
  { managed, stream, waitSeconds }: { managed: ManagedTransmitter; stream: EventStream; waitSeconds: number },
): Promise<boolean> {
  const { name, api, settings } = managed;
  const stopped = runtime.stopSignal();
  const state = randomBytes(16).toString('hex');
  return await withQueue(runtime, async (store) => {
    await store.expect(
      { transmitter: name, stream: stream.id, state: stateDigest(state) },
      machineClock.now(),
    );
    await api.verify(stream.id, state);
    writeNotice(`Waiting up to ${waitSeconds} seconds for the verification event of ${name}.`);
    const end = performance.now() + waitSeconds * 1000;
    const look = settings.method === 'poll' ? pollOnce(runtime, name, store) : () => Promise.resolve();
    while (true) {
      await look();
      const recent = await store.list({ transmitter: name, limit: 1_000 });
      if (recent.some(({ reason }) => reason === verificationReason(state))) return true;
      if (performance.now() > end) return false;
      await sleep(LOOK_MS, undefined, { signal: stopped }).catch((cause: unknown) => {
        throw new TokenctlError('interrupted', 'Interrupted before the verification event arrived', {
          cause,
        });
      });
    }
  });
}

function pollOnce(runtime: Runtime, name: string, store: SignalStore): () => Promise<void> {
  const settings = requireSignals(runtime.configuration);
  const source = pollSourceOf(name, transmitterNamed(settings, name), runtime.environment);
  const intake = pollingIntake(settings, store);
  const take = (id: string, token: string) => intake.polledEvent(name, id, token);
  return async () => {
    await pollStream({ source, take, signal: runtime.stopSignal() });
  };
}

function connectionEnding(
  name: string,
  { stream, isNew, settings, withheld, needsSubjects, verified }: Connection,
): Ending {
  if (verified === null) {
    const wanted = settings.map(({ path, value }) => `${path}: ${value}`);
    return {
      document: [
        lines(
          `${isNew ? 'Created the stream' : 'Found the stream'} ${stream.id}. It does not match the configuration yet. Set in signals.transmitters.${name}:`,
          list(...wanted),
          'Then restart the receiver, and run this command again to request a verification event.',
          needsSubjects && NEEDS_SUBJECTS,
        ),
      ],
      failure: new TokenctlError('partly_done', `The configuration of ${name} does not match its stream yet`),
    };
  }
  const failure = new TokenctlError('partly_done', `No verification event from ${name} arrived`, {
    hint: stream.method.endsWith('8936')
      ? "Run the command again, or check the stream in the transmitter's administration."
      : `Check that \`tokenctl signals serve\` is running with the same queue, and that the transmitter can reach ${stream.endpoint ?? 'it'}.`,
  });
  return {
    document: [
      lines(
        isNew ? `Created the stream ${stream.id}.` : `The stream ${stream.id} already exists.`,
        verified
          ? 'A verification event arrived, was verified and was recorded.'
          : 'No verification event arrived.',
        withheld.length > 0 && 'The transmitter does not send these events on this stream:',
        list(...withheld),
        needsSubjects && NEEDS_SUBJECTS,
      ),
    ],
    failure: verified ? undefined : failure,
  };
}

/**
 * Plans to delete the stream of a transmitter.
 * @throws TokenctlError `not_found`, and as the transmitter; its act `audit_unavailable`.
 */
export async function disconnectFlow({
  name,
  ...request
}: ChangeRequest & { name: string }): Promise<
  PlannedChange<void, DisconnectionJson> | Report<DisconnectionJson>
> {
  const { runtime, flags } = request;
  const { configuration, environment } = runtime;
  const transmitter = transmitterNamed(requireSignals(configuration), name);
  const managed = managedTransmitter(name, transmitter, { environment, signal: runtime.stopSignal() });
  const stream = await findStream(managed.api, managed.settings);
  const json = (deleted: boolean) => ({ transmitter: name, stream: stream?.id ?? null, deleted });
  const only = (text: Line) => report({ json: json(false), document: [lines(text)] });
  if (stream === null) return only(`${name} has no stream: nothing to do.`);
  if (flags['dry-run'] === true)
    return only(would`delete the stream ${stream.id}: ${name} would send no further events.`);
  return {
    plan: [
      facts(
        [
          ['stream', stream.id],
          ['transmitter', name],
        ],
        would`delete a stream`.text,
      ),
    ],
    isElsewhere: true,
    question: { act: 'delete the stream', type: name },
    async act() {
      await note(request, { managed, operation: 'signals.disconnect', stream: null });
      await managed.api.delete(stream.id);
      await note(request, { managed, operation: 'signals.disconnect', stream });
    },
    ended: () => ({
      document: [
        lines(`Deleted the stream ${stream.id}. Remove ${name} from the configuration, or connect again.`),
      ],
    }),
    json: () => json(true),
  };
}

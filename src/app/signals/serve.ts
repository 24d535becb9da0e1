import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { LOG_LINES } from '@tokenctl/common/log-lines.ts';
import { requireKeysIn, TransmitterKeys } from '@tokenctl/common/security-events/transmitter-keys.ts';
import { pino } from 'pino';
import { loadConfiguration } from '../../config/configuration.ts';
import { readSecret } from '../../config/secrets.ts';
import { requireFree, socketOf } from '../../http/listener.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import { startReceiver } from '../../signals/receiver.ts';
import { openNotifier } from '../jobs/job-events.ts';
import { jobKinds } from '../jobs/job-kinds.ts';
import type { StartOptions } from '../jobs/start.ts';
import { createRuntime } from '../runtime.ts';
import { Intake } from './intake.ts';
import { HeldNotices, RefusalNotices } from './notices.ts';
import { openQueue, requireSignals, SignalDesk } from './signal-desk.ts';

export interface ServeOptions extends StartOptions {
  /** Opens the queue of signals. By default the configured one. */
  readonly openQueue?: typeof openQueue;
  /** Wraps the audit log before its use. By default it is unchanged. */
  readonly withLog?: (log: AuditLog) => AuditLog;
}

/** How often the queue is checked for unfinished signals of other replicas, in milliseconds. */
const POLL_MS = 2_000;
/** How long the lookup of a user may delay a response, in milliseconds. */
const FIND_MS = 5_000;
/** How often finished signals are deleted, in milliseconds. */
const FORGET_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * Receives security events until SIGTERM or SIGINT, and handles them. Returns once the work in flight is recorded.
 * @throws TokenctlError `configuration`, `database_unreachable`, `usage` before anything is received.
 */
export async function serveSignals(options: ServeOptions): Promise<void> {
  const { flags, environment, version, notify } = options;
  const configuration = loadConfiguration(flags, environment, jobKinds);
  const settings = requireSignals(configuration);
  const pushers = new Map(
    Object.entries(settings.transmitters).flatMap(([name, { push }]) =>
      push === undefined ? [] : [[name, push.token ? readSecret(push.token, environment) : null] as const],
    ),
  );
  const runtime = createRuntime({ flags, configuration, environment, version, notify });
  const logger = pino(LOG_LINES, pino.destination(2));
  const stopping = new AbortController();
  const notifiers = Object.entries(configuration.scheduler.notify)
    .filter(([, { at }]) => at !== 'error')
    .map(([name, recipient]) => ({ name, notifier: openNotifier(recipient, environment) }));
  for (const { jwks } of Object.values(settings.transmitters))
    if (typeof jwks !== 'string') await requireKeysIn(jwks.file);
  const address = {
    ...{ host: settings.address, port: settings.port, fd: socketOf(environment) },
    setting: 'signals.port',
  };
  await requireFree(address);
  const store = await (options.openQueue ?? openQueue)(settings, environment);
  const wake = { up: Promise.withResolvers<void>() };
  const { withLog = (log) => log } = options;
  const auditLog = withLog(await runtime.auditLog());
  const desk = new SignalDesk({
    ...{ configuration, environment, store, auditLog, log: logger, signal: stopping.signal },
  });
  const notices = new HeldNotices({ store, notifiers, log: logger });
  const refusals = new RefusalNotices(notifiers, logger);
  const intake = new Intake({
    ...{ settings, store, keys: new TransmitterKeys(), clock: machineClock },
    find: (subject, transmitter) => desk.find(subject, transmitter, FIND_MS),
    onWaiting: () => wake.up.resolve(),
  });
  const receiver = await startReceiver(
    {
      ...{ intake, pushers, log: logger },
      onRefused: (transmitter, reason) => refusals.tell(transmitter, reason),
      async isReady() {
        await store.backlog(1);
        return !stopping.signal.aborted;
      },
    },
    address,
  );
  const stop = () => {
    stopping.abort();
    wake.up.resolve();
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  try {
    notify(
      `Receiving security events from ${names(Object.keys(settings.transmitters))} at ${receiver.url}. Press Ctrl-C to stop.`,
    );
    if (notifiers.length === 0)
      notify(
        'Warning: no one is notified about events that need a decision. Add recipients to scheduler.notify.',
      );
    for (const [name, { push, audience }] of Object.entries(settings.transmitters))
      if (push !== undefined && audience === undefined)
        notify(
          `Warning: ${name} has no \`audience\`, so none of its events are accepted. \`tokenctl signals connect\` shows the audience.`,
        );
    await desk.prepare().catch((error: unknown) => {
      if (!(error instanceof TokenctlError)) throw error;
      notify(`Warning: ${error.message}. Events are recorded now and processed later.`);
    });
    await desk.takeOver();
    let forgotten = Number.NEGATIVE_INFINITY;
    while (!stopping.signal.aborted) {
      wake.up = Promise.withResolvers<void>();
      try {
        await desk.work();
        notices.send();
        await desk.closeIdle();
        if (performance.now() - forgotten > FORGET_EVERY_MS) {
          await store.forget(new Date(machineClock.now().getTime() - settings.keepDays * DAY_MS));
          forgotten = performance.now();
        }
      } catch (error) {
        // Whatever the error is, senders get their answers, and recorded signals are retried.
        const reason = error instanceof TokenctlError ? { reason: error.message } : { err: error };
        logger.error(reason, 'the queue does not respond; retrying');
      }
      const done = new AbortController();
      const pause = sleep(POLL_MS, undefined, { signal: done.signal }).catch(() => undefined);
      await Promise.race([wake.up.promise, pause]);
      done.abort();
    }
    notify('Stopping: received events are recorded and will be processed at the next start.');
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop);
    await receiver.close();
    await desk.close();
    await Promise.all([notices.sent(), refusals.sent()]);
    await Promise.allSettled(notifiers.map(({ notifier }) => notifier.close()));
    await store.close();
    await runtime.close();
  }
}

function names(transmitters: readonly string[]): string {
  return transmitters.length === 0 ? 'no transmitter' : transmitters.join(', ');
}

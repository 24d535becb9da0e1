import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { LOG_LINES } from '@tokenctl/common/log-lines.ts';
import { requireKeysIn } from '@tokenctl/common/security-events/transmitter-keys.ts';
import { pino } from 'pino';
import { serveTokens } from '../../broker/token-endpoint.ts';
import type { BrokerSettings } from '../../config/broker.ts';
import { type Configuration, loadConfiguration } from '../../config/configuration.ts';
import type { Environment } from '../../config/paths.ts';
import { incidentOperations } from '../../domain/incident/incident.ts';
import { requireFree, socketOf } from '../../http/listener.ts';
import { stopOperations } from '../../operations/broker/stopped-rules.ts';
import type { IdentityStore } from '../../operations/ports/broker.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import { cachedAuditLog } from '../cached-log.ts';
import { jobKinds } from '../jobs/job-kinds.ts';
import type { StartOptions } from '../jobs/start.ts';
import { openAuditLog, withConfiguredSink } from '../open-audit-log.ts';
import { createRuntime } from '../runtime.ts';
import { openStatePlace } from '../state-place.ts';
import { BrokerDesk } from './broker-desk.ts';
import { PipelineTokens } from './token-service.ts';

/** How many tokens are issued or revoked at once. Each needs a connection to the audit log and the controller. */
const AT_ONCE = 8;
/** How often expired tokens are searched, and the store is cleaned up, in milliseconds. */
const END_EVERY_MS = 5_000;
const FORGET_EVERY_MS = 600_000;
/** One connection per concurrent token, and one to spare. */
const STORE_CONNECTIONS = AT_ONCE + 1;
const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * Issues tokens to pipelines until SIGTERM or SIGINT. Returns once tokens in progress are recorded and answered.
 * @throws TokenctlError `configuration`, `database_unreachable`, `permission_refused`, `usage` before anything is
 * accepted.
 */
export async function serveBroker({ flags, environment, version, notify }: StartOptions): Promise<void> {
  const configuration = loadConfiguration(flags, environment, jobKinds);
  const settings = requireBroker(configuration);
  const rules = Object.entries(settings.rules).map(([name, rule]) => ({ name, ...rule }));
  for (const { jwks } of Object.values(settings.issuers))
    if (typeof jwks === 'object') await requireKeysIn(jwks.file);
  const address = {
    ...{ host: settings.address, port: settings.port, fd: socketOf(environment) },
    setting: 'broker.port',
  };
  await requireFree(address);
  const log = pino(LOG_LINES, pino.destination(2));
  const runtime = createRuntime({ flags, configuration, environment, version, notify });
  const store = await openStore(settings, environment);
  const plain = await openAuditLog(configuration, { environment, clock: machineClock, runs: AT_ONCE });
  const guarded = await withConfiguredSink(plain, configuration.auditLog, { environment, version });
  const auditLog = cachedAuditLog(guarded, { operations: [...incidentOperations, ...stopOperations] });
  const desk = new BrokerDesk({ configuration, environment, auditLog, store, log, rules, atOnce: AT_ONCE });
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  let close = async () => {};
  process.on('SIGTERM', stop).on('SIGINT', stop);
  try {
    await desk.prepare();
    await desk.endDue();
    const service = new PipelineTokens({
      ...{ settings, rules, desk, auditLog, log, operator: runtime.operator },
    });
    const isReady = async () => {
      await Promise.all([auditLog.head(), store.forget()]);
      return !stopping.signal.aborted;
    };
    const server = await serveTokens({ service, log, isReady }, address);
    close = () => server.close();
    const named = Object.keys(settings.rules).join(', ') || 'no rule';
    notify(`Issuing tokens for ${named} at ${server.url}. Press Ctrl-C to stop.`);
    let forgotten = performance.now();
    while (!stopping.signal.aborted) {
      await sleep(END_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      try {
        await desk.endDue();
        if (performance.now() - forgotten < FORGET_EVERY_MS) continue;
        forgotten = performance.now();
        await store.forget();
      } catch (error) {
        // Whatever the error is, pipelines get their answers, and the next round retries.
        const reason = error instanceof TokenctlError ? { reason: error.message } : { err: error };
        log.error(reason, 'tokens past their end could not be looked for; retrying');
      }
    }
    notify(
      'Stopping. Tokens in progress are recorded. Until the next start, only another broker or the job lease-end revokes expired tokens.',
    );
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop);
    await close();
    await desk.close();
    await store.close();
    await auditLog.close();
    await runtime.close();
  }
}

/** The `broker` section. Throws `configuration` without it. */
function requireBroker({ broker }: Configuration): BrokerSettings {
  if (broker !== undefined) return broker;
  throw new TokenctlError('configuration', 'The configuration has no section "broker"', {
    hint: 'Add one as `tokenctl docs pipelines` shows, with an issuer and a rule for each pipeline.',
  });
}

async function openStore({ store }: BrokerSettings, environment: Environment): Promise<IdentityStore> {
  const { openIdentities } = await import('../../broker/identity-store.ts');
  const place = await openStatePlace(store, {
    ...{ environment, fileName: 'broker.sqlite', applicationName: 'tokenctl broker' },
    ...{ connections: STORE_CONNECTIONS, responseTimeout: RESPONSE_TIMEOUT_MS },
  });
  return await openIdentities(place);
}

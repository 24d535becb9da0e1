import { hostname } from 'node:os';
import { join } from 'node:path';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import type { SubjectIdentifier } from '@tokenctl/common/signals/subject-identifier.ts';
import type { Logger } from 'pino';
import { type Configuration, withSettings } from '../../config/configuration.ts';
import { contextOf, expandGroups } from '../../config/contexts.ts';
import { type Environment, stateFolder } from '../../config/paths.ts';
import type { SignalsSettings } from '../../config/signals.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import { controllerClock, machineClock } from '../../operations/ports/clock.ts';
import type { SignalClaim, SignalOutcome, SignalStore } from '../../operations/ports/signals.ts';
import { type MatchingRules, matchUser } from '../../operations/signals/match-user.ts';
import { processSignals, type SignalPlace, signalGroup } from '../../operations/signals/process-signal.ts';
import { createRuntime, type Runtime } from '../runtime.ts';
import { snapshotFiles } from '../snapshot-file.ts';
import { openStatePlace } from '../state-place.ts';

/** How long a claim lasts without renewal, in milliseconds. */
const LEASE_MS = 30_000;
/** Signals claimed together. Those about one user are handled once. */
const CLAIM_LIMIT = 1_000;
/** How many subjects are handled at the same time: while one waits for a disk, others proceed. */
const CONCURRENCY = 3;
/** How long idle targets stay open, in milliseconds: their credentials may be replaced. */
const IDLE_MS = 60_000;
/** A connection for the receiver and one for the worker, with some to spare. */
const CONNECTIONS = 6;
const RESPONSE_TIMEOUT_MS = 10_000;

/** The `signals` section. Throws `configuration` without it. */
export function requireSignals({ signals }: Configuration): SignalsSettings {
  if (signals !== undefined) return signals;
  throw new TokenctlError('configuration', 'The configuration has no section "signals"', {
    hint: 'Add one as `tokenctl docs signals` shows, with a transmitter for each identity provider.',
  });
}

/** Opens the queue. Throws TokenctlError `database_unreachable`, `configuration`, `permission_refused`. */
export async function openQueue(settings: SignalsSettings, environment: Environment): Promise<SignalStore> {
  const { openSignals } = await import('../../signals/signal-store.ts');
  const place = await openStatePlace(settings.queue, {
    ...{ environment, fileName: 'signals.sqlite', applicationName: 'tokenctl signals' },
    ...{ connections: CONNECTIONS, responseTimeout: RESPONSE_TIMEOUT_MS },
  });
  return await openSignals(place);
}

/** Whether a subject matches a user here. */
type FoundSubject = 'user' | 'none' | 'doubt' | 'unknown';

/** Names this process in the queue. */
const HOLDER = `${hostname()}:${process.pid}`;

/** Whether a process that held claims has ended, by its name. Known only for processes of this machine. */
function hasEnded(holder: string): boolean {
  const [, host, pid] = /^(.*):(\d+)$/.exec(holder) ?? [];
  if (host !== hostname()) return false;
  // This process has claimed nothing yet: an earlier one had its number, as in a container.
  if (holder === HOLDER) return true;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}

interface DeskOptions {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly store: SignalStore;
  readonly auditLog: AuditLog;
  readonly log: Logger;
  /** Aborted to finish the work in flight and start nothing further. */
  readonly signal: AbortSignal;
}

/** Handles the queue's signals in the configured contexts. */
export class SignalDesk {
  readonly #options: DeskOptions;
  readonly #settings: SignalsSettings;
  readonly #contexts: readonly string[];
  #open: { readonly places: Promise<readonly SignalPlace[]>; readonly runtimes: Runtime[] } | null = null;
  #used = 0;

  /** @throws TokenctlError `configuration` for a context that does not exist. */
  constructor(options: DeskOptions) {
    this.#options = options;
    const { configuration } = options;
    this.#settings = requireSignals(configuration);
    this.#contexts = expandGroups(
      configuration,
      this.#settings.contexts ?? [configuration.currentContext ?? ''],
    );
    for (const name of this.#contexts) contextOf(configuration, name === '' ? undefined : name);
  }

  /** Handles waiting signals until there are none. Returns how many were finished. Throws as the queue. */
  async work(): Promise<number> {
    const { store, signal } = this.#options;
    let ended = 0;
    while (!signal.aborted) {
      const now = machineClock.now();
      const claims = await store.claim({ holder: HOLDER, lease: LEASE_MS, limit: CLAIM_LIMIT, now });
      if (claims.length === 0) break;
      ended += await this.#workOn(claims);
    }
    return ended;
  }

  async #workOn(claims: readonly SignalClaim[]): Promise<number> {
    const { store, log } = this.#options;
    const unfinished = new Set(claims);
    const renewal = setInterval(() => {
      store
        .renew([...unfinished], LEASE_MS)
        .catch((error: unknown) => log.warn({ err: error }, 'leases not renewed'));
    }, LEASE_MS / 3);
    let [ended, retried] = [0, false];
    const subjects = Map.groupBy(claims, ({ signal: { subject } }) => JSON.stringify(subject)).values();
    const worker = async () => {
      for (const ofSubject of subjects) {
        for (const group of Map.groupBy(ofSubject, ({ signal: each }) => signalGroup(each)).values()) {
          const { state, settled } = await this.#settle(group, unfinished);
          if (state === 'waiting') retried = true;
          else ended += settled;
        }
      }
    };
    try {
      const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    } finally {
      clearInterval(renewal);
      // Targets that could not be opened are reopened the next time. No other subject uses them now.
      if (retried) await this.#closePlaces();
    }
    return ended;
  }

  /** Handles signals that differ only in their ids. Returns the outcome, and for how many the queue accepted it. */
  async #settle(group: readonly SignalClaim[], unfinished: Set<SignalClaim>) {
    const { store, log, signal } = this.#options;
    // Asked to stop: their leases expire, or the next start takes them over.
    const outcome: SignalOutcome = signal.aborted
      ? { state: 'waiting', reason: null, retryAt: machineClock.now() }
      : await this.#process(group);
    const settled = new Set(await store.settle(group, outcome, machineClock.now()));
    for (const claim of group) {
      unfinished.delete(claim);
      const { id, transmitter, kinds } = claim.signal;
      const recorded = settled.has(claim);
      log.info({ id: id.slice(0, 12), transmitter, kinds, recorded, ...outcome }, `signal ${outcome.state}`);
    }
    return { state: outcome.state, settled: settled.size };
  }

  #process(group: readonly SignalClaim[]): Promise<SignalOutcome> {
    const { environment, store, log } = this.#options;
    return processSignals(group, {
      ...{ store, clock: machineClock, limits: this.#settings },
      places: () => this.#withPlaces(async (places) => places),
      rulesOf: (name) => this.#rulesOf(name),
      files: snapshotFiles(join(stateFolder(environment), 'incidents')),
    }).catch((error: unknown): SignalOutcome => {
      // An event that causes an internal error must not block the others, again at each start.
      log.error({ err: error, id: group[0]?.signal.id }, 'internal error');
      return { state: 'held', reason: "Internal error; see the receiver's log" };
    });
  }

  /** Whether a subject matches a user. `doubt`: it needs a decision; `unknown`: a target did not respond in time. */
  async find(subject: SubjectIdentifier, transmitter: string, timeoutMs: number): Promise<FoundSubject> {
    const rules = this.#rulesOf(transmitter);
    if (rules === null) return 'unknown';
    const late = Promise.withResolvers<'unknown'>();
    const timer = setTimeout(() => late.resolve('unknown'), timeoutMs);
    const found = this.#withPlaces(async (places) => {
      const results: FoundSubject[] = [];
      for (const place of places) {
        const { target } = await place.change({});
        results.push((await matchUser(target, subject, rules)).result);
      }
      return (['doubt', 'user'] as const).find((each) => results.includes(each)) ?? 'none';
    }).catch(() => 'unknown' as const);
    const first = await Promise.race([found, late.promise]);
    clearTimeout(timer);
    return first;
  }

  #rulesOf(name: string): MatchingRules | null {
    const transmitter = this.#settings.transmitters[name];
    if (transmitter === undefined) return null;
    const { issuer, subjectIssuers, domains, accounts = null } = transmitter;
    return { issuers: [issuer, ...subjectIssuers], domains, accounts };
  }

  async #withPlaces<T>(work: (places: readonly SignalPlace[]) => Promise<T>): Promise<T> {
    if (this.#open === null) {
      const runtimes: Runtime[] = [];
      const open = { places: this.#openPlaces(runtimes), runtimes };
      this.#open = open;
      // Targets that cannot be opened now are reopened the next time.
      open.places.catch(() => {
        if (this.#open === open) this.#open = null;
      });
    }
    this.#used = performance.now();
    return await work(await this.#open.places);
  }

  /** Takes over at once the claims of a killed process of this machine. Throws as the queue. */
  async takeOver(): Promise<void> {
    await this.#options.store.giveBack(hasEnded);
  }

  /** Opens the targets of all contexts, so that the first signal need not wait. Throws as the targets. */
  async prepare(): Promise<void> {
    await this.#withPlaces(async (places) => {
      for (const place of places) await place.change({});
    });
  }

  /** Closes targets that have been idle for a while. */
  async closeIdle(): Promise<void> {
    if (this.#open !== null && performance.now() - this.#used > IDLE_MS) await this.#closePlaces();
  }

  async #closePlaces(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await Promise.allSettled(open?.runtimes.map((runtime) => runtime.close()) ?? []);
  }

  async #openPlaces(runtimes: Runtime[]): Promise<readonly SignalPlace[]> {
    const { configuration, environment, auditLog, signal, log } = this.#options;
    const places: SignalPlace[] = [];
    for (const context of this.#contexts) {
      const runtime = createRuntime({
        flags: {},
        configuration:
          context === '' ? configuration : withSettings(configuration, { currentContext: context }),
        environment,
        notify: (line) => log.warn(line),
      });
      runtimes.push(runtime);
      const name = context || (configuration.currentContext ?? '');
      const components = await runtime.components().catch((error: unknown) => {
        if (!(error instanceof TokenctlError)) throw error;
        // The action continues in the others, and is retried in this one.
        places.push({ name, change: () => Promise.reject(error) });
        return null;
      });
      if (components === null) continue;
      const several = components.length > 1 ? components : [null];
      for (const component of several) {
        const label = component === null ? name : `${name}/${component}`;
        const place =
          component === null ? runtime : runtime.in({ component, label, progress: runtime.progress });
        places.push({
          name: label,
          async change(marks) {
            const { description, actor, openNames } = await place.dryRun();
            const clock = controllerClock(machineClock, description);
            const target = await place.target();
            const common = { target, description, clock, openNames, log: auditLog };
            return { ...common, actor: { ...actor, ...marks }, signal };
          },
        });
      }
    }
    return places;
  }

  async close(): Promise<void> {
    await this.#closePlaces();
  }
}

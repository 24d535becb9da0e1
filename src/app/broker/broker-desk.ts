import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Logger } from 'pino';
import { type Configuration, withSettings } from '../../config/configuration.ts';
import type { Environment } from '../../config/paths.ts';
import type { BrokerRule, TokenOrigin } from '../../domain/broker/rules.ts';
import { endByValue, endDueBrokered } from '../../operations/broker/end-brokered.ts';
import {
  exchangeIdentity,
  type IdentityExchange,
  requireMayBroker,
} from '../../operations/broker/exchange-identity.ts';
import type { Change } from '../../operations/journal/operation-run.ts';
import { reconcile } from '../../operations/journal/reconcile.ts';
import { LeaseReader } from '../../operations/journal/recorded-leases.ts';
import type { LimitedToken } from '../../operations/leases/make-limited-token.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import type { IdentityStore } from '../../operations/ports/broker.ts';
import { controllerClock, machineClock } from '../../operations/ports/clock.ts';
import { programHost } from '../exec/program-environment.ts';
import { createRuntime, type Runtime } from '../runtime.ts';

/** How long a target is used before it is reopened, in milliseconds: clocks, rights and credentials change. */
const PLACE_AGE_MS = 300_000;

interface DeskOptions {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly auditLog: AuditLog;
  readonly store: IdentityStore;
  readonly log: Logger;
  readonly rules: readonly BrokerRule[];
  /** How many tokens are issued or revoked at a time. */
  readonly atOnce: number;
}

interface Place {
  readonly runtime: Runtime;
  readonly change: Promise<Change>;
  readonly opened: number;
  users: number;
}

/** A requested token whose rule is known. */
export interface WantedToken extends Pick<IdentityExchange, 'rule' | 'identity' | 'scope'> {
  readonly origin: TokenOrigin;
}

/** Issues and revokes tokens in the contexts of the rules. */
export class BrokerDesk {
  readonly #options: DeskOptions;
  readonly #places = new Map<string, Place>();
  readonly #leases: LeaseReader;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#free = options.atOnce;
    this.#leases = new LeaseReader(options.auditLog, { onlyOpen: true });
  }

  get contexts(): readonly string[] {
    return [...new Set(this.#options.rules.map(({ context }) => context))];
  }

  /** The REST address of a context's controller, for programs; null if unknown. */
  hostOf(context: string): string | null {
    return programHost(this.#inContext(context))?.url ?? null;
  }

  /** Refuses rules that can never issue a token. A target that is unreachable now may be reachable later. */
  async prepare(): Promise<void> {
    const { rules, log } = this.#options;
    for (const rule of rules)
      await this.#within(rule.context, (change) => requireMayBroker(change, rule)).catch((error: unknown) => {
        if (!(error instanceof TokenctlError) || !PASSING.has(error.code)) throw error;
        log.warn({ rule: rule.name, reason: error.message }, 'the rule could not be tried');
      });
  }

  /** Throws as {@link exchangeIdentity}. */
  exchange({ rule, ...wanted }: WantedToken): Promise<LimitedToken> {
    const { store } = this.#options;
    return this.#within(rule.context, ({ actor, ...change }) =>
      exchangeIdentity({ ...change, actor: { ...actor, broker: rule.name }, rule, store, ...wanted }),
    );
  }

  /** Revokes the token with this value, whichever replica of this broker issued it. Returns whether there was one. */
  async revoke(value: Secret): Promise<boolean> {
    const { store } = this.#options;
    for (const context of this.contexts) {
      const ended = await this.#within(context, (change) =>
        endByValue({ ...change, leases: this.#leases, store }, value),
      );
      if (ended) return true;
    }
    return false;
  }

  /** Revokes expired tokens, and those of killed runs. Failures are logged. */
  async endDue(): Promise<void> {
    const { store, log } = this.#options;
    for (const context of this.contexts) {
      try {
        await this.#within(context, async (change) => {
          await reconcile(change);
          const left = await endDueBrokered({ ...change, leases: this.#leases, store });
          if (left !== undefined) throw left;
        });
      } catch (error) {
        if (!(error instanceof TokenctlError)) throw error;
        log.error({ context, reason: error.message }, 'tokens past their end were left; retrying');
      }
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#places.values()].map(({ runtime }) => runtime.close()));
    this.#places.clear();
  }

  async #within<T>(context: string, work: (change: Change) => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const place = this.#placeOf(context);
    place.users += 1;
    try {
      return await work(await place.change);
    } catch (error) {
      if (error instanceof TokenctlError && PASSING.has(error.code)) this.#retire(context, place);
      throw error;
    } finally {
      place.users -= 1;
      this.#closeUnused(context, place);
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #placeOf(context: string): Place {
    const known = this.#places.get(context);
    if (known !== undefined && performance.now() - known.opened < PLACE_AGE_MS) return known;
    if (known !== undefined) this.#retire(context, known);
    const { environment, log } = this.#options;
    const configuration = this.#inContext(context);
    const runtime = createRuntime({
      flags: {},
      configuration,
      environment,
      notify: (line) => log.warn(line),
    });
    const place = { runtime, change: this.#changeOf(runtime), opened: performance.now(), users: 0 };
    this.#places.set(context, place);
    return place;
  }

  /** Takes a target out of use. It is closed when its last user has finished. */
  #retire(context: string, place: Place): void {
    if (this.#places.get(context) === place) this.#places.delete(context);
    this.#closeUnused(context, place);
  }

  #closeUnused(context: string, place: Place): void {
    if (place.users === 0 && this.#places.get(context) !== place) void place.runtime.close();
  }

  async #changeOf(runtime: Runtime): Promise<Change> {
    const { description, actor, openNames } = await runtime.dryRun();
    const clock = controllerClock(machineClock, description);
    return {
      ...{ target: await runtime.target(), description, clock, openNames },
      ...{ actor, log: this.#options.auditLog },
    };
  }

  #inContext(context: string): Configuration {
    return withSettings(this.#options.configuration, { currentContext: context });
  }
}

/** Failures that may disappear within a minute. */
const PASSING: ReadonlySet<string> = new Set([
  'target_unreachable',
  'database_unreachable',
  'credentials_refused',
  'busy',
]);

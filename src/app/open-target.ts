import type { Session } from 'node:inspector';
import { getHeapStatistics } from 'node:v8';
import type { ProxySetting } from '@tokenctl/common/network/outgoing.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import {
  credentialOf,
  databaseContextOf,
  type NamedContext,
  type NamedRestContext,
} from '../config/contexts.ts';
import type { Environment } from '../config/paths.ts';
import type { DatabaseContext, ProxySettings } from '../config/schema.ts';
import { databaseConnection, readSecret } from '../config/secrets.ts';
import type { Target, TargetDescription } from '../operations/ports/target.ts';

/** A part of a platform that stores tokens. */
export type Component = NonNullable<TargetDescription['components']>[number];

export interface OpenedTarget {
  readonly target: Target;
  /** A platform's components that store tokens; empty if standalone or configured. Throws as the target. */
  readonly components: () => Promise<readonly Component[]>;
  /** What the target still waits for, as the object of a sentence. */
  readonly awaited: () => string;
}

interface OpenOptions {
  readonly environment: Environment;
  /** The platform's component, if the context does not name one. */
  readonly component?: Component | undefined;
  /** The target's name in descriptions and in the audit log. By default the context's name. */
  readonly label?: string | undefined;
  /** The signal that interrupts the run, once signals are caught. */
  readonly interruption?: () => AbortSignal | undefined;
}

/** Opens a context's controller. Over REST, sends nothing yet. Throws `configuration`, `database_unreachable`. */
export async function openTarget(context: NamedContext, options: OpenOptions): Promise<OpenedTarget> {
  if (context.database === undefined) return await openRest(context, options);
  const { openDatabaseTarget } = await import('../targets/database/database-target.ts');
  const target = await openDatabaseTarget({
    context: context.name,
    connection: databaseConnection(context.database, options.environment),
    interruption: options.interruption,
    sessionCache: context.cache && cacheOptions(context.cache, options.environment),
  });
  const awaited = () => `the database to finish the current batch (context ${context.name})`;
  const garbage = limitGarbage();
  const close = target.close.bind(target);
  target.close = () => {
    garbage[Symbol.dispose]();
    return close();
  };
  return { target, components: async () => [], awaited };
}

/** A context's proxy in the form of connections; undefined to use the environment's. */
export function proxyOf(
  setting: ProxySettings | undefined,
  environment: Environment,
): ProxySetting | undefined {
  if (setting === undefined || setting === 'none') return setting;
  const { url, caFile } =
    typeof setting === 'object' && 'url' in setting ? setting : { url: setting, caFile: undefined };
  return { url: typeof url === 'string' ? new Secret(url) : readSecret(url, environment), caFile };
}

function cacheOptions({ redis, ...rest }: NonNullable<DatabaseContext['cache']>, environment: Environment) {
  return { urls: readSecret(redis, environment), ...rest };
}

async function openRest(
  context: NamedRestContext,
  { environment, component = context.component, label = context.name }: OpenOptions,
): Promise<OpenedTarget> {
  const credential = credentialOf(context, environment);
  const databaseContext = databaseContextOf(context, component);
  const { openControllerApi } = await import('../targets/controller-api/controller-api.ts');
  const target = openControllerApi({
    context: label,
    address: context.url,
    credential,
    verifyTls: context.verifyTls ?? true,
    caFile: context.caFile,
    proxy: proxyOf(context.proxy, environment),
    component,
    databaseContext,
  });
  const awaited = () => {
    const requests = target.requestsInFlight();
    if (requests === 0) return `the audit log (context ${label})`;
    return `the ${requests === 1 ? 'response to 1 request' : `responses to ${requests} requests`} to ${new URL(context.url).host}`;
  };
  const components = async () => (component === undefined ? await target.components() : []);
  return { target, components, awaited };
}

/** How much garbage may accumulate before a collection, in bytes. */
const MAX_GARBAGE = 30 * 1024 * 1024;
/** The same as a share of live memory: a collection takes time in proportion to that. */
const GARBAGE_SHARE = 0.25;
/** The process's memory below which no early collection happens, in bytes. */
const MEMORY_LEFT_TO_V8 = 160 * 1024 * 1024;
/** How often memory is checked, in milliseconds. */
const LOOK_EVERY_MS = 50;

/**
 * Triggers garbage collections early, until disposed. Processing a million rows leaves much garbage and keeps
 * little, and V8 by default lets the heap grow to several times the live memory before it collects. Its flags
 * for this must be set at process start, which `node bin/tokenctl.js` cannot do, so this requests a
 * collection as a debugger does. It never does so in a small process.
 */
export function limitGarbage(): Disposable {
  let session: Session | undefined;
  const used = () => {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    return heap + external;
  };
  let alive = used();
  const look = () => {
    const now = used();
    alive = Math.min(alive, now);
    if (now - alive < Math.max(MAX_GARBAGE, alive * GARBAGE_SHARE)) return;
    if (process.memoryUsage.rss() < MEMORY_LEFT_TO_V8) return;
    if (session === undefined) {
      const { Session } = process.getBuiltinModule('node:inspector');
      session = new Session();
      session.connect();
    }
    session.post('HeapProfiler.collectGarbage');
    // The collection runs as soon as the program waits. The next check shows what remains.
    alive = Number.POSITIVE_INFINITY;
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      session?.disconnect();
    },
  };
}

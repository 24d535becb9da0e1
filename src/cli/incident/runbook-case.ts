import { setTimeout } from 'node:timers/promises';
import type { Runtime } from '../../app/runtime.ts';
import type { Configuration } from '../../config/configuration.ts';
import { databaseContextOf, restContextsOf } from '../../config/contexts.ts';
import { gatherRecord } from '../../operations/incident/gather-report.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { instantOf, type Moment } from '../flags/times.ts';
import { NO_CASE, type RunbookCase } from './runbook-document.ts';

/** The facts of a case from the command line. */
export type GivenCase = {
  readonly [Name in 'incident' | 'user' | 'application' | 'reason' | 'ticket']?: string | undefined;
} & { readonly since?: Moment | undefined };

/** The maximum wait for contexts to identify their controller, in milliseconds. */
const ASKED_MS = 3_000;

/**
 * The values for a runbook: given ones, then the audit log's data about the incident, and the controller's
 * contexts: from the configuration, or by installation id for those that answer in time.
 * @throws TokenctlError `not_found` for an incident that the log does not have, `audit_unavailable`, and with
 * an incident as the target's description.
 */
export async function caseGiven(
  runtime: Runtime,
  { incident, since, ...flags }: GivenCase,
): Promise<RunbookCase> {
  const said = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  const recorded = incident === undefined ? NO_CASE : await recordedCase(runtime, incident);
  const contexts = await contextsOf(runtime);
  const { configuration } = runtime;
  const directories = configuration.invalid.has('directories') ? {} : configuration.directories;
  const [directory = null, ...others] = Object.keys(directories);
  return {
    ...recorded,
    ...contexts,
    ...said,
    ...(since !== undefined && { since: instantOf(since, runtime.clock.now()).toISOString() }),
    directory: others.length === 0 ? directory : null,
  };
}

/** The controller's contexts: from the configuration, otherwise those with the same installation id. */
async function contextsOf(runtime: Runtime): Promise<Pick<RunbookCase, 'rest' | 'database'>> {
  const { configuration } = runtime;
  const { currentContext: name, contexts } = configuration;
  const named = contextsBeside(configuration, name);
  const missing = named.rest === null ? 'rest' : named.database === null ? 'database' : null;
  if (name === undefined || missing === null || (named.rest ?? named.database) === null) return named;
  const others = Object.keys(contexts).filter(
    (other) => (contexts[other]?.url === undefined ? 'database' : 'rest') === missing,
  );
  if (others.length === 0) return named;
  const [own, ...found] = await Promise.all([name, ...others].map((each) => soon(runtime, each)));
  const same = others.filter(
    (_, index) => own?.installUuid != null && found[index]?.installUuid === own.installUuid,
  );
  const seesAll = same.find((other) => found[others.indexOf(other)]?.visibility.kind === 'all');
  return { ...named, [missing]: seesAll ?? same[0] ?? null };
}

/** A context's description of its controller; null if it does not answer within {@link ASKED_MS}. */
async function soon(runtime: Runtime, context: string): Promise<TargetDescription | null> {
  const place = runtime.in({ context, progress: runtime.progress });
  const late = new AbortController();
  try {
    return await Promise.race([
      place.description(),
      setTimeout(ASKED_MS, null, { ref: false, signal: late.signal }),
    ]);
  } catch {
    // A context that does not answer is left as a placeholder.
    return null;
  } finally {
    late.abort();
  }
}

/** The audit log's data about an incident, without contexts. Reads the target's identity unless given. */
export async function recordedCase(
  runtime: Runtime,
  id: string,
  controller?: Pick<TargetDescription, 'address' | 'installUuid'>,
): Promise<RunbookCase> {
  const [log, description] = [await runtime.auditLog(), controller ?? (await runtime.description())];
  const { incident, runs, began } = await gatherRecord({
    log,
    description,
    incident: id,
    investigations: [],
  });
  const { scope, reason, ticket } = incident;
  const [name = null, ...others] = 'names' in scope ? scope.names : [];
  const only = others.length === 0 ? name : null;
  return {
    ...NO_CASE,
    incident: incident.id,
    user: scope.kind === 'users' ? only : null,
    application: scope.kind === 'applications' ? only : null,
    ...{ reason, ticket },
    since: began?.at ?? null,
    cleaning: runs.findLast(({ operation }) => operation === 'incident.clean')?.run ?? null,
  };
}

/** The REST and database contexts of a controller, from the configuration of one of them. */
function contextsBeside(configuration: Configuration, name: string | undefined) {
  const context =
    name !== undefined && Object.hasOwn(configuration.contexts, name)
      ? configuration.contexts[name]
      : undefined;
  if (name === undefined || context === undefined) return { rest: null, database: null };
  return context.url === undefined
    ? { rest: restContextsOf(configuration, name)[0] ?? null, database: name }
    : { rest: name, database: databaseContextOf(context) ?? null };
}

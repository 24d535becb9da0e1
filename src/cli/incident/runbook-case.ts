import type { Runtime } from '../../app/runtime.ts';
import type { Configuration } from '../../config/configuration.ts';
import { databaseContextOf, restContextsOf } from '../../config/contexts.ts';
import { gatherRecord } from '../../operations/incident/gather-report.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { NO_CASE, type RunbookCase } from './runbook-document.ts';

/** What is given of a case on the command line. */
export type GivenCase = {
  readonly [Name in 'incident' | 'user' | 'application' | 'reason' | 'ticket']?: string | undefined;
};

/**
 * What a runbook is filled in with: what is given, over what the audit log has of the incident, and the contexts of the
 * controller by the configuration. Without an incident, nothing is asked of the controller.
 *
 * @throws TokenctlError `not_found` for an incident that the log does not have, `audit_unavailable`, and as the target's description.
 */
export async function caseGiven(runtime: Runtime, { incident, ...flags }: GivenCase): Promise<RunbookCase> {
  const said = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  const recorded = incident === undefined ? NO_CASE : await recordedCase(runtime, incident);
  const contexts = contextsBeside(runtime.configuration, runtime.configuration.currentContext);
  return { ...recorded, ...contexts, ...said };
}

/** What the audit log has of an incident. The contexts are not in it. The target is asked who it is, unless that is given. */
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

/** The contexts of a controller's REST API and of its database, by what the configuration says of one of them. */
function contextsBeside(
  configuration: Configuration,
  name: string | undefined,
): Pick<RunbookCase, 'rest' | 'database'> {
  const context =
    name !== undefined && Object.hasOwn(configuration.contexts, name)
      ? configuration.contexts[name]
      : undefined;
  if (name === undefined || context === undefined) return { rest: null, database: null };
  return context.url === undefined
    ? { rest: restContextsOf(configuration, name)[0] ?? null, database: name }
    : { rest: name, database: databaseContextOf(context) ?? null };
}

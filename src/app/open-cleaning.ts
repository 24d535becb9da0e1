import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  contextOf,
  type NamedDatabaseContext,
  type NamedRestContext,
  restContextsOf,
} from '../config/contexts.ts';
import { databaseConnection } from '../config/secrets.ts';
import { shellWord } from '../domain/remedies.ts';
import type { CleaningWay } from '../operations/investigation/plan-cleaning.ts';
import type { Evidence } from '../operations/ports/evidence.ts';
import { apiOptions } from './open-evidence.ts';
import type { Runtime } from './runtime.ts';

export interface Cleaning {
  readonly evidence: Evidence;
  /** The ways to remove items: the context itself first, then a REST API next to a database. */
  readonly ways: readonly CleaningWay[];
  /** Why no REST API is used next to a database, as a sentence; null if one is used or none is configured. */
  readonly restProblem: string | null;
  readonly ownTokens: readonly number[];
}

/**
 * Opens the evidence and the ways to remove findings. What a database cannot do is done over REST: in the
 * given context, or in the one whose `databaseContext` is the current context. The runtime closes it.
 * @throws TokenctlError as `openEvidence`, `usage` for a given REST context that cannot be used,
 * `unsupported` for a gateway.
 */
export async function openCleaning(runtime: Runtime, restContext: string | undefined): Promise<Cleaning> {
  const context = contextOf(runtime.configuration, (await runtime.description()).context);
  const isDatabase = context.database !== undefined;
  if (!isDatabase && restContext !== undefined) {
    throw new TokenctlError(
      'usage',
      `--rest-context requires a database context, but ${context.name} has a URL`,
      { hint: 'Omit it: everything is done over REST.' },
    );
  }
  await refuseGateway(runtime);
  const evidence = runtime.keep(await runtime.evidence());
  const own = isDatabase ? await databaseWay(runtime) : await restWay(runtime, runtime);
  const target = await runtime.target();
  const beside = isDatabase ? await restBeside(runtime, { restContext, database: context.name }) : NO_REST;
  if (beside.rest === null) {
    const ownTokens = await target.ownTokenIds();
    return { evidence, ways: [own], restProblem: beside.problem, ownTokens };
  }
  const over = await restWay(beside.rest, runtime);
  const ownTokens = await (await beside.rest.target()).ownTokenIds();
  return { evidence, ways: [own, over], restProblem: null, ownTokens };
}

const NO_REST = { rest: null, problem: null };

async function databaseWay(runtime: Runtime) {
  const { openDatabaseCleaner } = await import('../targets/database/evidence/cleaner.ts');
  const { configuration, environment } = runtime;
  const description = await runtime.description();
  const context = contextOf(configuration, description.context) as NamedDatabaseContext;
  const opened = await openDatabaseCleaner({
    connection: databaseConnection(context.database, environment),
    environment,
    interruption: runtime.caughtSignal,
  });
  const place = { context: context.name, description, isTarget: true };
  return { via: 'database' as const, ...place, cleaner: runtime.keep(opened) };
}

async function restWay(runtime: Runtime, current: Runtime) {
  const { openApiCleaner } = await import('../targets/controller-api/cleaner.ts');
  const description = await runtime.description();
  const context = contextOf(runtime.configuration, description.context);
  const opened = openApiCleaner(apiOptions(runtime.environment, context as NamedRestContext));
  const place = { context: context.name, description, isTarget: runtime === current };
  return { via: 'rest' as const, ...place, cleaner: runtime.keep(opened) };
}

/** The runtime of the REST context next to a database, or why there is none. */
async function restBeside(
  runtime: Runtime,
  { restContext, database }: { restContext: string | undefined; database: string },
): Promise<{ readonly rest: Runtime | null; readonly problem: string | null }> {
  const [paired, ...others] = restContextsOf(runtime.configuration, database);
  if (restContext === undefined && others.length > 0) {
    const names = [paired, ...others].join(', ');
    return {
      rest: null,
      problem: `Several contexts refer to this database (${names}). Choose one with --rest-context.`,
    };
  }
  const name = restContext ?? paired;
  if (name === undefined) return NO_REST;
  const { progress } = runtime;
  const rest = runtime.in({ context: name, progress });
  try {
    if (contextOf(runtime.configuration, name).database !== undefined)
      throw unusable(name, 'is a database context');
    const [own, over] = [await runtime.description(), await rest.description()];
    const isUnknown = own.installUuid === null || over.installUuid === null;
    if (isUnknown ? paired !== name : own.installUuid !== over.installUuid) {
      throw unusable(name, 'is not known to belong to the same controller');
    }
    if (!over.capabilities.changes) throw unusable(name, 'has a token with scope read');
    return { rest, problem: null };
  } catch (error) {
    if (restContext !== undefined || !(error instanceof TokenctlError)) throw error;
    return { rest: null, problem: `The context ${name} could not be used: ${error.message}.` };
  }
}

function unusable(name: string, why: string): TokenctlError {
  return new TokenctlError('usage', `The context ${name} ${why}`, {
    hint: 'Specify the REST API context of the same controller.',
  });
}

/** For a gateway, undoing changes was tested with only a few kinds of objects. */
async function refuseGateway(runtime: Runtime): Promise<void> {
  const { dialect, address, context } = await runtime.description();
  if (dialect !== 'gateway') return;
  throw new TokenctlError(
    'unsupported',
    `tokenctl does not clean ${address} because it is a platform gateway`,
    {
      hint: `\`tokenctl incident investigate --context ${shellWord(context)}\` shows the command or request for each item.`,
    },
  );
}

import { contextOf, credentialOf, type NamedRestContext } from '../config/contexts.ts';
import { databaseConnection } from '../config/secrets.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { Cleaner, Evidence } from '../operations/ports/evidence.ts';
import type { ApiEvidenceOptions } from '../targets/controller-api/evidence.ts';
import type { Component } from './open-target.ts';
import type { Runtime } from './runtime.ts';

/**
 * Opens what the controller of the current context keeps of what was done, over a connection of its own that only reads.
 * Of a platform, the controller is meant: a gateway keeps no templates and no jobs.
 *
 * @throws TokenctlError `configuration`, `unsupported` for a gateway, and as opening a target does.
 */
export async function openEvidence(runtime: Runtime): Promise<Evidence & { close(): Promise<void> }> {
  const { configuration, environment } = runtime;
  const context = contextOf(configuration);
  if (context.database !== undefined) {
    const { openDatabaseEvidence } = await import('../targets/database/evidence.ts');
    return await openDatabaseEvidence({
      connection: databaseConnection(context.database, environment),
      environment,
      interruption: runtime.caughtSignal,
    });
  }
  const { openApiEvidence } = await import('../targets/controller-api/evidence.ts');
  return openApiEvidence(await apiOptions(runtime, context));
}

/** What a cleaning works with. */
export interface Cleaning {
  readonly evidence: Evidence;
  readonly cleaner: Cleaner;
  readonly close: () => Promise<void>;
}

/**
 * Opens what cleaning needs: the evidence, and the REST API to end what was found. A database can end only what a target can.
 *
 * @throws TokenctlError as {@link openEvidence}.
 */
export async function openCleaning(runtime: Runtime): Promise<Cleaning> {
  const evidence = await openEvidence(runtime);
  const context = contextOf(runtime.configuration);
  if (context.database !== undefined) return { evidence, cleaner: noCleaner, close: () => evidence.close() };
  const { openApiCleaner } = await import('../targets/controller-api/cleaner.ts');
  const cleaner = openApiCleaner(await apiOptions(runtime, context));
  return {
    evidence,
    cleaner,
    close: async () => {
      await Promise.allSettled([evidence.close(), cleaner.close()]);
    },
  };
}

/** A controller's own code keeps roles, schedules and templates consistent: plans do not ask a database for them. */
const noCleaner: Cleaner = {
  apply: () =>
    Promise.reject(
      new TokenctlError('unsupported', 'Only the REST API can do it', { hint: 'Use a context with a URL.' }),
    ),
};

async function apiOptions(runtime: Runtime, context: NamedRestContext): Promise<ApiEvidenceOptions> {
  const { dialect, address } = await runtime.description();
  if (dialect === 'gateway') {
    throw new TokenctlError(
      'unsupported',
      `${address} is a platform gateway, which keeps no templates or jobs`,
      {
        hint: 'Investigate the controller behind it: use a context with `component: controller`, or its database.',
      },
    );
  }
  const component: Component | undefined = context.component;
  return {
    address: context.url,
    credential: credentialOf(context, runtime.environment),
    verifyTls: context.verifyTls ?? true,
    ...(context.caFile !== undefined && { caFile: context.caFile }),
    ...(component !== undefined && { component }),
  };
}

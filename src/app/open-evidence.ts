import { contextOf, credentialOf } from '../config/contexts.ts';
import { databaseConnection } from '../config/secrets.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { Evidence } from '../operations/ports/evidence.ts';
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
  const { openApiEvidence } = await import('../targets/controller-api/evidence.ts');
  return openApiEvidence({
    address: context.url,
    credential: credentialOf(context, environment),
    verifyTls: context.verifyTls ?? true,
    ...(context.caFile !== undefined && { caFile: context.caFile }),
    ...(component !== undefined && { component }),
  });
}

import { credentialOf, type NamedContext, type NamedRestContext } from '../config/contexts.ts';
import type { Environment } from '../config/paths.ts';
import { databaseConnection } from '../config/secrets.ts';
import type { OpenEvidence } from '../operations/ports/evidence.ts';
import type { TargetDescription } from '../operations/ports/target.ts';
import type { ApiEvidenceOptions } from '../targets/controller-api/evidence.ts';
import { type Component, proxyOf } from './open-target.ts';

/** A context, or one component of the platform behind it. */
interface EvidencePlace {
  readonly environment: Environment;
  readonly component?: Component | undefined;
  readonly dialect: TargetDescription['dialect'];
  readonly interruption: () => AbortSignal | undefined;
  /** Only reads who had which name. */
  readonly namesOnly?: boolean;
}

/**
 * Opens the evidence that a context's controller or gateway keeps, over a separate read-only connection.
 * @throws TokenctlError `configuration`, and as opening a target does.
 */
export async function openEvidence(
  context: NamedContext,
  { environment, component, dialect, interruption, namesOnly }: EvidencePlace,
): Promise<OpenEvidence> {
  if (context.database !== undefined) {
    const { openDatabaseEvidence } = await import('../targets/database/evidence/evidence.ts');
    const connection = databaseConnection(context.database, environment);
    return await openDatabaseEvidence({ connection, environment, interruption, namesOnly });
  }
  const options = apiOptions(environment, context, component);
  if (dialect === 'gateway') {
    const { openGatewayApiEvidence } = await import('../targets/controller-api/gateway-evidence.ts');
    return openGatewayApiEvidence(options);
  }
  const { openApiEvidence } = await import('../targets/controller-api/evidence.ts');
  return openApiEvidence(options);
}

export function apiOptions(
  environment: Environment,
  context: NamedRestContext,
  component: Component | undefined = context.component,
): ApiEvidenceOptions {
  return {
    address: context.url,
    credential: credentialOf(context, environment),
    verifyTls: context.verifyTls ?? true,
    caFile: context.caFile,
    proxy: proxyOf(context.proxy, environment),
    component,
  };
}

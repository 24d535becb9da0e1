import { Secret } from '@tokenctl/common/secret.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import type { Target } from '../../../src/operations/ports/target.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import type { RevocationReport } from '../../../src/operations/revocation/revocation-report.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { openControllerApi } from '../../../src/targets/controller-api/controller-api.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';

const clock = { now: () => new Date() };

/** Opens the controller at an address, or the database of a URL. */
export async function openPlace(place: string): Promise<Target> {
  const context = 'test';
  if (!place.startsWith('http')) return openDatabaseTarget({ context, connection: new Secret(place) });
  const credential = { kind: 'password', username: 'admin', password: new Secret('secret') } as const;
  return openControllerApi({ context, address: place, credential, verifyTls: true });
}

/** Revokes every token, in batches of this size. */
export async function revokeAll(options: {
  target: Target;
  log: AuditLog;
  batchSize: number;
}): Promise<RevocationReport> {
  const { target } = options;
  const description = await target.describe();
  const plan = await planRevocation({ target, selector: { all: true }, clock });
  return revokeTokens({ ...options, description, plan, clock, actor: { user: 'test' } });
}

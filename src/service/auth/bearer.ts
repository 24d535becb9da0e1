import type { ServiceContext } from '../context.ts';
import { type BearerRecord, touchLastUsed } from '../store/tokens.ts';
import { storedForm } from './digest.ts';

/** One write a minute and token is enough to tell when it was last used. */
const LAST_USED_GRANULARITY_MS = 60_000;
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The live token that an Authorization header presents (RFC 6750 §2.1), or null: no bearer, unknown,
 * expired, or of a deactivated user (the controller accepts those; its fault is not repeated).
 */
export async function bearerOf(
  service: ServiceContext,
  authorization: string | undefined,
): Promise<BearerRecord | null> {
  const presented = authorization === undefined ? null : BEARER.exec(authorization);
  if (presented === null) return null;
  const bearer = await service.lookups.bearers.find(storedForm(presented[1] ?? ''));
  if (bearer !== null) await noteUse(service, bearer, service.now());
  return bearer;
}

async function noteUse(service: ServiceContext, bearer: BearerRecord, at: Date): Promise<void> {
  const unless = new Date(at.getTime() - LAST_USED_GRANULARITY_MS);
  if (bearer.last_used !== null && bearer.last_used > unless) return;
  await touchLastUsed(service.database, { tokenId: bearer.token_id, at, unless });
}

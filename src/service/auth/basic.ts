import type { ServiceContext } from '../context.ts';
import type { Attempt } from '../limits/password-limits.ts';
import { currentSettings } from '../settings/settings.ts';
import { findUserByName, type UserRecord } from '../store/users.ts';
import { verifyPassword } from './password.ts';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * The active user whose name and password an Authorization header presents (RFC 7617), or null. With
 * AUTH_BASIC_ENABLED off the header is ignored, as on the controller, and with DISABLE_LOCAL_AUTH on as well:
 * users of identity providers have no password here.
 */
export async function basicUser(
  service: ServiceContext,
  { authorization, network }: { readonly authorization: string | undefined; readonly network: string },
): Promise<UserRecord | null> {
  const presented = authorization === undefined ? null : BASIC.exec(authorization);
  if (presented === null) return null;
  const { AUTH_BASIC_ENABLED, DISABLE_LOCAL_AUTH } = await currentSettings(service.database);
  if (!AUTH_BASIC_ENABLED || DISABLE_LOCAL_AUTH) return null;
  const credentials = decode(presented[1] ?? '');
  return credentials === null ? null : userWithPassword(service, { ...credentials, network });
}

/** A name and a password, and what the client that presents them is counted under. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly network: string;
}

/**
 * The active user with this name and password, or null. It takes as long to refuse an unknown name as a
 * wrong password.
 *
 * @throws RequestFailure 429 where this network, or anybody for this name, has tried too many wrong ones.
 */
export async function userWithPassword(
  service: ServiceContext,
  { username, password, network }: Credentials,
): Promise<UserRecord | null> {
  const { database, credentials, metrics } = service;
  const user = await findUserByName(database, username);
  if (user !== null && credentials.has(user.password, password)) {
    metrics.authenticated('password', user.is_active ? 'accepted' : 'refused');
    return user.is_active ? user : null;
  }
  const succeeded = begin(service, { username, network });
  const right = await verifyPassword(password, user?.password ?? null);
  if (user === null || !user.is_active || !right) {
    metrics.authenticated('password', 'refused');
    return null;
  }
  succeeded();
  metrics.authenticated('password', 'accepted');
  credentials.add(user.password, password);
  return user;
}

function begin({ passwordLimits, metrics }: ServiceContext, attempt: Attempt): () => void {
  try {
    return passwordLimits.begin(attempt);
  } catch (error) {
    metrics.authenticated('password', 'slowed');
    throw error;
  }
}

function decode(encoded: string): { username: string; password: string } | null {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1 || text.includes('\0')) return null;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

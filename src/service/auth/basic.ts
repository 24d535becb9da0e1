import type { ServiceContext } from '../context.ts';
import { currentSettings } from '../settings/settings.ts';
import { findUserByName, type UserRecord } from '../store/users.ts';
import { verifyPassword } from './password.ts';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * The active user whose name and password an Authorization header presents (RFC 7617), or null. With
 * AUTH_BASIC_ENABLED off the header is ignored, as on the controller.
 */
export async function basicUser(
  service: ServiceContext,
  authorization: string | undefined,
): Promise<UserRecord | null> {
  const presented = authorization === undefined ? null : BASIC.exec(authorization);
  if (presented === null) return null;
  const { AUTH_BASIC_ENABLED } = await currentSettings(service.database);
  if (!AUTH_BASIC_ENABLED) return null;
  const credentials = decode(presented[1] ?? '');
  return credentials === null ? null : userWithPassword(service, credentials);
}

/**
 * The active user with this name and password, or null. It takes as long to refuse an unknown name as a
 * wrong password.
 */
export async function userWithPassword(
  service: ServiceContext,
  credentials: { readonly username: string; readonly password: string },
): Promise<UserRecord | null> {
  const { username, password } = credentials;
  const user = await findUserByName(service.database, username);
  const known = user !== null && service.credentials.has(user.password, password);
  if (!known && !(await verifyPassword(password, user?.password ?? null))) return null;
  if (user === null || !user.is_active) return null;
  if (!known) service.credentials.add(user.password, password);
  return user;
}

function decode(encoded: string): { username: string; password: string } | null {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1 || text.includes('\0')) return null;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

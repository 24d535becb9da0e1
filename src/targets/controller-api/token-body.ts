import type { ApplicationReference, Token, UserReference } from '../../domain/token.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads one token out of a controller's JSON. By hand, for there may be a million of them.
 *
 * @returns The token, or null where the JSON is none.
 */
export function readToken(body: unknown): Token | null {
  if (!isFields(body)) return null;
  const { id, scope, description } = body;
  const created = dateOf(body['created']);
  const expires = dateOf(body['expires']);
  if (!isId(id) || typeof scope !== 'string' || created === null || expires === null) return null;
  const summary = isFields(body['summary_fields']) ? body['summary_fields'] : {};
  return {
    id,
    user: ownerOf(body['user'], summary['user']),
    application: applicationOf(body['application'], summary['application']),
    scope,
    description: typeof description === 'string' ? description : '',
    created,
    expires,
    lastUsed: 'last_used' in body ? dateOf(body['last_used']) : undefined,
    // Censored where there is one, null where there is none.
    hasRefreshToken: typeof body['refresh_token'] === 'string' && body['refresh_token'] !== '',
    fingerprint: null,
  };
}

function ownerOf(id: unknown, summary: unknown): UserReference | null {
  if (!isId(id)) return null;
  const name = isFields(summary) ? summary['username'] : undefined;
  return { id, username: typeof name === 'string' ? name : `user ${id}` };
}

function applicationOf(id: unknown, summary: unknown): ApplicationReference | null {
  if (!isId(id)) return null;
  const name = isFields(summary) ? summary['name'] : undefined;
  return { id, name: typeof name === 'string' ? name : `application ${id}` };
}

function dateOf(value: unknown): Date | null {
  if (typeof value !== 'string') return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

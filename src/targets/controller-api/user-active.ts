import { TokenctlError } from '../../domain/errors.ts';
import { jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';
import { readActions } from './bodies.ts';
import { firstOf } from './pages.ts';
import type { Answer } from './receiver.ts';

/**
 * Whether users can be deactivated here: a controller 24.6 and a gateway take no `is_active` over their API,
 * tokenctl's service does. Its OPTIONS says so.
 */
export async function takesActive(api: Api): Promise<boolean> {
  const answer = await api.send({ method: 'OPTIONS', path: 'users/' });
  const fields = answer.status === 200 ? readActions(parsed(answer))?.['POST'] : null;
  return typeof fields === 'object' && fields !== null && 'is_active' in fields;
}

/** A body as JSON; null for what is none: that is no reason not to go on. */
function parsed(answer: Answer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch {
    return null;
  }
}

/**
 * Deactivates a user or activates one again; superusers may, and nobody for oneself. An answer does not tell
 * whether a user is active, a filter does.
 *
 * @returns Whether anything changed.
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` where the change is ignored,
 * and as requests do.
 */
export async function patchUserActive(api: Api, userId: number, active: boolean): Promise<boolean> {
  if ((await isActive(api, userId)) === active) return false;
  const path = `users/${userId}/`;
  const answer = await api.send({ method: 'PATCH', path, json: { is_active: active } });
  jsonOf(answer, api, `a change of user ${userId}`);
  if ((await isActive(api, userId)) === active) return true;
  throw new TokenctlError('unsupported', `${api.address} takes no deactivation over the REST API`, {
    hint: 'Use a context of the database, or delete the user there.',
  });
}

async function isActive(api: Api, userId: number): Promise<boolean> {
  const what = `user ${userId}`;
  const read = api.dialect.readUser;
  for (const active of [true, false]) {
    const path = `users/?id=${userId}&is_active=${active}&page_size=1`;
    const answer = await api.send({ method: 'GET', path });
    if (firstOf(jsonOf(answer, api, what), { at: api, what, read }) !== null) return active;
  }
  throw new TokenctlError('not_found', `There is no user with the id ${userId} that you may see`);
}

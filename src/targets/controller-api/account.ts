import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isFromProduct, isFromService } from '@tokenctl/common/product.ts';
import { jsonOrNull } from '@tokenctl/common/text.ts';
import { z } from 'zod';
import type { Visibility } from '../../domain/claims.ts';
import type { User } from '../../domain/token.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { Api, Dialect } from './api.ts';
import type { HttpResponse } from './connection.ts';
import { firstItem } from './listing.ts';
import { isJson, notAControllerError, parseJson, unknownFormat } from './responses.ts';

/** Each token takes one request. This size keeps the connections busy while the audit log is written. */
const BATCH_SIZE = 250;

const ping = z.object({ version: z.string().nullish(), install_uuid: z.string().min(1).nullish() });
const me = z.object({ results: z.tuple([z.unknown()]) });
const options = z.object({ actions: z.record(z.string(), z.unknown()) });

/** Detects version, caller and rights. Throws `target_misbehaved` if neither controller nor gateway responds. */
export async function describeApi(api: Api, context: string): Promise<TargetDescription> {
  const { dialect, components } = api;
  const get = async (path: string, what: string) => {
    const response = await api.send({ method: 'GET', path });
    if (response.status === 404) throw notAControllerError(api, what);
    return { body: parseJson(response, api, what), headers: response.headers };
  };
  // Early gateways do not state their version.
  const pinged = await get('ping/', 'its version');
  const stated = ping.safeParse(pinged.body).data;
  const isProduct = isFromProduct(pinged.headers);
  const caller = readMe((await get('me/', 'the current user')).body, dialect);
  if (caller === null) {
    throw new TokenctlError('target_misbehaved', `${api.address} does not respond like a ${dialect.name}`, {
      hint: "Check the address's host, port and path.",
    });
  }
  const { id, username, isSuperuser } = caller;
  const [changes, acceptsActive, visibility] = await Promise.all([
    mayChange(api),
    isSuperuser ? acceptsUserActive(api) : false,
    readVisibility(api, caller),
  ]);
  return {
    context,
    address: api.address,
    dialect: dialectOf(api, pinged),
    ...(components !== undefined && { components }),
    version: stated?.version ?? null,
    installUuid: stated?.install_uuid ?? null,
    identity: { id, username, isSuperuser, isSystemAuditor: caller.isSystemAuditor === true },
    visibility,
    credential: api.credential.kind,
    transport: api.transport,
    ...(api.proxy !== null && { proxy: api.proxy }),
    capabilities: {
      lastUsed: dialect.showsLastUse,
      // Other workers of a controller take up to five seconds [seen on 24.6.1]; other services have none.
      settingsHold: dialect.name === 'controller' && isProduct ? 'within_seconds' : 'at_once',
      deactivateUsers: changes && acceptsActive,
      // A gateway has a different list of roles. A service without one says so when asked.
      ...(changes && isSuperuser && dialect.name === 'controller' && { roles: true as const }),
      changes,
      batchSize: BATCH_SIZE,
    },
    missingRights: [],
  };
}

const organizations = z.object({ results: z.array(z.object({ name: z.string() })) });

/**
 * What the caller sees. A controller 24.6 lists all tokens only for superusers and system auditors. An
 * organization administrator also gets the tokens of its applications, but no personal tokens of its members,
 * and all users only if ORG_ADMINS_CAN_SEE_ALL_USERS is on, which the administrator may not read. A gateway
 * may list more tokens for a normal user, depending on its version, so nothing more is promised there.
 */
async function readVisibility(api: Api, caller: User): Promise<Visibility> {
  if (caller.isSuperuser || caller.isSystemAuditor === true) return { kind: 'all' };
  const isGateway = api.dialect.name === 'gateway';
  const administered = isGateway ? [] : await readOrganizations(api, caller.id);
  if (administered.length === 0) {
    return {
      kind: 'part',
      tokens: isGateway
        ? 'what the gateway shows a normal user, which may be more than their own tokens'
        : 'their own tokens',
      users: 'users of their own organizations and teams',
      applications: 'applications of their own organizations',
      organizations: [],
    };
  }
  const which = administered.join(', ');
  return {
    kind: 'part',
    tokens: `their own tokens and those of the applications of ${which}`,
    users: `the users of ${which}, and others if the controller allows it`,
    applications: `applications of their own organizations`,
    organizations: administered,
  };
}

/** Which product's API it is, according to a response. Behind a gateway there is a controller. */
function dialectOf({ dialect, components }: Api, { headers }: Pick<HttpResponse, 'headers'>) {
  const isService = dialect.name === 'controller' && components === undefined && isFromService(headers);
  return isService ? 'service' : dialect.name;
}

/** The names of the organizations that a user administers; empty if the service does not have this list. */
async function readOrganizations(api: Api, userId: number): Promise<readonly string[]> {
  const path = `users/${userId}/admin_of_organizations/?page_size=200`;
  const response = await api.send({ method: 'GET', path });
  if (response.status === 403 || response.status === 404) return [];
  const { data } = organizations.safeParse(parseJson(response, api, 'the organizations of the current user'));
  return data?.results.map(({ name }) => name) ?? [];
}

/** The caller, the Date header (RFC 9110 §6.6.1), and the product. Throws `target_misbehaved` without a user. */
export async function readCaller(
  api: Api,
): Promise<{
  readonly user: User;
  readonly date: string | undefined;
  readonly dialect: TargetDescription['dialect'];
}> {
  const response = await api.send({ method: 'GET', path: 'me/' });
  const user = readMe(parseJson(response, api, 'the current user'), api.dialect);
  if (user !== null) return { user, date: response.headers.date, dialect: dialectOf(api, response) };
  throw unknownFormat(`${api.address} does not return the current user`);
}

/** The caller from the body of `me/`; null if the list is empty. */
export function readMe(body: unknown, { readUser }: Pick<Dialect, 'readUser'>): User | null {
  return readUser(me.safeParse(body).data?.results[0]);
}

/**
 * Whether the credential may change anything. A controller does not reveal a token's scope, but its OPTIONS
 * response omits actions that the scope does not allow. If that cannot be read, changes count as allowed, and
 * the attempt shows whether they are.
 */
async function mayChange(api: Api): Promise<boolean> {
  if (api.credential.kind === 'password') return true;
  const response = await api.send({ method: 'OPTIONS', path: 'tokens/' });
  if (response.status !== 200 || !isJson(response)) return true;
  const actions = readActions(parseJson(response, api, 'the available actions'));
  return actions === null || 'POST' in actions;
}

/**
 * Whether users can be deactivated over this API. A controller 24.6 and a gateway ignore `is_active`;
 * tokenctl's service accepts it and lists it in its OPTIONS response.
 */
async function acceptsUserActive(api: Api): Promise<boolean> {
  const response = await api.send({ method: 'OPTIONS', path: 'users/' });
  const fields =
    response.status === 200 ? readActions(jsonOrNull(response.body.toString('utf8')))?.['POST'] : null;
  return typeof fields === 'object' && fields !== null && 'is_active' in fields;
}

function readActions(body: unknown): Readonly<Record<string, unknown>> | null {
  return options.safeParse(body).data?.actions ?? null;
}

/**
 * Activates or deactivates a user. Superusers may do this, but not for their own account, so one superuser always
 * remains: the caller. tokenctl's service locks the caller together with the user, and refuses if the caller was
 * deactivated meanwhile. The response for a user does not show `is_active`, so a filter checks it before and after.
 * @returns Whether anything changed.
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` if the API ignores the change, and
 * as requests do.
 */
export async function setUserActive(api: Api, userId: number, active: boolean): Promise<boolean> {
  if ((await isUserActive(api, userId)) === active) return false;
  const path = `users/${userId}/`;
  const response = await api.send({ method: 'PATCH', path, json: { is_active: active } });
  parseJson(response, api, `a change to user ${userId}`);
  if ((await isUserActive(api, userId)) === active) return true;
  throw new TokenctlError('unsupported', `${api.address} does not deactivate users over the REST API`, {
    hint: 'Use a database context, or delete the user in the web interface.',
  });
}

async function isUserActive(api: Api, userId: number): Promise<boolean> {
  const what = `user ${userId}`;
  const read = api.dialect.readUser;
  for (const active of [true, false]) {
    const path = `users/?id=${userId}&is_active=${active}&page_size=1`;
    if (firstItem(await api.getJson(path, what), { from: api, what, read }) !== null) return active;
  }
  throw new TokenctlError('not_found', `User ${userId} does not exist or is not visible to you`);
}

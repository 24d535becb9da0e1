import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import {
  canChangeToken,
  canSeeApplications,
  canSeeToken,
  isExternal,
  visibleApplications,
  visibleTokens,
} from '../access.ts';
import { hashToken, randomText } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid, notFound, unauthenticated } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import { type Listing, list, requireMatch } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { currentSettings } from '../settings/settings.ts';
import { findApplication } from '../store/applications.ts';
import {
  deleteToken,
  findToken,
  insertRefreshToken,
  insertToken,
  lockToken,
  TOKEN_COLUMNS,
  TOKEN_FROM,
  type TokenRecord,
  updateToken,
} from '../store/tokens.ts';
import { isStillProven } from '../store/users.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { pathId } from './request-values.ts';
import { changedValues, logChange } from './resource.ts';
import { tokenFacts, tokenFields, tokenJson } from './token-json.ts';

/** `/api/v2/tokens/` and `/api/v2/tokens/N/`. */
export function serveTokens(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/tokens/',
    name: 'Tokens',
    description: 'The OAuth2 access tokens that you can see. POST creates one for yourself.',
    fields: tokenFields,
    handlers: {
      GET: (exchange) => listTokens(exchange, visibleTokens(exchange.caller.user)),
      POST: (exchange) => issueToken(exchange, 'any'),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/tokens/:id(^\\d+$)/',
    name: 'Token',
    description: 'One OAuth2 access token. DELETE revokes it and keeps its refresh token.',
    fields: tokenFields,
    allows: async (exchange) => canChangeToken(exchange.caller.user, await matching(exchange)),
    handlers: {
      GET: async (exchange) => tokenJson(await matching(exchange)),
      PUT: (exchange) => change(exchange, 'PUT'),
      PATCH: (exchange) => change(exchange, 'PATCH'),
      DELETE: revoke,
    },
  });
}

/** Lists the tokens that meet a condition. Filters reach into an application only if the caller may see it. */
export function listTokens(exchange: Exchange, visible: Sql): Promise<unknown> {
  return list(exchange, tokenListing(exchange, visible));
}

function tokenListing({ caller }: Exchange, visible: Sql): Listing<TokenRecord> {
  const seen = visibleApplications(caller.user, 'g');
  return {
    fields: tokenFields,
    columns: TOKEN_COLUMNS,
    from: sql`${TOKEN_FROM}
      LEFT JOIN main_oauth2application g ON g.id = t.application_id AND (${seen})
      LEFT JOIN main_organization o ON o.id = g.organization_id`,
    visible,
    render: (tokens) => tokens.map((token) => tokenJson(token)),
  };
}

/** The token in the path. Throws 404, or 403 if the caller may not see it. */
export async function seenToken({ service, caller, params }: Exchange): Promise<TokenRecord> {
  const token = await findToken(service.database, pathId(params['id']));
  if (token === null) throw notFound();
  if (!canSeeToken(caller.user, token)) throw forbidden();
  return token;
}

/** The same, if the query string's filters match the token. */
async function matching(exchange: Exchange): Promise<TokenRecord> {
  const token = await seenToken(exchange);
  await requireMatch(exchange, tokenListing(exchange, sql`t.id = ${token.id}`));
  return token;
}

/** The locked token in the path. Throws 404, or 403 if the caller may not change it. */
async function changeable({ caller, params }: Exchange, transaction: Queryable): Promise<TokenRecord> {
  const token = await lockToken(transaction, pathId(params['id']));
  if (token === null) throw notFound();
  if (!canChangeToken(caller.user, token)) throw forbidden();
  return token;
}

/** Narrows the scope and changes the description. Other fields are read-only and ignored. */
async function change(exchange: Exchange, method: 'PUT' | 'PATCH'): Promise<unknown> {
  const { service, request } = exchange;
  if (request.url.includes('?')) await matching(exchange);
  const given = jsonObject(request);
  return service.database.transaction(async (transaction) => {
    const before = await changeable(exchange, transaction);
    // PUT resets the fields that it omits, but this must not widen the scope.
    const body = before.scope === 'read' ? { scope: 'read', ...given } : given;
    const problems: Problems = {};
    const current = { scope: before.scope, description: before.description };
    const after = readFields(tokenFields, body, { current, method, problems });
    if (Object.keys(problems).length > 0) throw invalid(problems);
    requireFieldRights('o_auth2_access_token', { caller: exchange.caller.user, before, after });
    const modified = service.now();
    const changes = changedValues(['description', 'scope'], before, after);
    await updateToken(transaction, { id: before.id, ...after, modified });
    if (Object.keys(changes).length > 0) {
      await logChange(exchange, transaction, {
        operation: 'update',
        at: modified,
        changes,
        object1: 'o_auth2_access_token',
        tokenId: before.id,
      });
    }
    return tokenJson({ ...before, ...after, modified });
  });
}

async function revoke(exchange: Exchange): Promise<undefined> {
  const { service, request } = exchange;
  if (request.url.includes('?')) await matching(exchange);
  await service.database.transaction(async (transaction) => {
    const token = await changeable(exchange, transaction);
    if (!(await deleteToken(transaction, token.id))) throw notFound();
    await logChange(exchange, transaction, {
      operation: 'delete',
      changes: tokenFacts(token),
      object1: 'o_auth2_access_token',
    });
  });
}

const VALUE_LENGTH = 30;

interface Asked {
  readonly scope: string;
  readonly description: string;
  readonly application: { readonly id: number } | null;
  readonly expires: Date;
}

/**
 * POST on a list of tokens: creates a token for the caller, whatever user the path names, as on the controller. A
 * token for an application comes with a refresh token.
 * @param kind `personal` ignores an application in the body, `authorized` requires one.
 * @param forApplication The application in the path, used instead of the one in the body; the caller may see it.
 * @throws RequestFailure 400 for an invalid body, 403 for an external user unless the settings allow it.
 */
export async function issueToken(
  exchange: Exchange,
  kind: 'any' | 'personal' | 'authorized',
  forApplication?: { readonly id: number },
): Promise<unknown> {
  const { service, reply, caller } = exchange;
  const settings = await currentSettings(service.database);
  const created = service.now();
  const last = new Date(created.getTime() + settings.OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS * 1000);
  const asked = await readAsked(exchange, { kind, forApplication, created, last });
  if (!settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS && isExternal(caller.user)) {
    throw forbidden(
      '(access_denied) OAuth2 Tokens cannot be created by users associated with an external authentication provider',
    );
  }
  const { token, issued } = await store(exchange, asked, created);
  reply.code(201).header('Location', `/api/v2/tokens/${token.id}/`);
  return tokenJson(token, issued);
}

async function readAsked(
  exchange: Exchange,
  options: {
    kind: 'any' | 'personal' | 'authorized';
    forApplication: { readonly id: number } | undefined;
    created: Date;
    last: Date;
  },
): Promise<Asked> {
  const { kind, forApplication, ...times } = options;
  const body = jsonObject(exchange.request);
  const problems: Problems = {};
  const current = { scope: '', description: '', application: null as number | null };
  const asked = readFields(tokenFields, body, { current, method: 'POST', problems });
  const id = kind === 'personal' || forApplication !== undefined ? null : asked.application;
  if (kind === 'authorized' && id === null) problems['application'] ??= ['This field is required.'];
  const named = id === null ? null : await findApplication(exchange.service.database, id);
  if (id !== null && named === null) problems['application'] ??= [noSuchId(id)];
  const unusable = body['application'] === '' || problems['application'] !== undefined;
  // The controller reads the application before it checks the other fields, except for superusers.
  if (!exchange.caller.user.is_superuser && kind !== 'personal' && 'application' in body && unusable) {
    throw badRequest('Bad data found in the field application.');
  }
  const application = forApplication ?? named;
  const expires = readExpires(body['expires'], { ...times, isPersonal: application === null });
  if (typeof expires === 'string') problems['expires'] = [expires];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  if (named !== null && !canSeeApplications(exchange.caller.user, named.organization)) throw forbidden();
  return { ...asked, application, expires: expires instanceof Date ? expires : times.last };
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

/** When a new token expires, or what is wrong with the given time. The controller ignores the field. */
function readExpires(
  given: unknown,
  { created, last, isPersonal }: { created: Date; last: Date; isPersonal: boolean },
): Date | string {
  if (given === undefined || given === null) return last;
  if (!isPersonal) return 'Only personal tokens can have their own expiry.';
  const expires = instantOf(given);
  if (expires === null) return 'Enter a date and time with a time zone, such as 2026-12-31T18:00:00Z.';
  if (expires <= created) return 'This time is in the past.';
  return expires <= last
    ? expires
    : `According to the settings, new tokens expire no later than ${last.toISOString()}.`;
}

function instantOf(given: unknown): Date | null {
  const [, year, month, day] = (typeof given === 'string' && RFC_3339.exec(given.trim())) || [];
  const at = new Date(typeof given === 'string' ? given.trim() : Number.NaN);
  // JavaScript turns February 30 into March 2.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return Number.isNaN(at.getTime()) || date.getUTCDate() !== Number(day) ? null : at;
}

function store(exchange: Exchange, asked: Asked, created: Date) {
  const { service, caller } = exchange;
  const issued = {
    token: randomText(VALUE_LENGTH),
    refreshToken: asked.application && randomText(VALUE_LENGTH),
  };
  const { sessionKey, tokenId } = caller;
  const userId = caller.user.id;
  return service.database.transaction(async (transaction) => {
    if (!(await isStillProven(transaction, { userId, sessionKey, tokenId }))) throw unauthenticated();
    const id = await insertToken(transaction, {
      hash: hashToken(issued.token),
      expires: asked.expires,
      scope: asked.scope,
      description: asked.description,
      applicationId: asked.application?.id ?? null,
      userId,
      created,
    });
    if (asked.application !== null && issued.refreshToken !== null) {
      await insertRefreshToken(transaction, {
        hash: hashToken(issued.refreshToken),
        accessTokenId: id,
        applicationId: asked.application.id,
        userId,
        created,
      });
    }
    const token = await findToken(transaction, id);
    if (token === null) throw new Error('a token vanished inside the transaction that made it');
    await logChange(exchange, transaction, {
      operation: 'create',
      at: created,
      changes: tokenFacts(token),
      object1: 'o_auth2_access_token',
      tokenId: id,
    });
    return { token, issued };
  });
}

import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { mayChangeToken, maySeeToken, visibleApplications, visibleTokens } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { scopeProblem } from '../oauth2/oauth-request.ts';
import { insertActivity } from '../store/activity.ts';
import {
  deleteToken,
  findToken,
  lockToken,
  TOKEN_COLUMNS,
  TOKEN_FROM,
  type TokenRecord,
  updateToken,
} from '../store/tokens.ts';
import { issueToken } from './issue-token.ts';
import { pathId } from './path-id.ts';
import { type Problems, textField } from './text-field.ts';
import { tokenFields } from './token-fields.ts';
import { tokenFacts, tokenJson } from './token-json.ts';

/** `/api/v2/tokens/` and `/api/v2/tokens/N/`. */
export function serveTokens(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/tokens/',
    name: 'Tokens',
    description: 'The OAuth2 access tokens that you may see. POST makes one for yourself.',
    fields: tokenFields,
    handlers: {
      GET: (exchange) => listTokens(exchange, visibleTokens(exchange.caller.user)),
      POST: (exchange) => issueToken(exchange, 'any'),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/tokens/:id(^\\d+$)/',
    name: 'Token',
    description: 'One OAuth2 access token. DELETE revokes it; its refresh token, if any, lives on.',
    fields: tokenFields,
    handlers: {
      GET: async (exchange) => tokenJson(await seen(exchange)),
      PUT: (exchange) => change(exchange, { scope: 'write', description: '' }),
      PATCH: (exchange) => change(exchange, null),
      DELETE: revoke,
    },
  });
}

/**
 * Lists the tokens for which a condition holds. Filters reach into a token's application as far as the caller
 * sees that: the owner of a token need not.
 */
export function listTokens({ service, request, caller }: Exchange, visible: Condition): Promise<unknown> {
  const seen = visibleApplications(caller.user, visible.values.length + 1, 'g');
  return list<TokenRecord>(service.database, request.url, {
    fields: tokenFields,
    columns: TOKEN_COLUMNS,
    from: `${TOKEN_FROM}
      LEFT JOIN main_oauth2application g ON g.id = t.application_id AND (${seen.sql})
      LEFT JOIN main_organization o ON o.id = g.organization_id`,
    visible: { sql: visible.sql, values: [...visible.values, ...seen.values] },
    render: (token) => tokenJson(token),
  });
}

async function seen({ service, caller, params }: Exchange): Promise<TokenRecord> {
  const token = await findToken(service.database, pathId(params['id']));
  if (token === null) throw notFound();
  if (!maySeeToken(caller.user, token)) throw forbidden();
  return token;
}

/** The token that the path names, locked, if the caller may change it. */
async function changeable({ caller, params }: Exchange, transaction: Queryable): Promise<TokenRecord> {
  const token = await lockToken(transaction, pathId(params['id']));
  if (token === null) throw notFound();
  if (!mayChangeToken(caller.user, token)) throw forbidden();
  return token;
}

/** Only scope and description can change; what else is sent is ignored, as read-only fields are. */
async function change(
  exchange: Exchange,
  absent: { scope: string; description: string } | null,
): Promise<unknown> {
  const { service, request, caller } = exchange;
  const body = jsonObject(request);
  return service.database.transaction(async (transaction) => {
    const before = await changeable(exchange, transaction);
    const after = readChange(body, absent ?? before);
    const modified = service.now();
    const changes = differences(before, after);
    await updateToken(transaction, { id: before.id, ...after, modified });
    if (Object.keys(changes).length > 0) {
      await insertActivity(transaction, {
        operation: 'update',
        at: modified,
        changes,
        object1: 'o_auth2_access_token',
        actorId: caller.user.id,
        node: service.node,
        tokenId: before.id,
      });
    }
    return tokenJson({ ...before, ...after, modified });
  });
}

function readChange(
  body: Readonly<Record<string, unknown>>,
  fallback: { readonly scope: string; readonly description: string },
): { scope: string; description: string } {
  const problems: Problems = {};
  const description = textField(body, 'description', { rule: { fallback: fallback.description }, problems });
  const scope = body['scope'] === undefined ? fallback.scope : body['scope'];
  const problem = scopeProblem(scope);
  if (problem !== null) problems['scope'] = [problem];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return { scope: String(scope), description };
}

function differences(
  before: TokenRecord,
  after: { readonly scope: string; readonly description: string },
): Record<string, readonly [string, string]> {
  const names = (['description', 'scope'] as const).filter((name) => before[name] !== after[name]);
  return Object.fromEntries(names.map((name) => [name, [before[name], after[name]] as const]));
}

async function revoke(exchange: Exchange): Promise<undefined> {
  const { service, caller } = exchange;
  await service.database.transaction(async (transaction) => {
    const token = await changeable(exchange, transaction);
    if (!(await deleteToken(transaction, token.id))) throw notFound();
    await insertActivity(transaction, {
      operation: 'delete',
      at: service.now(),
      changes: tokenFacts(token),
      object1: 'o_auth2_access_token',
      actorId: caller.user.id,
      node: service.node,
    });
  });
}

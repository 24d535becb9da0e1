import { isExternal, seesApplications } from '../access.ts';
import { storedForm } from '../auth/digest.ts';
import { randomText } from '../auth/password.ts';
import { jsonObject } from '../body.ts';
import type { Exchange } from '../endpoint.ts';
import { badRequest, forbidden, invalid } from '../failure.ts';
import { scopeProblem } from '../oauth2/oauth-request.ts';
import { currentSettings } from '../settings/settings.ts';
import { insertActivity } from '../store/activity.ts';
import { findApplication } from '../store/applications.ts';
import { findToken, insertRefreshToken, insertToken, type TokenRecord } from '../store/tokens.ts';
import { type Problems, textField } from './text-field.ts';
import { type IssuedValues, tokenFacts, tokenJson } from './token-json.ts';

const VALUE_LENGTH = 30;

/** What a request asks a token to be. */
interface Asked {
  readonly scope: string;
  readonly description: string;
  readonly application: { readonly id: number } | null;
}

/**
 * POST on a collection of tokens: a token for the caller, whichever collection it is (the controller's
 * `/users/N/…` ignore N as well). With an application it comes with a refresh token.
 *
 * @param kind `personal` ignores an application in the body, `authorized` asks for one.
 * @param forApplication The application that the path names, instead of one in the body; the caller sees it.
 * @throws RequestFailure 400 for a bad body, 403 for an external user while the setting is off.
 */
export async function issueToken(
  exchange: Exchange,
  kind: 'any' | 'personal' | 'authorized',
  forApplication?: { readonly id: number },
): Promise<unknown> {
  const { service, reply, caller } = exchange;
  const asked = await readAsked(exchange, kind, forApplication);
  const settings = await currentSettings(service.database);
  if (!settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS && isExternal(caller.user)) {
    throw forbidden(
      '(access_denied) OAuth2 Tokens cannot be created by users associated with an external authentication provider',
    );
  }
  const { token, issued } = await store(
    exchange,
    asked,
    settings.OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS,
  );
  reply.code(201).header('Location', `/api/v2/tokens/${token.id}/`);
  return tokenJson(token, issued);
}

async function readAsked(
  exchange: Exchange,
  kind: 'any' | 'personal' | 'authorized',
  forApplication: { readonly id: number } | undefined,
): Promise<Asked> {
  const body = jsonObject(exchange.request);
  const problems: Problems = {};
  const scope = body['scope'] === undefined ? 'write' : body['scope'];
  const problem = scopeProblem(scope);
  if (problem !== null) problems['scope'] = [problem];
  const description = textField(body, 'description', { rule: { fallback: '' }, problems });
  const wanted = kind === 'personal' ? null : (body['application'] ?? null);
  if (kind === 'authorized' && wanted === null) problems['application'] = ['This field is required.'];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return {
    scope: String(scope),
    description,
    application: forApplication ?? (await application(exchange, wanted)),
  };
}

async function application({ service, caller }: Exchange, wanted: unknown): Promise<{ id: number } | null> {
  if (wanted === null) return null;
  const id = typeof wanted === 'string' && /^\d{1,15}$/.test(wanted) ? Number(wanted) : wanted;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) {
    throw badRequest('application: expected the id of an application.');
  }
  const found = await findApplication(service.database, id);
  if (found === null) throw badRequest(`application: there is no application with the id ${id}.`);
  if (!seesApplications(caller.user, found.organization_id)) throw forbidden();
  return { id: found.id };
}

function store(
  { service, caller }: Exchange,
  asked: Asked,
  lifetime: number,
): Promise<{ token: TokenRecord; issued: IssuedValues }> {
  const created = service.now();
  const issued = {
    token: randomText(VALUE_LENGTH),
    refreshToken: asked.application && randomText(VALUE_LENGTH),
  };
  const userId = caller.user.id;
  return service.database.transaction(async (transaction) => {
    const id = await insertToken(transaction, {
      storedForm: storedForm(issued.token),
      expires: new Date(created.getTime() + lifetime * 1000),
      scope: asked.scope,
      description: asked.description,
      applicationId: asked.application?.id ?? null,
      userId,
      created,
    });
    if (asked.application !== null && issued.refreshToken !== null) {
      await insertRefreshToken(transaction, {
        storedForm: storedForm(issued.refreshToken),
        accessTokenId: id,
        applicationId: asked.application.id,
        userId,
        created,
      });
    }
    const token = await findToken(transaction, id);
    if (token === null) throw new Error('a token vanished inside the transaction that made it');
    await insertActivity(transaction, {
      operation: 'create',
      at: created,
      changes: tokenFacts(token),
      object1: 'o_auth2_access_token',
      actorId: userId,
      node: service.node,
      tokenId: id,
    });
    return { token, issued };
  });
}

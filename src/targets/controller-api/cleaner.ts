import { TokenctlError } from '../../domain/errors.ts';
import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import type { Cleaner, CleaningValues } from '../../operations/ports/evidence.ts';
import type { Api } from './api.ts';
import { Connection, type HttpRequest, type HttpResponse } from './connection.ts';
import { recognizeApi } from './controller-api.ts';
import type { ApiEvidenceOptions } from './evidence.ts';
import { responseError } from './responses.ts';

/** What paths of acts begin with: the root of a controller that answers itself. */
const ROOT = '/api/v2/';

/**
 * Opens the REST API of a controller to clean; nothing is sent yet.
 *
 * @throws TokenctlError `configuration` for an invalid address or credential.
 */
export function openApiCleaner(options: ApiEvidenceOptions): Cleaner & { close(): Promise<void> } {
  const connection = new Connection(options);
  let recognized: Promise<Api> | undefined;
  const send = async (request: HttpRequest, what: string): Promise<'done' | 'unchanged'> => {
    recognized ??= recognizeApi(connection, options.component);
    const api = await recognized;
    const response = await api.send({ ...request, path: request.path.slice(ROOT.length) });
    return outcomeOf(response, { api, request, what });
  };
  return {
    refusal: () => null,
    apply: (act, values) => apply(act, { values, send }),
    close: () => connection.close(),
  };
}

async function apply(
  act: CleaningAct,
  {
    values: { write },
    send,
  }: {
    readonly values: CleaningValues;
    readonly send: (request: HttpRequest, what: string) => Promise<'done' | 'unchanged'>;
  },
): Promise<'done' | 'unchanged'> {
  switch (act.act) {
    case 'delete':
      return await send({ method: 'DELETE', path: act.path }, 'to delete an object');
    case 'disassociate':
      return await send(
        { method: 'POST', path: act.path, json: { id: act.id, disassociate: true } },
        'to remove a role or link',
      );
    case 'associate':
      return await send(
        { method: 'POST', path: act.path, json: { id: act.id } },
        'to give back a role or link',
      );
    case 'cancel':
      return await send({ method: 'POST', path: act.path, json: {} }, 'to cancel a job');
    case 'disable':
    case 'enable':
      return await send(
        { method: 'PATCH', path: act.path, json: { [act.field]: act.act === 'enable' } },
        'to switch an object',
      );
    case 'restore': {
      const restored =
        act.fields.length === 0
          ? 'unchanged'
          : await send({ method: 'PATCH', path: act.path, json: write }, 'to restore fields');
      // A controller 24.6.1 deletes the key of a template whose webhook is turned off [seen].
      if (act.newWebhookKey !== null && write['webhook_service']) {
        await send({ method: 'POST', path: act.newWebhookKey, json: {} }, 'a new webhook key');
      }
      if (act.survey === null) return restored;
      const deleted = await send({ method: 'DELETE', path: act.survey }, 'to delete a survey');
      return restored === 'done' ? restored : deleted;
    }
  }
}

function outcomeOf(
  response: HttpResponse,
  { api, request, what }: { readonly api: Api; readonly request: HttpRequest; readonly what: string },
): 'done' | 'unchanged' {
  const { status } = response;
  if (status >= 200 && status <= 299) return 'done';
  if (status === 404) return 'unchanged';
  // A job that has ended cannot be cancelled.
  if (status === 405 && request.path.endsWith('/cancel/')) return 'unchanged';
  if (status === 409) {
    throw new TokenctlError('unsupported', `${api.address} refused ${what}: it is in use`, {
      hint: 'Wait until running jobs have ended, then run the command again.',
    });
  }
  if (status === 400) {
    const fields = Object.keys(request.json ?? {}).filter((field) => response.body.includes(`"${field}"`));
    throw new TokenctlError(
      'unsupported',
      `${api.address} refused ${what}${fields.length === 0 ? '' : `: it rejected ${fields.join(', ')}`}`,
      { hint: 'A name may be taken, or an object that is meant may be deleted: do it by hand.' },
    );
  }
  if (status === 500)
    throw new TokenctlError('target_misbehaved', `${api.address} failed ${what} (HTTP 500)`);
  throw responseError(response, api, what);
}

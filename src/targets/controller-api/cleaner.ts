import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import { refusedAct } from '../../domain/investigation/cleaning.ts';
import type { Cleaner, CleaningValues } from '../../operations/ports/evidence.ts';
import type { Api } from './api.ts';
import type { HttpRequest, HttpResponse } from './connection.ts';
import { openApi } from './controller-api.ts';
import type { ApiEvidenceOptions } from './evidence.ts';
import { responseError } from './responses.ts';
import { readDefaults } from './setting-defaults.ts';

/** The prefix of the paths of acts: the root of a controller that responds directly. */
const ROOT = '/api/v2/';

/** Opens a controller's REST API for a cleanup. Sends nothing yet. Throws `configuration`. */
export function openApiCleaner(options: ApiEvidenceOptions): Cleaner & { close(): Promise<void> } {
  const { open, close } = openApi(options, options.component);
  const send = async (request: HttpRequest, what: string): Promise<'done' | 'unchanged'> => {
    const api = await open();
    const response = await api.send({ ...request, path: request.path.slice(ROOT.length) });
    return outcomeOf(response, { api, request, what });
  };
  return {
    refusal: () => null,
    apply: (act, values) =>
      apply(act, { values, send, defaults: async (category) => readDefaults(await open(), category) }),
    close,
  };
}

interface Means {
  readonly values: CleaningValues;
  readonly send: (request: HttpRequest, what: string) => Promise<'done' | 'unchanged'>;
  readonly defaults: (category: string | null) => Promise<ReadonlyMap<string, unknown>>;
}

async function apply(act: CleaningAct, means: Means): Promise<'done' | 'unchanged'> {
  const { send } = means;
  const post = (json: object, what: string) => send({ method: 'POST', path: act.path, json }, what);
  const patch = (json: object, what: string) => send({ method: 'PATCH', path: act.path, json }, what);
  switch (act.act) {
    case 'delete':
    case 'unassign':
      return await send({ method: 'DELETE', path: act.path }, 'to delete an object');
    case 'disassociate':
      return await post({ id: act.id, disassociate: true }, 'to remove a role or link');
    case 'associate':
      return await post({ id: act.id }, 'to restore a role or link');
    case 'cancel':
      return await post({}, 'to cancel a job');
    case 'disable':
    case 'enable':
      return await patch({ [act.field]: act.act === 'enable' }, 'to turn an object on or off');
    case 'assign':
      return await post(assignmentBody(act), 'to restore a role');
    case 'rename':
      return await patch({ [act.field]: act.name }, 'to change a name');
    case 'restore':
      return await restore(act, means);
  }
}

/** In the form that a controller 24.6.1 accepts [seen]. */
function assignmentBody({ assignment }: Extract<CleaningAct, { readonly act: 'assign' }>): object {
  const { definition, holder, about } = assignment;
  const object = about === null ? {} : { object_id: String(about) };
  return { role_definition: definition, [holder.kind]: holder.id, ...object };
}

async function restore(act: Extract<CleaningAct, { readonly act: 'restore' }>, means: Means) {
  const { send } = means;
  const write = act.isDefault && act.to === 'before' ? await defaultsOf(act, means) : means.values.write;
  const restored =
    act.fields.length === 0
      ? 'unchanged'
      : await send({ method: 'PATCH', path: act.path, json: write }, 'to restore fields');
  // A controller 24.6.1 deletes the key of a template when its webhook is turned off [seen].
  if (act.newWebhookKey !== null && write['webhook_service']) {
    await send({ method: 'POST', path: act.newWebhookKey, json: {} }, 'a new webhook key');
  }
  if (act.survey === null) return restored;
  const deleted = await send({ method: 'DELETE', path: act.survey }, 'to delete a survey');
  return restored === 'done' ? restored : deleted;
}

async function defaultsOf(
  { fields }: Extract<CleaningAct, { readonly act: 'restore' }>,
  { defaults, values: { category } }: Means,
): Promise<Record<string, unknown>> {
  const found = await defaults(category);
  const unknown = fields.find(({ field }) => !found.has(field));
  if (unknown !== undefined) {
    throw refusedAct(`the controller does not report the default of ${unknown.field}`, 'by_hand');
  }
  return Object.fromEntries(fields.map(({ field }) => [field, found.get(field)]));
}

/** A controller's message that a name is taken [seen for users and applications]. */
const TAKEN = /already exists/;

function outcomeOf(
  response: HttpResponse,
  { api, request, what }: { api: Api; request: HttpRequest; what: string },
): 'done' | 'unchanged' {
  const { status } = response;
  if (status >= 200 && status <= 299) return 'done';
  if (status === 404) return 'unchanged';
  // A finished job cannot be canceled.
  if (status === 405 && request.path.endsWith('/cancel/')) return 'unchanged';
  const refused = `${api.answeredBy()} refused ${what}`;
  if (status === 409) throw refusedAct(`${refused}: it is in use`, 'in_use');
  if (status === 400 && TAKEN.test(String(response.body))) {
    throw refusedAct(`${refused}: another object already has the name`, 'name_taken');
  }
  if (status === 400) {
    const fields = Object.keys(request.json ?? {}).filter((field) => response.body.includes(`"${field}"`));
    const rejected = fields.length === 0 ? ' (HTTP 400)' : `: it rejected ${fields.join(', ')}`;
    throw refusedAct(`${refused}${rejected}`, 'rejected');
  }
  if (status === 500)
    throw new TokenctlError('target_misbehaved', `${api.answeredBy()} failed ${what} (HTTP 500)`);
  throw responseError(response, api, what);
}

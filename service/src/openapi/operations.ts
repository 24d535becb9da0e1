import type { Endpoint, RouteDescription } from '../endpoint.ts';
import type { Field, FieldSet } from '../listing/fields.ts';

export type Operation = Readonly<Record<string, unknown>>;

type Method = keyof Endpoint['handlers'];

const text = (name: string, description: string) => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string' },
});

const LIST_PARAMETERS = [
  { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
  { name: 'page_size', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200, default: 25 } },
  text('order_by', 'Field names, separated by commas. A minus sign before a name reverses the order.'),
  text('search', 'Words that must all occur in one of the searched fields.'),
  text(
    'role_level',
    'A role such as admin_role: lists the objects on which you have it, if they have roles.',
  ),
  text('count_disabled', 'Omits the count and the links.'),
];

const LOOKUPS =
  'More lookups, after two underscores: exact, iexact, contains, icontains, startswith, istartswith, ' +
  'endswith, iendswith, regex, iregex, lt, lte, gt, gte, in, isnull; prefixes not__, or__ and chain__.';

function isList({ path, fields }: Endpoint): boolean {
  return fields !== undefined && fields.order.length > 0 && !/:\w+(\([^/]*\))?\/$/.test(path);
}

export function endpointOperation(endpoint: Endpoint, method: Method): Operation {
  const { fields } = endpoint;
  const listed = method === 'GET' && isList(endpoint);
  const filters = Object.entries(fields?.fields ?? {})
    .filter(([, { column, secret }]) => column !== undefined && secret !== true)
    .map(([name, { label }]) => text(name, `${label}. ${LOOKUPS}`));
  const body = requestBody(endpoint, method);
  return {
    summary: endpoint.name,
    description: endpoint.description,
    ...(listed && { parameters: [...LIST_PARAMETERS, ...filters] }),
    ...(body && { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: { ...success(endpoint, method, listed), ...FAILURES },
  };
}

function requestBody({ fields }: Endpoint, method: Method): Schema | null {
  if (method === 'GET' || method === 'DELETE') return null;
  if (fields === undefined) return { type: 'object' };
  return bodySchema(fields, method === 'POST' ? 'create' : method === 'PUT' ? 'replace' : 'change');
}

function success({ fields }: Endpoint, method: Method, listed: boolean): Record<string, unknown> {
  if (method === 'DELETE') return { 204: { description: 'Done. No body.' } };
  const resource: Schema =
    fields === undefined ? { type: 'object' } : { $ref: `#/components/schemas/${fields.type}` };
  const schema = listed ? pageSchema(resource) : resource;
  const answer = { description: 'Done.', content: { 'application/json': { schema } } };
  if (method !== 'POST') return { 200: answer };
  return { 201: answer, 202: { description: 'Accepted.' }, 204: { description: 'Done.' } };
}

const failure = (name: string) => ({ $ref: `#/components/responses/${name}` });

const FAILURES = {
  400: failure('Invalid'),
  401: failure('Unauthenticated'),
  403: failure('Forbidden'),
  404: failure('NotFound'),
  429: failure('TooMany'),
};

export function describedOperation(described: RouteDescription, method: string): Operation {
  const { summary, description, produces = 'application/json', form, query } = described;
  const content =
    produces === 'application/json'
      ? { 'application/json': { schema: { type: 'object' } } }
      : { [produces]: { schema: { type: 'string' } } };
  const answers = Object.entries(described.answers ?? { 200: 'Done.' }).map(([status, meaning]) => [
    status,
    { description: meaning, ...(status === '200' && { content }) },
  ]);
  const parameters = Object.entries(query ?? {}).map(([name, parameter]) => ({
    ...text(name, parameter.description),
    ...(parameter.required && { required: true }),
  }));
  return {
    summary,
    ...(description !== undefined && { description }),
    ...(!described.authenticated && { security: [] }),
    ...(parameters.length > 0 && method === 'GET' && { parameters }),
    ...(form !== undefined && method === 'POST' && { requestBody: formBody(form) }),
    responses: Object.fromEntries(answers),
  };
}

function formBody(form: NonNullable<RouteDescription['form']>): Schema {
  const fields = Object.entries(form);
  const required = fields.filter(([, field]) => field.required).map(([name]) => name);
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      fields.map(([name, { description }]) => [name, { type: 'string', description }]),
    ),
    ...(required.length > 0 && { required }),
  };
  return { content: { 'application/x-www-form-urlencoded': { schema } } };
}

export function resourceSchemas(endpoints: readonly Endpoint[]): Record<string, Schema> {
  const sets = endpoints.flatMap(({ fields }) =>
    fields === undefined || fields.order.length === 0 ? [] : [fields],
  );
  return Object.fromEntries(sets.map((set) => [set.type, resourceSchema(set)]));
}

type Schema = Readonly<Record<string, unknown>>;

const TYPES: Readonly<Record<Field['type'], Schema>> = {
  integer: { type: ['number', 'null'] },
  id: { type: ['integer', 'null'] },
  field: { type: ['integer', 'null'] },
  string: { type: ['string', 'null'] },
  datetime: { type: ['string', 'null'], format: 'date-time' },
  boolean: { type: 'boolean' },
  choice: { type: ['string', 'integer', 'null'] },
  json: { type: ['string', 'object', 'null'] },
  object: { type: ['object', 'null'] },
  list: { type: ['array', 'null'], items: {} },
};

function describe(field: Field): Schema {
  const { label, helpText, type, choices, fixed } = field;
  return {
    ...(fixed === undefined ? TYPES[type] : { const: fixed.value }),
    title: label,
    ...(helpText !== undefined && { description: helpText }),
    ...(choices !== undefined && { enum: choices.map(([value]) => value) }),
  };
}

function resourceSchema({ fields }: FieldSet): Schema {
  const shown = Object.entries(fields).filter(([, field]) => field.hidden !== true);
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map(([name, field]) => [name, describe(field)])),
  };
}

/** The schema of a body: `create` for POST, `replace` for PUT, `change` for PATCH, where nothing is required. */
function bodySchema({ fields }: FieldSet, purpose: 'create' | 'replace' | 'change'): Schema {
  const taken = Object.entries(fields).filter(
    ([, { writable, fixed }]) =>
      fixed !== undefined || (purpose === 'create' ? writable !== undefined : writable === 'change'),
  );
  const required = taken.filter(([, field]) => field.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      taken.map(([name, field]) => [
        name,
        { ...describe(field), maxLength: field.maxLength, default: field.defaultValue },
      ]),
    ),
    ...(purpose !== 'change' && required.length > 0 && { required }),
  };
}

function pageSchema(resource: Schema): Schema {
  const link = { type: ['string', 'null'] };
  return {
    type: 'object',
    properties: {
      count: { type: 'integer', description: 'Omitted with count_disabled.' },
      next: link,
      previous: link,
      results: { type: 'array', items: resource },
    },
    required: ['results'],
  };
}

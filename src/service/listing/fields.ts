import type { Endpoint } from '../endpoint.ts';

/** One field of a resource: how it is presented, filtered by and written. */
export interface Field {
  readonly type:
    | 'integer'
    | 'string'
    | 'datetime'
    | 'boolean'
    | 'id'
    | 'choice'
    | 'object'
    | 'field'
    | 'list';
  readonly label: string;
  readonly helpText?: string;
  /** The SQL expression to filter and sort by, of constant parts; a field without one is not filterable. */
  readonly column?: string;
  /** Not announced as filterable, though it is (the controller does so with refresh_token). */
  readonly unannounced?: true;
  /** Filtering by it would give it away: 403. */
  readonly secret?: true;
  /** Filterable, but not in the body. */
  readonly hidden?: true;
  /** Present in POST (`create`), or in POST and PUT (`change`). */
  readonly writable?: 'create' | 'change';
  readonly required?: true;
  readonly defaultValue?: unknown;
  readonly maxLength?: number;
  readonly choices?: readonly (readonly [string, string])[];
}

/**
 * A resource that another one refers to: what can be reached by `relation__field` and `relation__search`, and
 * through the relations of its own.
 */
export interface Relation {
  readonly fields: Readonly<Record<string, Field>>;
  readonly searchFields: readonly string[];
  readonly relations?: Readonly<Record<string, Relation>>;
}

/** The fields of a resource, and the resources it refers to. */
export interface FieldSet {
  readonly type: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** To-one relations by name. */
  readonly relations: Readonly<Record<string, Relation>>;
  /** Fields that `search=` looks into. */
  readonly searchFields: readonly string[];
  /** What `order_by` is when it is not given: field names, `-` for descending. */
  readonly order: readonly string[];
  /** How many are on a page unless the request says; 25 where it is not said. */
  readonly pageSize?: number;
}

/** The answer to OPTIONS: what is there and what can be sent, as the awx command line reads it. */
export function describeEndpoint(endpoint: Endpoint, mayWrite: boolean): Record<string, unknown> {
  const { fields, handlers } = endpoint;
  const about = {
    name: endpoint.name,
    description: endpoint.description,
    renders: ['application/json', 'text/html'],
    parses: ['application/json'],
  };
  if (fields === undefined) return about;
  const actions: Record<string, unknown> = { GET: describe(fields, (field) => field.hidden !== true, false) };
  if (handlers.POST && mayWrite)
    actions['POST'] = describe(fields, (field) => field.writable !== undefined, true);
  if (handlers.PUT && mayWrite)
    actions['PUT'] = describe(fields, (field) => field.writable === 'change', true);
  const list = handlers.PUT === undefined && handlers.DELETE === undefined;
  return {
    ...about,
    actions,
    types: [fields.type],
    ...(list && {
      search_fields: fields.searchFields,
      related_search_fields: Object.keys(fields.relations).map((name) => `${name}__search`),
      max_page_size: 200,
    }),
  };
}

function describe(
  set: FieldSet,
  included: (field: Field) => boolean,
  forWriting: boolean,
): Record<string, unknown> {
  const entries = Object.entries(set.fields).filter(([, field]) => included(field));
  return Object.fromEntries(entries.map(([name, field]) => [name, describeField(field, forWriting)]));
}

function describeField(field: Field, forWriting: boolean): Record<string, unknown> {
  return {
    type: field.type,
    ...(forWriting && { required: field.required === true }),
    hidden: false,
    label: field.label,
    ...(field.helpText !== undefined && { help_text: field.helpText }),
    ...(forWriting && field.maxLength !== undefined && { max_length: field.maxLength }),
    ...((field.choices === undefined || field.column !== undefined) && {
      filterable: field.column !== undefined && !field.unannounced,
    }),
    ...(field.choices !== undefined && { choices: field.choices }),
    ...(forWriting && field.defaultValue !== undefined && { default: field.defaultValue }),
  };
}

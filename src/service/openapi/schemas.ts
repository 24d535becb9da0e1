import type { Field, FieldSet } from '../listing/fields.ts';

/** A JSON Schema (2020-12), as OpenAPI 3.1 uses it. */
export type Schema = Readonly<Record<string, unknown>>;

const TYPES: Readonly<Record<Field['type'], Schema>> = {
  integer: { type: ['number', 'null'] },
  id: { type: ['integer', 'null'] },
  field: { type: ['integer', 'null'] },
  string: { type: ['string', 'null'] },
  datetime: { type: ['string', 'null'], format: 'date-time' },
  boolean: { type: 'boolean' },
  choice: { type: ['string', 'null'] },
  object: { type: ['object', 'null'] },
  list: { type: ['array', 'null'], items: {} },
};

function describe(field: Field): Schema {
  const { label, helpText, type, choices } = field;
  return {
    ...TYPES[type],
    title: label,
    ...(helpText !== undefined && { description: helpText }),
    ...(choices !== undefined && { enum: choices.map(([value]) => value) }),
  };
}

/** What an answer holds of a resource. */
export function resourceSchema({ fields }: FieldSet): Schema {
  const shown = Object.entries(fields).filter(([, field]) => field.hidden !== true);
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map(([name, field]) => [name, describe(field)])),
  };
}

/** What a body may hold: `create` for POST, `replace` for PUT, `change` for PATCH, where nothing is required. */
export function bodySchema({ fields }: FieldSet, purpose: 'create' | 'replace' | 'change'): Schema {
  const taken = Object.entries(fields).filter(([, { writable }]) =>
    purpose === 'create' ? writable !== undefined : writable === 'change',
  );
  const required = taken.filter(([, field]) => field.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      taken.map(([name, field]) => [
        name,
        {
          ...describe(field),
          ...(field.maxLength !== undefined && { maxLength: field.maxLength }),
          ...(field.defaultValue !== undefined && { default: field.defaultValue }),
        },
      ]),
    ),
    ...(purpose !== 'change' && required.length > 0 && { required }),
  };
}

/** A page of a list. */
export function pageSchema(resource: Schema): Schema {
  const link = { type: ['string', 'null'] };
  return {
    type: 'object',
    properties: {
      count: { type: 'integer', description: 'Left out with count_disabled.' },
      next: link,
      previous: link,
      results: { type: 'array', items: resource },
    },
    required: ['results'],
  };
}

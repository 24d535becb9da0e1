import { type Field, type FieldSet, inWords } from '../listing/fields.ts';

/** The constant value of a controller's field, and the end of the sentence "This service does not …". */
type Fixed = readonly [value: unknown, does: string, type?: Field['type']];

/** The controller's fields that this service does not support: only their default is shown and accepted. */
export function fixedFields(fields: Readonly<Record<string, Fixed>>): FieldSet['fields'] {
  return Object.fromEntries(Object.entries(fields).map(([name, fixed]) => [name, fixedField(name, fixed)]));
}

/** The same for fields that are not shown, such as secrets. */
export function hiddenFixedFields(fields: Readonly<Record<string, Fixed>>): FieldSet['fields'] {
  const shown = Object.entries(fixedFields(fields));
  return Object.fromEntries(shown.map(([name, field]) => [name, { ...field, hidden: true }]));
}

/** Read-only fields of the controller with a constant value here. Values from clients are ignored. */
export function constantFields(
  fields: Readonly<Record<string, readonly [value: unknown, help: string, type?: Field['type']]>>,
): FieldSet['fields'] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, [value, helpText, type = typeOf(value)]]) => [
      name,
      { type, label: inWords(name), helpText, constant: { value } },
    ]),
  );
}

export function fixedField(name: string, [value, does, type = typeOf(value)]: Fixed): Field {
  return {
    type,
    label: inWords(name).replace(/\bscm\b/i, 'SCM'),
    helpText: `Always ${JSON.stringify(value)}: this service does not ${does}.`,
    fixed: { value, does },
  };
}

function typeOf(value: unknown): Field['type'] {
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'number':
      return 'integer';
    case 'string':
      return 'string';
    default:
      return value === null ? 'id' : 'object';
  }
}

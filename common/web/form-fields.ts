/** The fields of a form, and the problems of their values. */
import type { ReactNode } from 'react';
import { ApiError } from './api.ts';

export interface FormField {
  /** The key in the request's body. */
  readonly name: string;
  readonly label: string;
  readonly help?: ReactNode;
  /** Whether it needs a value, always or depending on the form's values. */
  readonly required?: boolean | ((values: FormValues) => boolean);
  /** The heading above it and the following fields with the same section. */
  readonly section?: string;
  readonly kind?:
    | 'text'
    | 'password'
    | 'email'
    | 'textarea'
    | 'number'
    | 'date'
    | 'checkbox'
    | 'select'
    | 'lookup'
    | 'listed';
  /** The values of a `select`, with their labels. */
  readonly choices?: readonly (readonly [string, string])[];
  /** The collection of a `lookup`, such as `/api/v2/organizations/`. The value is an id. */
  readonly collection?: string;
  /** The list of choices, if it is not the whole collection. */
  readonly listedIn?: string;
  /** The path with the choices of a `listed` field, by the form's values; null if there are none yet. */
  readonly listedAt?: (values: FormValues) => string | null;
  /** The choices in that path's response. By default the response itself. */
  readonly read?: (answer: unknown) => readonly string[];
  /** The field with a looked-up resource's name; by default `name`. */
  readonly shows?: string;
  readonly isDisabled?: boolean;
  readonly maxLength?: number;
  /** The default value, which a button next to the field restores. */
  readonly standard?: string | boolean;
  /** Whether a hidden secret is stored. An empty value keeps it, and a button next to the field removes it. */
  readonly isStored?: boolean;
}

/** The values of a form by field name. Numbers and ids are texts until they are sent. */
export type FormValues = Readonly<Record<string, string | boolean>>;

export function isRequired({ required = false, isDisabled }: FormField, values: FormValues): boolean {
  return isDisabled !== true && (typeof required === 'function' ? required(values) : required);
}

/** The error for a form with empty required fields; null if there are none. */
export function missingValues(fields: readonly FormField[], values: FormValues): ApiError | null {
  const missing = fields.filter(
    (field) => isRequired(field, values) && String(values[field.name] ?? '').trim() === '',
  );
  return missing.length === 0 ? null : refusal('Some values are missing.', entriesOf(missing, missingText));
}

/** The API's messages for an empty field: those of Django REST framework, which the service also uses. */
const EMPTY: readonly string[] = [
  'This field may not be null.',
  'This field may not be blank.',
  'This field is required.',
];

/** The same error with each message at its field and with the field's label. */
export function inWordsOfFields(error: ApiError, fields: readonly FormField[]): ApiError {
  // A message about several values starts with the name of the first one.
  const named = fields.find(({ name, label }) => startsWithOne(error.message, [name, `The ${oneOf(label)}`]));
  const given =
    named === undefined
      ? error.fields
      : { ...error.fields, [named.name]: error.message.replace(named.name, named.label) };
  const known = fields.filter(({ name }) => given[name] !== undefined);
  const texts = entriesOf(known, (field) => {
    const text = given[field.name] ?? '';
    return EMPTY.includes(text) ? missingText(field) : text;
  });
  const message = named === undefined ? error.message : 'Some values were rejected.';
  return refusal(message, { ...given, ...texts }, error);
}

function startsWithOne(text: string, beginnings: readonly string[]): boolean {
  return beginnings.some((each) => text.startsWith(`${each} `));
}

/** A label within a sentence, in the singular: "redirect URI" for "Redirect URIs". */
function oneOf(label: string): string {
  return label.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase()).replace(/(?<=[^s])s$/, '');
}

function entriesOf(fields: readonly FormField[], text: (field: FormField) => string): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field.name, text(field)]));
}

function refusal(
  message: string,
  fields: Record<string, string>,
  { status, retryAfter }: Pick<ApiError, 'status' | 'retryAfter'> = { status: 400, retryAfter: null },
): ApiError {
  return new ApiError(message, { status, fields, retryAfter });
}

/** What to do about an empty field: "Enter a name.", "Choose an organization.", "Enter at least one redirect URI." */
function missingText({ label, kind = 'text' }: FormField): string {
  if (kind === 'number') return 'Enter a number.';
  const name = oneOf(label);
  const verb =
    kind === 'select' || kind === 'lookup' || kind === 'listed' || kind === 'date' ? 'Choose' : 'Enter';
  if (/[^s]s$/.test(label)) return `${verb} at least one ${name}.`;
  return `${verb} ${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}.`;
}

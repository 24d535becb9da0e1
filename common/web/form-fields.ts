/** The fields of a form, and what is wrong with their values. */
import type { ReactNode } from 'react';
import { ApiError } from './api.ts';

export interface FormField {
  /** The key in the request's body. */
  readonly name: string;
  readonly label: string;
  readonly help?: ReactNode;
  /** Whether it needs a value, as it is or by the form's values. */
  readonly required?: boolean | ((values: FormValues) => boolean);
  /** The heading above it and the fields after it that name the same one. */
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
  /** The collection that a `lookup` chooses from, such as `/api/v2/organizations/`; its value is an id. */
  readonly collection?: string;
  /** The list of them to choose from, if it is not the whole collection. */
  readonly listedIn?: string;
  /** The path with the texts that a `listed` field chooses from, by the form's values; null for none yet. */
  readonly listedAt?: (values: FormValues) => string | null;
  /** The texts in what that path answers; the answer itself without it. */
  readonly read?: (answer: unknown) => readonly string[];
  /** The field of a looked-up resource that names it; `name` without it. */
  readonly shows?: string;
  readonly isDisabled?: boolean;
  readonly maxLength?: number;
  /** The value that a button beside the field restores while it has another one. */
  readonly standard?: string | boolean;
  /** Whether a secret is stored that is never shown. Empty keeps it, and a button beside the field removes it. */
  readonly isStored?: boolean;
}

/** The values of a form by the names of its fields. Numbers and ids are texts until they are sent. */
export type FormValues = Readonly<Record<string, string | boolean>>;

/** Whether a field needs a value that this user can enter. */
export function isRequired({ required = false, isDisabled }: FormField, values: FormValues): boolean {
  return isDisabled !== true && (typeof required === 'function' ? required(values) : required);
}

/** The refusal of a form whose required fields are empty; null if none is. */
export function missingValues(fields: readonly FormField[], values: FormValues): ApiError | null {
  const missing = fields.filter(
    (field) => isRequired(field, values) && String(values[field.name] ?? '').trim() === '',
  );
  return missing.length === 0 ? null : refusal('Some values are missing.', entriesOf(missing, missingText));
}

/** The API's words for an empty field: Django REST framework's, which the service uses as well. */
const EMPTY: readonly string[] = [
  'This field may not be null.',
  'This field may not be blank.',
  'This field is required.',
];

/** The same refusal with each message at the field that it is about, which it names by its label. */
export function inWordsOfFields(error: ApiError, fields: readonly FormField[]): ApiError {
  // What is wrong with several values at once begins with the name of the first.
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

/** A label within a sentence, one of several: "redirect URI" for "Redirect URIs". */
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

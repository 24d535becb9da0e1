/** Settings forms, generated from OPTIONS. */
import { ApiError } from '@tokenctl/common/web/api.ts';
import { REMOVED } from '@tokenctl/common/web/form.tsx';
import type { FormField, FormValues } from '@tokenctl/common/web/form-fields.ts';
import { duration } from '@tokenctl/common/web/times.tsx';

/** A setting in OPTIONS. */
interface Described {
  readonly type: string;
  readonly label: string;
  readonly help_text?: string;
  readonly warning_text?: string;
  readonly unit?: string;
  readonly default?: unknown;
  readonly placeholder?: unknown;
  readonly min_value?: number;
  readonly max_value?: number;
  readonly defined_in_file?: boolean;
  readonly required?: boolean;
}

/** The response to OPTIONS for a settings category. */
export interface SettingOptions {
  readonly actions: {
    readonly GET?: Readonly<Record<string, Described>>;
    readonly PUT?: Readonly<Record<string, Described>>;
  };
}

export type Settings = Readonly<Record<string, unknown>>;

/** Shown by the API instead of a secret. */
const MASK = '$encrypted$';

/** The token lifetimes are one setting with three values. */
const LIFETIMES = 'OAUTH2_PROVIDER';
const LIFETIME_LABELS: Readonly<Record<string, string>> = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 'Access token lifetime',
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 'Authorization code lifetime',
  REFRESH_TOKEN_EXPIRE_SECONDS: 'Refresh token lifetime',
};

/** The settings that only show something, such as a URL to register with a provider. */
export function readOnlyKeys(options: SettingOptions): readonly string[] {
  const { GET = {}, PUT } = options.actions;
  return PUT === undefined
    ? Object.keys(GET).filter((key) => /_(CALLBACK|METADATA)_URL$/.test(key))
    : Object.keys(GET).filter((key) => !(key in PUT) && GET[key]?.defined_in_file !== true);
}

export function settingFields(options: SettingOptions, values: Settings): readonly FormField[] {
  const { GET = {}, PUT } = options.actions;
  const readOnly = readOnlyKeys(options);
  return Object.keys(values)
    .filter((key) => key in GET && !readOnly.includes(key))
    .flatMap((key): readonly FormField[] => {
      const described = PUT?.[key] ?? GET[key];
      if (described === undefined) return [];
      const isDisabled = PUT?.[key] === undefined;
      const isFixed = GET[key]?.defined_in_file === true;
      if (key === LIFETIMES) return lifetimeFields(described, values[key], isDisabled);
      return [
        {
          name: key,
          label: isCounted(described) ? `${described.label} (${described.unit})` : described.label,
          kind: kindOf(key, described, values[key]),
          required: described.type === 'integer',
          isDisabled,
          help: helpOf(described, { isFixed, isSecret: isSecret(key, values[key]) }),
          ...(isSecret(key, values[key])
            ? { isStored: values[key] === MASK }
            : { standard: formValues({ [key]: described.default ?? null })[key] ?? '' }),
        },
      ];
    });
}

function lifetimeFields(described: Described, value: unknown, isDisabled: boolean): readonly FormField[] {
  const defaults = (described.default ?? {}) as Readonly<Record<string, number>>;
  return Object.keys({ ...LIFETIME_LABELS, ...(value as object) }).map((name) => ({
    name: `${LIFETIMES}.${name}`,
    label: `${LIFETIME_LABELS[name] ?? name} (seconds)`,
    kind: 'number',
    required: true,
    isDisabled,
    ...(defaults[name] !== undefined && {
      help: `Default: ${seconds(defaults[name])}.`,
      standard: String(defaults[name]),
    }),
  }));
}

function kindOf(key: string, { type }: Described, value: unknown): NonNullable<FormField['kind']> {
  if (type === 'boolean') return 'checkbox';
  if (type === 'integer') return 'number';
  if (type !== 'string' || /(CERT|PRIVATE_KEY)$/.test(key)) return 'textarea';
  return isSecret(key, value) ? 'password' : 'text';
}

function isSecret(key: string, value: unknown): boolean {
  return value === MASK || /_(SECRET|PRIVATE_KEY)$/.test(key);
}

function helpOf(
  { help_text = '', warning_text, default: standard, placeholder, unit, type }: Described,
  { isFixed, isSecret }: { isFixed: boolean; isSecret: boolean },
): string {
  const shown =
    type === 'integer' && typeof standard === 'number' && unit === 'seconds'
      ? seconds(standard)
      : type === 'boolean'
        ? standard === true
          ? 'on'
          : 'off'
        : (JSON.stringify(standard) ?? '');
  return [
    help_text,
    ...(/^(list|nested object)$/.test(type) ? [`In JSON${exampleOf(placeholder)}.`] : []),
    ...(warning_text === undefined ? [] : [`Warning: ${warning_text}`]),
    ...(isSecret ? ['Stored encrypted and never shown. Leave empty to keep the stored value.'] : []),
    ...(standard === undefined || isSecret ? [] : [`Default: ${EMPTY.includes(shown) ? 'empty' : shown}.`]),
    ...(isFixed ? ["Set in the service's environment and cannot be changed here."] : []),
  ].join(' ');
}

/** The meaning of an empty field. */
const EMPTY: readonly string[] = ['""', 'null'];

function exampleOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return '';
  // With spaces, so that it can break between lines.
  return `, such as ${JSON.stringify(value, null, 1).replace(/\s+/g, ' ')}`;
}

/** Whether a setting is a number with a unit. */
function isCounted({ type, unit }: Described): boolean {
  return type === 'integer' && unit !== undefined;
}

function seconds(count: number): string {
  const words = duration(count);
  return /second/.test(words) ? words : `${count} (${words})`;
}

export function formValues(values: Settings): FormValues {
  const entries = Object.entries(values).flatMap(
    ([key, value]): readonly (readonly [string, string | boolean])[] => {
      if (key === LIFETIMES && typeof value === 'object' && value !== null) {
        return Object.entries(value).map(([name, each]) => [`${LIFETIMES}.${name}`, String(each)] as const);
      }
      if (typeof value === 'boolean') return [[key, value]];
      if (value === null || value === MASK) return [[key, '']];
      return [[key, typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)]];
    },
  );
  return Object.fromEntries(entries);
}

/** The changes in a form: the body of a PATCH. Throws ApiError for a field that must be JSON and is not. */
export function changesOf(
  fields: readonly FormField[],
  before: Settings,
  values: FormValues,
): Record<string, unknown> {
  const initial = formValues(before);
  const changed = fields.filter(
    ({ name, isDisabled }) => isDisabled !== true && values[name] !== initial[name],
  );
  const body: Record<string, unknown> = {};
  for (const { name, kind } of changed) {
    const [key = '', part] = name.split('.');
    const value = values[name] ?? '';
    if (part === undefined) body[key] = parsedValue(name, { kind, value, before: before[key] });
    else body[key] = { ...(before[key] as object), ...(body[key] as object), [part]: numberOr(value) };
  }
  return body;
}

function parsedValue(
  name: string,
  field: { readonly kind: FormField['kind']; readonly value: string | boolean; readonly before: unknown },
): unknown {
  const { kind, value, before } = field;
  if (typeof value === 'boolean') return value;
  if (value === REMOVED) return '';
  if (kind === 'number') return numberOr(value);
  if (kind !== 'textarea' || typeof before === 'string') return value;
  if (value.trim() === '') return null;
  try {
    return JSON.parse(value) as unknown;
  } catch (error) {
    const problem = `Enter valid JSON: ${error instanceof Error ? error.message : error}`;
    throw new ApiError('Some values were rejected.', { status: 400, fields: { [name]: problem } });
  }
}

/** A number, or the unchanged text, which the API refuses with its own message. */
function numberOr(value: string | boolean): unknown {
  return typeof value === 'string' && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value;
}

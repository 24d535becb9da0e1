import {
  DEFAULT_LIFETIMES,
  LONGEST_LIFETIME,
  type OAuth2Lifetimes,
  type SettingDefinition,
} from './definitions.ts';

/** What is wrong with a value: messages, or for an object messages by key. */
export type SettingProblem = readonly string[] | Readonly<Record<string, readonly string[]>>;

/** A value as it is to be stored, or what is wrong with it. */
export type Checked = { readonly value: unknown } | { readonly problem: SettingProblem };

/** Checks and normalises one value. `current` is what the setting holds now; OAUTH2_PROVIDER merges with it. */
export function checkSetting(definition: SettingDefinition, value: unknown, current: unknown): Checked {
  if (value === null) {
    return definition.nullable ? { value } : { problem: ['This field may not be null.'] };
  }
  if (definition.check !== undefined) return definition.check(value);
  switch (definition.type) {
    case 'boolean':
      return checkBoolean(value);
    case 'integer':
      return checkInteger(value, definition.minimum ?? 0, definition.maximum ?? 2_147_483_647);
    case 'string':
      return typeof value === 'string' ? checkText(value) : { problem: ['Not a valid string.'] };
    case 'nested object':
      return checkLifetimes(value, current as OAuth2Lifetimes);
    case 'list':
      return { problem: ['This setting cannot be changed.'] };
  }
}

const TRUE: readonly unknown[] = [true, 'true', 'True', 'TRUE', 't', 'T', 'yes', 'on', '1', 1];
const FALSE: readonly unknown[] = [false, 'false', 'False', 'FALSE', 'f', 'F', 'no', 'off', '0', 0];

function checkBoolean(value: unknown): Checked {
  if (TRUE.includes(value)) return { value: true };
  if (FALSE.includes(value)) return { value: false };
  return { problem: ['Must be a valid boolean.'] };
}

function checkInteger(value: unknown, minimum: number, maximum: number): Checked {
  const number = typeof value === 'string' && /^\s*-?\d{1,15}\s*$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    return { problem: ['A valid integer is required.'] };
  if (number < minimum) return { problem: [`Ensure this value is greater than or equal to ${minimum}.`] };
  if (number > maximum) return { problem: [`Ensure this value is less than or equal to ${maximum}.`] };
  return { value: number };
}

function checkText(value: string): Checked {
  return value.includes('\0') ? { problem: ['Null characters are not allowed.'] } : { value };
}

/**
 * The controller stores a partial object as it is, and then refuses every refresh, or answers 500; here the
 * keys that are left out keep their value, and what cannot be added to today's date is refused.
 */
function checkLifetimes(value: unknown, current: OAuth2Lifetimes): Checked {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: [`Expected an object with the keys ${Object.keys(DEFAULT_LIFETIMES).join(', ')}.`] };
  }
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(DEFAULT_LIFETIMES, key));
  if (unknown.length > 0) return { problem: [`Invalid key(s): ${unknown.join(', ')}.`] };
  const problems: Record<string, readonly string[]> = {};
  const merged: Record<string, unknown> = { ...DEFAULT_LIFETIMES, ...current };
  for (const [key, seconds] of Object.entries(value)) {
    const checked: Checked =
      seconds === null
        ? { problem: ['This field may not be null.'] }
        : checkInteger(seconds, 1, LONGEST_LIFETIME);
    if ('value' in checked) merged[key] = checked.value;
    else problems[key] = checked.problem as readonly string[];
  }
  return Object.keys(problems).length > 0 ? { problem: problems } : { value: merged };
}

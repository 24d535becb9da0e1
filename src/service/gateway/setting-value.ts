import type { GatewaySetting } from './setting-definitions.ts';

/** A value of a gateway's setting. */
export type SettingValue = GatewaySetting['defaultValue'];

/** A value as the gateway's table holds it: as Python writes it. */
export function rawValue(value: SettingValue): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return String(value);
}

/** What the gateway's table holds, as a value; the default where there is nothing, or nothing of the type. */
export function settingValue(
  { type, defaultValue }: GatewaySetting,
  raw: string | null | undefined,
): SettingValue {
  if (raw === null || raw === undefined) return defaultValue;
  switch (type) {
    case 'boolean':
      return raw === 'True';
    case 'integer':
      return /^-?\d{1,15}$/.test(raw) ? Number(raw) : defaultValue;
    case 'string':
      return raw;
  }
}

type Checked = { readonly value: SettingValue } | { readonly problem: string };

/** A value that a request gives, or what is wrong with it. As on a gateway, numbers and flags may come as text. */
export function checkValue(setting: GatewaySetting, given: unknown, current: SettingValue): Checked {
  if (given === current) return { value: current };
  if (setting.readOnly) return { problem: `Cannot change read-only setting ${setting.name}` };
  switch (setting.type) {
    case 'boolean':
      return checkFlag(given);
    case 'integer':
      return checkNumber(given, setting);
    case 'string':
      return typeof given === 'string' && !given.includes('\0')
        ? { value: given }
        : { problem: 'Must be a string' };
  }
}

const TRUE: readonly unknown[] = [true, 'true', 'True', '1', 1];
const FALSE: readonly unknown[] = [false, 'false', 'False', '0', 0];

function checkFlag(given: unknown): Checked {
  if (TRUE.includes(given)) return { value: true };
  return FALSE.includes(given) ? { value: false } : { problem: 'Must be a boolean' };
}

function checkNumber(
  given: unknown,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: GatewaySetting,
): Checked {
  const number = typeof given === 'string' && /^-?\d{1,15}$/.test(given) ? Number(given) : given;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) return { problem: 'Must be an integer' };
  return number < minimum || number > maximum
    ? { problem: `Must be from ${minimum} to ${maximum}` }
    : { value: number };
}

import type { Settings } from '../settings/settings.ts';
import { type Problems, textField } from './text-field.ts';

/**
 * Reads the password of a user out of a body, and checks it by the rules in force; what is wrong goes into
 * `problems`.
 *
 * @returns Null where it is to stay as it is: not given, empty, or as the API shows it.
 */
export function readPassword(
  body: Readonly<Record<string, unknown>>,
  options: { readonly settings: Settings; readonly problems: Problems; readonly required: boolean },
): string | null {
  const { settings, problems, required } = options;
  const given = textField(body, 'password', { rule: { fallback: '', maxLength: 4096 }, problems });
  if (problems['password'] !== undefined) return null;
  if (given === '' || given === '$encrypted$') {
    if (required) problems['password'] = ['Password required for new User.'];
    return null;
  }
  const counted: readonly [string, number, number][] = [
    ['characters', given.length, settings.LOCAL_PASSWORD_MIN_LENGTH],
    ['digits', given.replace(/\D/g, '').length, settings.LOCAL_PASSWORD_MIN_DIGITS],
    ['upper-case letters', given.replace(/\P{Lu}/gu, '').length, settings.LOCAL_PASSWORD_MIN_UPPER],
    ['special characters', given.replace(/[\p{L}\p{N}]/gu, '').length, settings.LOCAL_PASSWORD_MIN_SPECIAL],
  ];
  const short = counted.filter(([, has, needs]) => has < needs);
  if (short.length > 0)
    problems['password'] = short.map(([what, , needs]) => `Needs at least ${needs} ${what}.`);
  return given;
}

import { readFileSync, statSync } from 'node:fs';
import type { Environment } from '../config/paths.ts';
import { TokenctlError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import { checkSetting, type SettingDefinition } from '../service/settings/checks.ts';
import { SSO_SETTINGS } from '../service/settings/settings.ts';

const SECRET_KEY = 'TOKENCTL_SERVICE_SECRET_KEY';
/** Bits of a mode that let anybody but the owner in. */
const GROUP_OR_OTHERS = 0o077;

/**
 * The settings of single sign-on that the environment fixes: each from the variable of its name, or from the
 * file that the variable with `_FILE` at its end names. Objects and lists are written as JSON.
 *
 * @throws TokenctlError `configuration` for a value that the setting does not take, a file that cannot be
 *   read, and the file of a secret that others may read.
 */
export function fixedSettings(environment: Environment): ReadonlyMap<string, unknown> {
  return new Map(
    SSO_SETTINGS.filter(({ readOnly }) => readOnly !== true).flatMap((definition) => {
      const text = given(environment, { name: definition.key, secret: definition.secret === true });
      return text === null ? [] : [[definition.key, checked(definition, text)] as const];
    }),
  );
}

/**
 * The key that secret settings are encrypted with, from `TOKENCTL_SERVICE_SECRET_KEY` or the file that
 * `TOKENCTL_SERVICE_SECRET_KEY_FILE` names; null where neither is set.
 *
 * @throws TokenctlError `configuration`.
 */
export function givenSecretKey(environment: Environment): Secret | null {
  const text = given(environment, { name: SECRET_KEY, secret: true });
  return text === null ? null : new Secret(text);
}

function given(
  environment: Environment,
  { name, secret }: { readonly name: string; readonly secret: boolean },
): string | null {
  const value = environment[name];
  if (value) return value;
  const path = environment[`${name}_FILE`];
  return path ? contentOf(path, secret) : null;
}

function contentOf(path: string, secret: boolean): string {
  try {
    const mode = statSync(path).mode & 0o777;
    if (secret && process.platform !== 'win32' && (mode & GROUP_OR_OTHERS) !== 0) {
      throw new TokenctlError(
        'configuration',
        `Others may read the secret file ${path}: its mode is ${mode.toString(8).padStart(4, '0')}.`,
        { hint: `chmod 600 '${path}' — and replace the secret, if somebody else may have read it.` },
      );
    }
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    throw new TokenctlError('configuration', `${path} cannot be read`, { cause });
  }
}

function checked(definition: SettingDefinition, text: string): unknown {
  const { key, type } = definition;
  const result = checkSetting(definition, type === 'string' ? text : parsed(key, text), undefined);
  if ('value' in result) return result.value;
  const problem = Object.values(result.problem).flat().join(' ');
  throw new TokenctlError('configuration', `The environment's ${key} cannot be used: ${problem}`);
}

function parsed(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TokenctlError('configuration', `The environment's ${key} is not JSON`, {
      hint: 'Objects and lists are written as JSON, texts in double quotes.',
    });
  }
}

import { existsSync, rmSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { type Configuration, writableFile } from '../../config/configuration.ts';
import { removeContext, renameContext, requireRemovable } from '../../config/edit-contexts.ts';
import { storedSecretPath } from '../../config/secrets.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import type { AccountFlags } from '../flags/flags.ts';
import { endTokens, leftText, unseenText } from './login-tokens.ts';

/** What `context remove` prints with `--json`. */
export interface RemovedContextJson {
  readonly name: string;
  readonly file: string;
  readonly groups: readonly string[];
  readonly wasCurrent: boolean;
  /** The file of the stored credential that was deleted; null if none was. */
  readonly deletedCredential: string | null;
  /** The tokens of its logins that were revoked. */
  readonly revoked: readonly number[];
  /** The tokens of its logins that may still be valid. */
  readonly left: readonly number[];
}

/** What `context rename` prints with `--json`. */
export interface RenamedContextJson {
  readonly name: string;
  readonly renamedFrom: string;
  readonly file: string;
}

/**
 * Removes a context from the configuration file, and the credential that `context add` stored for it. First
 * revokes the tokens that `login` created for it; the context is removed even if that fails.
 * @throws TokenctlError as `removeContext` does; `partly_done` if the credential cannot be deleted.
 */
export async function removalFlow(
  runtime: Runtime,
  name: string,
  flags: AccountFlags & { readonly 'keep-credential'?: boolean | undefined },
): Promise<Report<RemovedContextJson>> {
  const { configuration, progress } = runtime;
  const keepCredential = flags['keep-credential'] === true;
  const file = writableFile(configuration);
  const { loginTokens = [] } = { loginTokens: [], ...requireRemovable(configuration, name) };
  const ids = keepCredential ? [] : loginTokens;
  const ended = await endTokens(runtime.in({ context: name, progress }), { ids, flags });
  const left = leftText(ended);
  const { context, groups, wasCurrent } = removeContext(configuration, name);
  const { token, password } = { token: undefined, password: undefined, ...context };
  const reference = token ?? password;
  const stored = storedSecretPath({
    configurationFile: file,
    context: name,
    kind: token === undefined ? 'password' : 'token',
  });
  const isStored = reference !== undefined && 'file' in reference && reference.file === stored;
  const isShared = Object.entries(configuration.contexts).some(
    ([other, settings]) => other !== name && JSON.stringify(settings).includes(JSON.stringify(stored)),
  );
  const deleted = isStored && !isShared && !keepCredential && existsSync(stored) ? stored : null;
  if (deleted !== null) deleteFile(deleted);
  return report({
    json: {
      ...{ name, file, groups, wasCurrent, deletedCredential: deleted },
      revoked: ended.ended,
      left: [...ended.left, ...ended.unseen],
    },
    failure:
      left === null
        ? undefined
        : new TokenctlError('partly_done', left, {
            hint: 'The context is removed. Use another one, or log in again.',
          }),
    document: [
      lines(
        `Removed context "${name}" from ${file}.`,
        groups.length > 0 && `It was in the groups ${groups.join(', ')}.`,
        ended.ended.length > 0 && `Revoked the tokens of its logins: ${ended.ended.join(', ')}.`,
        unseenText(ended),
        deleted !== null && `Deleted its stored credential, ${deleted}.`,
        wasCurrent && 'No context is current now. Select one: tokenctl context use NAME',
      ),
    ],
  });
}

function deleteFile(path: string): void {
  try {
    rmSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError(
      'partly_done',
      `The context was removed, but ${path} cannot be deleted (${code})`,
      { hint: "Delete this file. It contains the context's credential.", cause },
    );
  }
}

/** Renames a context in the configuration file. Throws as `renameContext` does. */
export function renamingFlow(
  configuration: Configuration,
  name: string,
  to: string,
): Report<RenamedContextJson> {
  const file = writableFile(configuration);
  renameContext(configuration, name, to);
  return report({
    json: { name: to, renamedFrom: name, file },
    document: [lines(`Renamed context "${name}" to "${to}" in ${file}.`)],
  });
}

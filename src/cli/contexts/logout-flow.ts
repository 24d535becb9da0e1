import { existsSync, rmSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { writableFile } from '../../config/configuration.ts';
import { contextOf } from '../../config/contexts.ts';
import { setLoginTokens } from '../../config/edit-contexts.ts';
import { storedSecretPath } from '../../config/secrets.ts';
import { faint, lines, would } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import type { AccountFlags } from '../flags/flags.ts';
import { endTokens, leftText, revokeCommand, unseenText } from './login-tokens.ts';

/** What `logout` prints with `--json`. */
export interface LogoutJson {
  readonly dryRun: boolean;
  readonly context: string;
  /** The tokens that it revoked, or would revoke. */
  readonly tokenIds: readonly number[];
  /** Whether the token was not accepted, for an unknown reason, so that nothing was revoked. */
  readonly refused: boolean;
  readonly tokenFile: string;
}

/**
 * Revokes the token that a context stores, and those of its earlier logins, then deletes its file. The file
 * is kept if the token may still be valid. If the run is interrupted between the two, the next one finds that
 * the token is not accepted, and deletes the file.
 * @throws TokenctlError `usage` for a context that stores no token; `unsupported` if the token cannot be
 * identified; `partly_done` if it was not revoked; and as the target and the audit log do. The file is then
 * kept.
 */
export async function logoutFlow(
  runtime: Runtime,
  flags: AccountFlags & { readonly 'dry-run'?: boolean | undefined },
): Promise<Report<LogoutJson>> {
  const { configuration } = runtime;
  const { name, ...settings } = contextOf(configuration, undefined);
  const { token, loginTokens = [] } = { token: undefined, loginTokens: [], ...settings };
  const file = writableFile(configuration);
  const tokenFile = storedSecretPath({ configurationFile: file, context: name, kind: 'token' });
  if (token === undefined || !('file' in token) || token.file !== tokenFile || !existsSync(tokenFile)) {
    throw new TokenctlError('usage', `The context "${name}" has no token stored by tokenctl`, {
      hint:
        loginTokens.length === 0
          ? 'To revoke a token of your own: tokenctl tokens revoke'
          : `Its tokens may still be valid. Log in again, then: ${revokeCommand(loginTokens)}`,
    });
  }
  const found = await tokensOf(runtime, loginTokens);
  const refused = found instanceof TokenctlError;
  const tokenIds = refused ? [] : found;
  const json = { dryRun: flags['dry-run'] === true, context: name, tokenIds, refused, tokenFile };
  if (json.dryRun) {
    const first =
      tokenIds.length > 0 &&
      would`revoke ${tokenIds.length === 1 ? 'token' : 'tokens'} ${tokenIds.join(', ')}.`;
    return report({
      json,
      document: [lines(first, would`delete ${tokenFile}.`), lines(faint`Dry run. Nothing was changed.`)],
    });
  }
  const ended = await endTokens(runtime, { ids: tokenIds, flags });
  const left = leftText(ended);
  if (left !== null) {
    throw new TokenctlError('partly_done', left, {
      hint: `${tokenFile} was kept so that you can try again.`,
      details: { tokenIds: ended.left },
    });
  }
  rmSync(tokenFile);
  setLoginTokens(file, name, []);
  return report({
    json: { ...json, tokenIds: ended.ended },
    document: [
      lines(
        refused
          ? `${found.message}. Nothing was revoked. Whether the token has expired or was revoked is not known.`
          : `Revoked ${ended.ended.length === 1 ? 'token' : 'tokens'} ${ended.ended.join(', ')}.`,
        unseenText(ended),
        refused &&
          loginTokens.length > 1 &&
          `Its earlier tokens may still be valid. To revoke them: ${revokeCommand(loginTokens)}`,
        `Deleted ${tokenFile}. The context "${name}" stays: tokenctl login ${'url' in settings ? settings.url : ''}`,
      ),
    ],
  });
}

/** The tokens of a context: its logins' and the one in use, or the error if that is not accepted. */
async function tokensOf(runtime: Runtime, made: readonly number[]) {
  let own: readonly number[];
  try {
    own = await (await runtime.target()).ownTokenIds();
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'credentials_refused') return error;
    throw error;
  }
  const used = own.filter((id) => made.includes(id));
  if (used.length > 0) return made;
  if (own.length === 1) return [...made, ...own];
  throw new TokenctlError('unsupported', 'The controller does not show which token this context uses', {
    hint: `It is one of the tokens in \`tokenctl tokens list\`${own.length === 0 ? '' : `: ${own.join(', ')}`}. Revoke it, then run \`tokenctl logout\` again.`,
  });
}

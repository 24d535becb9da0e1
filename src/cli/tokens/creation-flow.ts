import { TokenctlError } from '@tokenctl/common/errors.ts';
import { intoSecretFile, requireNewFile } from '../../app/secret-file.ts';
import type { Token } from '../../domain/token.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import type { TokenRequest } from '../../operations/ports/target.ts';
import { resolveNames } from '../../operations/scope/resolve-names.ts';
import { createToken } from '../../operations/tokens/create-token.ts';
import { lines, would } from '../../reports/document.ts';
import { expiryText, secondsText } from '../../reports/tables/text.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';

/** What `tokens create` prints with `--json`, unless it is a dry run. */
export interface CreatedJson {
  readonly token: TokenJson;
  /** The file with the token. */
  readonly output: string;
}

/** What `tokens create --dry-run` prints with `--json`. */
export interface WouldCreateJson {
  readonly dryRun: true;
  readonly user: string;
  readonly address: string;
  readonly request: TokenRequest;
  readonly output: string;
}

export interface CreationRequest extends ChangeRequest {
  readonly request: TokenRequest;
  readonly output: string;
}

/**
 * Plans a token whose value is written to a new file, and nowhere else: it must not appear in a terminal or a
 * build log.
 *
 * @throws TokenctlError `usage` for the file, `unsupported`, `not_found` for a user that a database does not have; its act as {@link createIntoFile}
 */
export async function creationFlow(
  creation: CreationRequest,
): Promise<PlannedChange<Token, CreatedJson | WouldCreateJson>> {
  const { runtime, request, output } = creation;
  requireNewFile(output);
  const description = await runtime.description();
  const { address, identity } = description;
  if (description.credential !== 'database_role') {
    requireRestCreates(request, { username: identity.username, dialect: description.dialect });
  } else if (request.user === undefined) {
    throw new TokenctlError('usage', 'A token in a database needs a user', { hint: 'Add --user NAME' });
  } else await resolveNames(await runtime.target(), { users: [request.user] });
  const { scope, lifetime, user = identity.username } = request;
  const validFor = lifetime === undefined ? '' : `, valid for ${secondsText(lifetime)},`;
  return {
    plan: [
      lines(
        would`create a token of scope ${scope}${validFor} for ${user} at ${address} and write it to ${output}.`,
      ),
    ],
    question: { act: 'create it', type: scope },
    act: () => createIntoFile(creation),
    ended: (token) => ({
      document: [
        lines(
          `Created token ${token.id}, scope ${token.scope}, expires ${expiryText(token.expires)}.`,
          `The token is in ${output}, which only you can read.`,
        ),
      ],
    }),
    json: ({ done }) =>
      done === null ? { dryRun: true, user, address, request, output } : { token: tokenToJson(done), output },
  };
}

/**
 * Creates a token and writes its value to a new file.
 *
 * @throws TokenctlError `usage` for the file, `partly_done` where the token exists and its value is lost, and
 * whatever the operation throws
 */
export async function createIntoFile({ runtime, flags, request, output }: CreationRequest): Promise<Token> {
  const opened = await runtime.change(flags);
  const { token } = await intoSecretFile(output, {
    make: () => createToken({ ...opened, request }),
    secretOf: ({ value }) => value,
    lost: ({ token: { id } }, cause) =>
      new TokenctlError(
        'partly_done',
        `Token ${id} was created, but its value could not be written to ${output}`,
        {
          hint: `The value is lost. Revoke the token with \`tokenctl tokens revoke --id ${id}\` and create another`,
          details: { tokenId: id },
          cause,
        },
      ),
  });
  return token;
}

import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile, reserveSecretFile } from '../../app/secret-file.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Token } from '../../domain/token.ts';
import type { TargetDescription, TokenRequest } from '../../operations/ports/target.ts';
import { createToken } from '../../operations/tokens/create-token.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { expiryText, printable, secondsText } from '../../reports/tables/text.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';
import type { Confirmation } from '../confirmation.ts';
import type { ChangeFlags } from '../flags.ts';

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

export interface CreationRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: ChangeFlags;
  readonly request: TokenRequest;
  readonly output: string;
}

/**
 * Confirms, creates a token and writes its value to a new file, and nowhere else: it must not appear in a terminal or a
 * build log.
 *
 * @throws TokenctlError `usage` for the file, `partly_done` where the token exists and its value is lost
 */
export async function creationFlow(
  creation: CreationRequest,
): Promise<Report<CreatedJson | WouldCreateJson>> {
  const { runtime, confirmation, flags, request, output } = creation;
  requireNewFile(output);
  const { address, identity, credential } = await runtime.description();
  requireUser(request, credential);
  requireLifetime(request, credential);
  const user = request.user ?? identity.username;
  const validFor = request.lifetime === undefined ? '' : `, valid for ${secondsText(request.lifetime)},`;
  const what = `a token of scope ${request.scope}${validFor} for ${printable.value(user)} at ${address}`;
  if (flags['dry-run'] === true) {
    return report({
      json: { dryRun: true, user, address, request, output },
      text: () => `Would create ${what} and write it to ${output}.\n\nDry run. Nothing was changed.\n`,
    });
  }
  await confirmation.confirm({
    plan: `Would create ${what} and write it to ${output}.\n`,
    act: 'create it',
    type: request.scope,
  });
  const token = await createIntoFile(creation);
  return report({
    json: { token: tokenToJson(token), output },
    text: () =>
      `Created token ${token.id}, scope ${token.scope}, expires ${expiryText(token.expires)}.\n` +
      `The token is in ${output}, which only you can read.\n`,
  });
}

/** A database role cannot own a token. */
function requireUser({ user }: TokenRequest, credential: TargetDescription['credential']): void {
  if (credential !== 'database_role' || user !== undefined) return;
  throw new TokenctlError('usage', 'A token in a database needs a user', {
    hint: 'Add --user NAME',
  });
}

/**
 * Refuses a lifetime over REST before anything is recorded: the API ignores it.
 *
 * @throws TokenctlError `unsupported`
 */
export function requireLifetime(
  { lifetime }: Pick<TokenRequest, 'lifetime'>,
  credential: TargetDescription['credential'],
): void {
  if (lifetime === undefined || credential === 'database_role') return;
  throw new TokenctlError('unsupported', 'The REST API gives every new token the lifetime of its settings', {
    hint: 'Leave out --expires and change the setting with `tokenctl settings token-lifetime`, or use a database context.',
  });
}

/**
 * Creates a token and writes its value to a new file, without confirmation.
 *
 * @throws TokenctlError `usage` for the file, `partly_done` where the token exists and its value is lost, and
 * whatever the operation throws
 */
export async function createIntoFile({
  runtime,
  flags,
  request,
  output,
}: Omit<CreationRequest, 'confirmation'>): Promise<Token> {
  const change = await runtime.change(flags);
  const file = reserveSecretFile(output);
  let created: Awaited<ReturnType<typeof createToken>>;
  try {
    created = await createToken({ ...change, request });
  } catch (error) {
    file.discard();
    throw error;
  }
  const { token, value } = created;
  try {
    file.fill(value);
  } catch (cause) {
    throw valueLost(token.id, output, cause);
  }
  return token;
}

function valueLost(tokenId: number, output: string, cause: unknown): TokenctlError {
  return new TokenctlError(
    'partly_done',
    `Token ${tokenId} was created, but its value could not be written to ${output}`,
    {
      hint: `The value is lost. Revoke the token with \`tokenctl tokens revoke --id ${tokenId}\` and create another`,
      details: { tokenId },
      cause,
    },
  );
}

import { basename } from 'node:path';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile } from '../../app/secret-file.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { printable } from '../../reports/printable.ts';
import { type Report, report } from '../../reports/result.ts';
import { tokenToJson } from '../../reports/token-view.ts';
import type { AccountFlags } from '../flags.ts';
import { writeNotice } from '../output/streams.ts';
import { createIntoFile } from '../tokens/creation-flow.ts';
import { inManagementWords, ManagementError } from './error.ts';

/** What `create_oauth2_token` is asked for with. */
export interface ManagementCreation {
  readonly runtime: Runtime;
  readonly flags: AccountFlags & { readonly output?: string | undefined };
  readonly user: string;
}

/**
 * The user that is named.
 *
 * @throws ManagementError where none is
 */
export function requireUserName(user: string | undefined): string {
  if (user !== undefined && user !== '') return user;
  throw new ManagementError(
    'usage',
    'Username not supplied. Usage: awx-manage create_oauth2_token --user=username.',
  );
}

/**
 * Creates a token as the controller's `create_oauth2_token` does, without asking: a personal one of the scope
 * write. Where that prints the token, this prints its fingerprint; the value goes into a new file.
 *
 * @throws ManagementError where there is no such user, `usage` for the file, and whatever the operation throws
 */
export async function managementCreation({ runtime, flags, user }: ManagementCreation): Promise<Report> {
  const output = flags.output ?? fileFor(user);
  requireNewFile(output);
  const request = { scope: 'write', description: '', user } as const;
  const token = await inManagementWords(createIntoFile({ runtime, flags, request, output }), {
    code: 'not_found',
    message: 'The user does not exist.',
  }).catch(async (error: unknown) => {
    const refused = error instanceof TokenctlError && error.code === 'permission_refused';
    throw refused && (await isDenied(runtime, user)) ? accessDenied(error) : error;
  });
  writeNotice(`The value is in ${printable.value(output)}, which only you can read.`);
  return report({
    json: { token: tokenToJson(token), output },
    text: () => `${token.fingerprint ?? token.id}\n`,
  });
}

/** Whether this is a user of an identity provider while such users may have no tokens. */
async function isDenied(runtime: Runtime, user: string): Promise<boolean> {
  try {
    const target = await runtime.target();
    if ((await target.settings.read()).ALLOW_OAUTH2_FOR_EXTERNAL_USERS) return false;
    for await (const { externalAccount } of target.users({ names: [user] })) {
      if (externalAccount !== null) return true;
    }
    return false;
  } catch {
    // What went wrong first is what is told.
    return false;
  }
}

function accessDenied(cause: unknown): ManagementError {
  return new ManagementError(
    'permission_refused',
    '(access_denied) OAuth2 Tokens cannot be created by users associated with an external authentication provider',
    { cause },
  );
}

/** A user may be called anything: the name of a file is made of it only where it is one. */
function fileFor(user: string): string {
  const file = `${user}.token`;
  if (basename(file) === file && !/[\\\p{Cc}]/u.test(file)) return file;
  throw new TokenctlError('usage', 'The name of this user cannot be part of the name of a file', {
    hint: 'Name the file with --output',
  });
}

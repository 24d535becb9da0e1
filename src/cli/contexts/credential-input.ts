import { text } from 'node:stream/consumers';
import { absolutePath, type Environment } from '../../config/paths.ts';
import type { SecretReference } from '../../config/secret-reference.ts';
import { storeSecret } from '../../config/secret-store.ts';
import { readSecret, secretFrom } from '../../config/secrets.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { ask, canAsk } from '../prompt.ts';
import type { CredentialFlags } from './credential-flags.ts';

/** The credential of a context: which kind, and where it is. */
export type Credential = { readonly token: SecretReference } | { readonly password: SecretReference };

type Kind = 'token' | 'password';

/** For which context a credential is taken in. */
export interface CredentialRequest {
  readonly flags: CredentialFlags;
  readonly context: string;
  readonly username: string | undefined;
  readonly configurationFile: string;
  readonly environment: Environment;
}

const SOURCES = ['file', 'env', 'stdin'] as const;

/**
 * Takes in a credential: a reference to where it is, or the credential itself from stdin or the keyboard,
 * which is then kept in a file of mode 0600.
 *
 * @throws TokenctlError `usage` for none or several, `configuration` for a file that others can read
 */
export async function takeCredential(request: CredentialRequest): Promise<Credential> {
  const { kind, source } = chosen(request);
  if (kind === 'password' && request.username === undefined) {
    throw new TokenctlError('usage', 'A password needs the name of its user', { hint: 'Add --username' });
  }
  const reference = await referenceFor(kind, source, request);
  return kind === 'token' ? { token: reference } : { password: reference };
}

/**
 * Makes sure that no credential is given to a context of a database, whose URL has it.
 *
 * @throws TokenctlError `usage`
 */
export function requireNoCredential(flags: CredentialFlags): void {
  const [given] = givenBy(flags);
  if (given === undefined) return;
  throw new TokenctlError('usage', `${flagOf(given)} goes with --url, and this context has a database`, {
    hint: "A database's password is part of its URL, or comes from ~/.pgpass or PGPASSWORD",
  });
}

/** Without a flag, the keyboard is asked: for a password where there is a user name, else for a token. */
function chosen({ flags, username }: CredentialRequest): {
  kind: Kind;
  source: (typeof SOURCES)[number] | 'keyboard';
} {
  const given = givenBy(flags);
  const [only, ...others] = given;
  if (others.length > 0) {
    const names = given.map(flagOf).join(', ');
    throw new TokenctlError('usage', `A context has one credential, and there are ${names}`);
  }
  if (only !== undefined) return only;
  if (!canAsk()) {
    throw new TokenctlError('usage', 'There is no credential, and no terminal to ask for one on', {
      hint: 'Add --token-file, --token-env or --token-stdin, or one of the same for a password',
    });
  }
  return { kind: username === undefined ? 'token' : 'password', source: 'keyboard' };
}

interface Given {
  readonly kind: Kind;
  readonly source: (typeof SOURCES)[number];
}

function givenBy(flags: CredentialFlags): Given[] {
  return (['token', 'password'] as const).flatMap((kind) =>
    SOURCES.filter((source) => flags[`${kind}-${source}`]).map((source) => ({ kind, source })),
  );
}

function flagOf({ kind, source }: Given): string {
  return `--${kind}-${source}`;
}

async function referenceFor(
  kind: Kind,
  source: ReturnType<typeof chosen>['source'],
  request: CredentialRequest,
): Promise<SecretReference> {
  const { flags, context, username, configurationFile, environment } = request;
  if (source === 'env') return { env: flags[`${kind}-env`] ?? '' };
  if (source === 'file') {
    const reference = { file: absolutePath(flags[`${kind}-file`] ?? '', process.cwd(), environment) };
    readSecret(reference, environment);
    return reference;
  }
  const owner = username === undefined ? context : `${username} at ${context}`;
  // A terminal would show what is typed, unless it is asked for.
  const piped = source === 'stdin' && process.stdin.isTTY !== true;
  const typed = piped ? await text(process.stdin) : await ask(`The ${kind} of ${owner}: `, { hidden: true });
  const secret = secretFrom(typed, piped ? 'What came on stdin' : 'What was typed');
  return { file: storeSecret(secret, { configurationFile, context, kind }) };
}

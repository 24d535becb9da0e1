import { text } from 'node:stream/consumers';
import type { Configuration } from '../../config/configuration.ts';
import { addContext, checkedContext, type NamedContext, requireFreeName } from '../../config/contexts.ts';
import { requireGroupNames } from '../../config/groups.ts';
import { absolutePath, type Environment } from '../../config/paths.ts';
import { databaseConnection, readSecret, secretFrom, storeSecret } from '../../config/secrets.ts';
import type { DatabaseSetting, SecretReference } from '../../config/value-schemas.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { ask, canAsk } from '../confirmation.ts';
import { requireReadable } from '../flags.ts';
import type { CredentialFlags, DatabaseFlags } from './context-flags.ts';
import { contextToJson } from './context-view.ts';

/** A context to be added. */
export interface ContextRequest {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly name: string;
  readonly flags: CredentialFlags &
    DatabaseFlags & {
      readonly url?: string | undefined;
      readonly username?: string | undefined;
      readonly 'ca-file'?: string | undefined;
      readonly 'verify-ssl'?: boolean | undefined;
      readonly replace?: boolean | undefined;
      readonly component?: 'gateway' | 'controller' | undefined;
      readonly group?: readonly string[] | undefined;
    };
}

/**
 * Adds a context to the configuration file: everything is checked before a credential is asked for, and
 * the credential is kept before the context that refers to it is written.
 *
 * @throws TokenctlError `usage`, `configuration`
 */
export async function contextFlow(request: ContextRequest): Promise<Report> {
  const { configuration, name, flags } = request;
  const { file } = configuration;
  const groups = flags.group ?? [];
  requireFreeName(configuration, name, flags.replace === true);
  requireGroupNames(configuration, { context: name, groups });
  const outline = outlineOf(request);
  if (outline.database !== undefined) requireNoCredential(flags);
  else if (outline.caFile !== undefined) requireReadable(outline.caFile, 'The file of --ca-file');
  const context = outline.database === undefined ? await withCredential(outline, request) : outline;
  addContext(file, context, groups);
  const current = (configuration.currentContext ?? name) === name;
  return report({
    json: { ...contextToJson(context, current), file },
    text: () =>
      `Added context "${name}" to ${file}.\n` +
      (current ? '' : `To work in it: tokenctl context use ${name}, or --context ${name}.\n`) +
      `To check it: tokenctl context check ${name}\n`,
  });
}

/** The context that the flags mean, but for its credential. */
function outlineOf({ environment, name, flags }: ContextRequest): NamedContext {
  const { url, username, component, 'ca-file': caFile, 'verify-ssl': verifyTls } = flags;
  const database = takeDatabase(flags, environment);
  if (url === undefined && database === undefined) throw nowhere();
  return checkedContext(name, {
    ...(url !== undefined && { url }),
    ...(database !== undefined && { database }),
    ...(username !== undefined && { username }),
    ...(caFile !== undefined && { caFile: absolutePath(caFile, process.cwd(), environment) }),
    ...(verifyTls !== undefined && { verifyTls }),
    ...(component !== undefined && { component }),
  });
}

function nowhere(): TokenctlError {
  return new TokenctlError('usage', 'Nothing says where the controller is', {
    hint: 'Add --url for its REST API, or --database-file, --database-env or --database for its database',
  });
}

async function withCredential<Outline extends object>(
  outline: Outline,
  { configuration, environment, name, flags }: ContextRequest,
): Promise<Outline> {
  const credential = await takeCredential({
    flags,
    context: name,
    username: flags.username,
    configurationFile: configuration.file,
    environment,
  });
  return { ...outline, ...credential };
}

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

/**
 * The database that the flags name, unchecked; undefined where they name none. A file is read, so that what is
 * wrong with it is said now.
 *
 * @throws TokenctlError `configuration` for a file that is not there, or that others can read
 */
export function takeDatabase(flags: DatabaseFlags, environment: Environment): DatabaseSetting | undefined {
  const { database, 'database-file': file, 'database-env': env } = flags;
  if (file !== undefined) {
    const reference = { file: absolutePath(file, process.cwd(), environment) };
    databaseConnection(reference, environment);
    return reference;
  }
  return env === undefined ? database : { env };
}

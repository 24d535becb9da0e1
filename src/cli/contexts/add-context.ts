import { text } from 'node:stream/consumers';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Configuration, writableFile } from '../../config/configuration.ts';
import { type NamedContext, restContextsOf } from '../../config/contexts.ts';
import {
  addContext,
  checkedContext,
  requireFreeName,
  requireGroupNames,
} from '../../config/edit-contexts.ts';
import { insecureWarning } from '../../config/insecure.ts';
import { absolutePath, type Environment } from '../../config/paths.ts';
import { ENVIRONMENT_CONTEXT } from '../../config/schema.ts';
import { databaseConnection, readSecret, secretFrom, storeSecret } from '../../config/secrets.ts';
import type { DatabaseSetting, SecretReference } from '../../config/value-schemas.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { ask, canAsk } from '../change/confirmation.ts';
import { requireReadable } from '../flags/flags.ts';
import type { AddContextFlags, CredentialFlags, DatabaseFlags } from './context-flags.ts';
import { type ContextJson, contextToJson } from './context-view.ts';

/** What `context add` prints with `--json`: the context, and its file. */
export type AddedContextJson = ContextJson & { readonly file: string };

export interface ContextRequest {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly name: string;
  readonly flags: AddContextFlags;
}

/**
 * Adds a context to the configuration file. Everything is checked before it asks for a credential, and the
 * credential is stored before the context that refers to it.
 * @throws TokenctlError `usage`, `configuration`
 */
export async function contextFlow(request: ContextRequest): Promise<Report<AddedContextJson>> {
  const { configuration, name, flags } = request;
  const file = writableFile(configuration);
  const groups = flags.group ?? [];
  requireFreeName(configuration, name, flags.replace === true);
  requireGroupNames(configuration, { context: name, groups });
  const outline = outlineOf(request);
  requireDatabaseContext(configuration, outline);
  requireSecure(outline);
  if (outline.database !== undefined) requireNoCredential(flags);
  else if (outline.caFile !== undefined) requireReadable(outline.caFile, 'The file of --ca-file');
  const context = outline.database === undefined ? await withCredential(outline, request) : outline;
  addContext(file, context, groups);
  const current = (configuration.currentContext ?? name) === name;
  return report({
    json: { ...contextToJson(context, current), file },
    document: [
      lines(
        `Added context "${name}" to ${file}.`,
        !current && `To use it: tokenctl context use ${name}, or --context ${name}.`,
        `To check it: tokenctl context check ${name}`,
        outline.database !== undefined && restText(configuration, name),
      ),
    ],
  });
}

/** How contexts over REST can name a database; empty if a context already does. */
function restText(configuration: Configuration, name: string): string | false {
  if (restContextsOf(configuration, name).length > 0) return false;
  const rest = Object.entries(configuration.contexts).flatMap(([other, { url }]) =>
    url === undefined || other === ENVIRONMENT_CONTEXT ? [] : [other],
  );
  return (
    rest.length > 0 &&
    `If this is the database of ${rest.length === 1 ? `"${rest[0]}"` : 'one of the other contexts'}, link them: tokenctl context link ${rest.length === 1 ? rest[0] : 'NAME'} ${name}`
  );
}

/** The context from the flags, without its credential. */
function outlineOf({ environment, name, flags }: ContextRequest): NamedContext {
  const { url, username, component, 'ca-file': caFile, 'verify-ssl': verifyTls } = flags;
  const database = takeDatabase(flags, environment);
  if (url === undefined && database === undefined)
    throw new TokenctlError('usage', 'No address given', {
      hint: 'Add --url for a REST API, or --database-file, --database-env or --database for a database',
    });
  return checkedContext(name, {
    ...(url !== undefined && { url }),
    ...(database !== undefined && { database }),
    ...(username !== undefined && { username }),
    ...(caFile !== undefined && { caFile: absolutePath(caFile, process.cwd(), environment) }),
    ...(verifyTls !== undefined && { verifyTls }),
    ...(flags.insecure === true && { insecure: true }),
    ...(component !== undefined && { component }),
    ...(flags['database-context'] !== undefined && { databaseContext: flags['database-context'] }),
  });
}

/** Refuses what every command would refuse in this context. Throws `usage`. */
export function requireSecure(outline: NamedContext): void {
  try {
    insecureWarning(outline);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    throw new TokenctlError('usage', error.message, {
      hint: 'Use https and --ca-file, or add --insecure to send it anyway.',
    });
  }
}

/**
 * Requires the context of --database-context to be a database context. The schema also checks this, with the
 * name of the file. Throws `usage`.
 */
export function requireDatabaseContext({ contexts }: Configuration, context: NamedContext): void {
  const name = context.database === undefined ? context.databaseContext : undefined;
  if (typeof name !== 'string' || contexts[name]?.database !== undefined) return;
  const problem = contexts[name] === undefined ? 'does not exist' : 'is not a database context';
  throw new TokenctlError('usage', `--database-context: "${name}" ${problem}`, {
    hint: `Add it first: tokenctl context add ${name === '' ? 'NAME' : name} --database-file FILE`,
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
    configurationFile: writableFile(configuration),
    environment,
  });
  return { ...outline, ...credential };
}

type Credential = { readonly token: SecretReference } | { readonly password: SecretReference };

type Kind = 'token' | 'password';

interface CredentialRequest {
  readonly flags: CredentialFlags;
  readonly context: string;
  readonly username: string | undefined;
  readonly configurationFile: string;
  readonly environment: Environment;
}

const SOURCES = ['file', 'env', 'stdin'] as const;

/**
 * Reads a credential: a reference to a file or an environment variable, or the credential itself from stdin
 * or a prompt, which is then stored in a file with mode 0600.
 * @throws TokenctlError `usage` without a credential or with several, `configuration` for a file that others
 * can read
 */
async function takeCredential(request: CredentialRequest): Promise<Credential> {
  const { kind, source } = chosen(request);
  if (kind === 'password' && request.username === undefined) {
    throw new TokenctlError('usage', 'A password requires a user name', { hint: 'Add --username NAME' });
  }
  const reference = await referenceFor(kind, source, request);
  return kind === 'token' ? { token: reference } : { password: reference };
}

/** Rejects credential flags for a database context, whose URL contains the credential. Throws `usage`. */
function requireNoCredential(flags: CredentialFlags): void {
  const [given] = givenBy(flags);
  if (given === undefined) return;
  throw new TokenctlError('usage', `${flagOf(given)} cannot be used with a database`, {
    hint: 'Include the database password in the URL, ~/.pgpass or PGPASSWORD',
  });
}

/** Without a flag, prompts for a password if there is a user name, otherwise for a token. */
function chosen({ flags, username }: CredentialRequest): {
  kind: Kind;
  source: (typeof SOURCES)[number] | 'keyboard';
} {
  const given = givenBy(flags);
  const [only, ...others] = given;
  if (others.length > 0) {
    const names = given.map(flagOf).join(', ');
    throw new TokenctlError('usage', `Several credentials given: ${names}`);
  }
  if (only !== undefined) return only;
  if (!canAsk()) {
    throw new TokenctlError('usage', 'No credential specified, and no terminal to prompt for one', {
      hint: 'Add --token-file, --token-env or --token-stdin, or the same flags for a password',
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
  // A prompt hides the input.
  const piped = source === 'stdin' && process.stdin.isTTY !== true;
  const typed = piped
    ? await text(process.stdin)
    : await ask(`${kind === 'token' ? 'Token' : 'Password'} for ${owner}: `, { hidden: true });
  const secret = secretFrom(typed, piped ? 'The input on stdin' : 'The input');
  return { file: storeSecret(secret, { configurationFile, context, kind }) };
}

/**
 * The database of the flags; undefined without them. A file is read now, to report its errors now. Throws
 * `configuration` for a missing file, or a file that others can read.
 */
function takeDatabase(flags: DatabaseFlags, environment: Environment): DatabaseSetting | undefined {
  const { database, 'database-file': file, 'database-env': env } = flags;
  if (file !== undefined) {
    const reference = { file: absolutePath(file, process.cwd(), environment) };
    databaseConnection(reference, environment);
    return reference;
  }
  return env === undefined ? database : { env };
}

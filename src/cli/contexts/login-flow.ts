import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { createRuntime, type Runtime } from '../../app/runtime.ts';
import { type Configuration, withSettings, writableFile } from '../../config/configuration.ts';
import type { NamedRestContext } from '../../config/contexts.ts';
import {
  addContext,
  checkedContext,
  requireFreeName,
  setLoginTokens,
  useContext,
} from '../../config/edit-contexts.ts';
import { absolutePath, type Environment } from '../../config/paths.ts';
import { ENVIRONMENT_CONTEXT } from '../../config/schema.ts';
import { readSecret, secretFrom, storedSecretPath, storeSecret } from '../../config/secrets.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { faint, lines, would } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { expiryText } from '../../reports/tables/text.ts';
import { ask, canAsk } from '../change/confirmation.ts';
import { requireReadable } from '../flags/flags.ts';
import { writeNotice } from '../output/streams.ts';
import { createIntoFile } from '../tokens/creation-flow.ts';
import { requireDatabaseContext, requireSecure } from './add-context.ts';
import { identityText } from './check-result.ts';
import type { LoginFlags } from './context-flags.ts';
import {
  endTokens,
  LOGIN_DESCRIPTION,
  leftText,
  otherLoginTokens,
  revokeCommand,
  unseenText,
} from './login-tokens.ts';

/** What `login` prints with `--json`. */
export interface LoginJson {
  readonly dryRun: boolean;
  readonly context: string;
  readonly address: string;
  readonly identity: TargetDescription['identity'];
  /** The id of the new token; null if none was created: with --browser, or in a dry run. */
  readonly tokenId: number | null;
  /** The tokens of earlier logins that it revoked. */
  readonly revoked: readonly number[];
  /** The tokens of earlier logins that may still be valid. */
  readonly left: readonly number[];
  /** When the new token expires; null if none was created. */
  readonly expires: Date | null;
  /** The file with the token; null in a dry run. */
  readonly tokenFile: string | null;
  readonly file: string;
  /** The context that the environment selects instead of this one; null if none. */
  readonly overriddenBy: string | null;
}

export interface LoginRequest {
  readonly configuration: Configuration;
  readonly environment: Environment;
  /** As entered by the user: the scheme may be missing. */
  readonly address: string | undefined;
  readonly flags: LoginFlags;
  readonly version: string;
}

/** The variable that passes the typed secret to the runtime of a login; not in any process environment. */
const TYPED = 'TOKENCTL_LOGIN';

/**
 * Logs in to a controller with a password, creates a token, stores it, tests it, and makes its context the
 * current one. With `--browser`, the user creates the token. The password is not kept, and nothing is written
 * before the controller has accepted it. A second login at the same address replaces the token of the
 * context, revokes the one from the earlier login, and keeps the other settings. The configuration has a
 * token's id before the token is used: after any interruption, the next login ends it.
 * @throws TokenctlError `usage`, `interrupted`, `credentials_refused`, `permission_refused`,
 * `audit_unavailable` with nothing changed; `partly_done` if a token was created that does not work
 */
export async function loginFlow(request: LoginRequest): Promise<Report<LoginJson>> {
  const { configuration, environment, flags } = request;
  const file = writableFile(configuration);
  const given = request.address === undefined ? null : addressOf(request.address);
  requireAnswers(request);
  const url = given ?? addressOf((await ask('Controller address: ')).trim());
  const outline = outlineOf(url, request);
  requireDatabaseContext(configuration, outline);
  requireSecure(outline);
  if (outline.caFile !== undefined) requireReadable(outline.caFile, 'The file of --ca-file');
  const { secret, username } = flags.browser === true ? await pasted(url) : await typed(url, request);
  const credential =
    username === undefined ? { token: { env: TYPED } } : { username, password: { env: TYPED } };
  const runtime = createRuntime({
    flags: {},
    configuration: withSettings(configuration, {
      currentContext: outline.name,
      contexts: { ...configuration.contexts, [outline.name]: { ...outline, ...credential } },
    }),
    environment: { ...environment, [TYPED]: secret.reveal() },
    notify: writeNotice,
    version: request.version,
  });
  try {
    const description = await runtime.description();
    const overriddenBy = configuration.environmentContext ?? null;
    const found = { context: outline.name, address: description.address, identity: description.identity };
    if (flags['dry-run'] === true) {
      const json = {
        ...found,
        dryRun: true,
        tokenId: null,
        revoked: [],
        left: [],
        expires: null,
        tokenFile: null,
        file,
        overriddenBy,
      };
      return report({
        json,
        document: [
          lines(
            `Logged in to ${description.address} as ${identityText(description)}.`,
            would`${username === undefined ? 'store the token' : `create a token with scope ${scopeOf(flags)}`} for the context "${outline.name}".`,
          ),
          lines(faint`Dry run. Nothing was changed.`),
        ],
      });
    }
    const place = { configurationFile: file, context: outline.name, kind: 'token' };
    const isAgain = Object.hasOwn(configuration.contexts, outline.name);
    const earlier = earlierTokens(configuration.contexts[outline.name]);
    const path = storedSecretPath(place);
    const write = (ids: readonly number[]) =>
      addContext(file, {
        ...outline,
        token: { file: path },
        ...(ids.length > 0 && { loginTokens: [...ids] }),
      });
    const made =
      username === undefined
        ? null
        : await makeToken(runtime, { flags, path, beforeUse: (id) => write([...earlier, id]) });
    if (made === null) {
      storeSecret(secret, place);
      write(earlier);
    }
    const tokenFile = path;
    useContext(
      withSettings(configuration, { contexts: { ...configuration.contexts, [outline.name]: outline } }),
      outline.name,
    );
    const { ended, said } = await endEarlier(runtime, {
      ...{ earlier, made: made?.id ?? null, flags, file, context: outline.name, isAgain },
    });
    return report({
      json: {
        ...found,
        dryRun: false,
        tokenFile,
        file,
        overriddenBy,
        tokenId: made?.id ?? null,
        revoked: ended.ended,
        left: [...ended.left, ...ended.unseen],
        expires: made?.expires ?? null,
      },
      document: [
        lines(
          `Logged in to ${description.address} as ${identityText(description)}.`,
          made === null
            ? `The token is in ${tokenFile}, which only you can read.`
            : `Created token ${made.id}, scope ${made.scope}, expires ${expiryText(made.expires)}. It is in ${tokenFile}, which only you can read.`,
          said,
          overriddenBy === null
            ? `The current context is "${outline.name}".`
            : `The environment selects the context "${overriddenBy}" instead. Unset its variables, or add --context ${outline.name}.`,
        ),
      ],
    });
  } finally {
    await runtime.close();
  }
}

/** Refuses the flags that select a context for other commands: a login creates its own. Throws `usage`. */
export function requireNoPlace(flags: {
  readonly context?: string | undefined;
  readonly 'database-file'?: string | undefined;
}): void {
  if (flags.context !== undefined) {
    throw new TokenctlError('usage', `Logging in does not use the context "${flags.context}"`, {
      hint: 'Set the name of the new context with --name, and specify the controller by its address.',
    });
  }
  if (flags['database-file'] === undefined) return;
  throw new TokenctlError('usage', 'Logging in requires the REST API, not a database', {
    hint: 'Specify the database context with --database-context.',
  });
}

/** Checks that every necessary question can be asked, before the first one. */
function requireAnswers({ address, flags }: LoginRequest): void {
  const isGiven = flags['password-file'] !== undefined || flags['password-stdin'] === true;
  const missing = [
    ...(address === undefined ? ['ADDRESS'] : []),
    ...(flags.browser !== true && flags.username === undefined ? ['--username'] : []),
    ...(flags.browser === true || !isGiven ? ['--password-file or --password-stdin'] : []),
  ];
  if (missing.length === 0 || canAsk()) return;
  throw new TokenctlError('usage', 'Cannot prompt for a login without a terminal', {
    hint:
      flags.browser === true
        ? 'Use `tokenctl context add NAME --url URL --token-stdin`.'
        : `Add ${missing.join(', ')}.`,
  });
}

/** The URL of an address, whose scheme may be missing. Throws `usage`. */
export function addressOf(text: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (text !== '' && /^https?:/i.test(url) && URL.canParse(url)) return url;
  throw new TokenctlError('usage', `"${text}" is not a controller address`, {
    hint: 'Use a URL such as https://controller.example.org.',
  });
}

/** The context without a credential: an earlier one with the same address, overridden by the flags. */
function outlineOf(url: string, { configuration, environment, flags }: LoginRequest): NamedRestContext {
  const same = Object.entries(configuration.contexts).flatMap(([name, context]) =>
    context.url !== undefined && isSameAddress(context.url, url) && name !== ENVIRONMENT_CONTEXT
      ? [{ ...context, name }]
      : [],
  );
  const known = same.find(({ name }) => flags.name === undefined || name === flags.name);
  const name = flags.name ?? known?.name ?? nameOf(url, configuration);
  const taken = known === undefined ? configuration.contexts[name] : undefined;
  if (taken !== undefined && name !== ENVIRONMENT_CONTEXT) {
    throw new TokenctlError(
      'usage',
      `The context "${name}" has a different address: ${taken.url ?? 'a database'}`,
      { hint: 'Log in to that address, or set another name for the new context with --name.' },
    );
  }
  requireFreeName(configuration, name, known !== undefined);
  const caFile = flags['ca-file'];
  const context = checkedContext(name, {
    url,
    caFile: caFile === undefined ? known?.caFile : absolutePath(caFile, process.cwd(), environment),
    verifyTls: flags['verify-ssl'] ?? known?.verifyTls,
    insecure: flags.insecure === true || known?.insecure,
    component: known?.component,
    databaseContext: flags['database-context'] ?? known?.databaseContext,
  });
  if (context.database === undefined) return context;
  throw new TokenctlError('usage', `The context "${name}" is a database context`);
}

function isSameAddress(one: string, other: string): boolean {
  return new URL(one).href.replace(/\/$/, '') === new URL(other).href.replace(/\/$/, '');
}

/** The first label of the host name, unless another context has it or it is an IP address. */
function nameOf(url: string, { contexts, groups }: Configuration): string {
  const { hostname: host, port } = new URL(url);
  const short = /^[a-z][a-z0-9-]*/i.exec(host)?.[0];
  const isFree = short !== undefined && !Object.hasOwn(contexts, short) && !Object.hasOwn(groups, short);
  return isFree ? short : `${host.replace(/[^\w.-]/g, '')}${port === '' ? '' : `-${port}`}`;
}

interface Answer {
  readonly secret: Secret;
  /** The user of the password; undefined for a token. */
  readonly username?: string | undefined;
}

async function typed(url: string, { flags, environment }: LoginRequest): Promise<Answer> {
  const username = flags.username ?? (await ask('User name: ')).trim();
  if (username === '') throw new TokenctlError('usage', 'No user name specified');
  const file = flags['password-file'];
  if (file !== undefined) {
    const path = absolutePath(file, process.cwd(), environment);
    return { username, secret: readSecret({ file: path }, environment) };
  }
  const isPiped = flags['password-stdin'] === true && process.stdin.isTTY !== true;
  const password = isPiped
    ? await text(process.stdin)
    : await ask(`Password of ${username} at ${url} (not stored): `, { hidden: true });
  return { username, secret: secretFrom(password, isPiped ? 'The input on stdin' : 'The input') };
}

/** For single sign-on, which has no password. */
async function pasted(url: string): Promise<Answer> {
  writeNotice(
    `Log in to ${url} in a browser, create a personal access token for your user there, and paste it here.`,
  );
  return { secret: secretFrom(await ask('Token: ', { hidden: true }), 'The input') };
}

function scopeOf(flags: LoginFlags): 'read' | 'write' {
  return flags.scope ?? 'write';
}

function earlierTokens(context: Configuration['contexts'][string] | undefined): readonly number[] {
  return context?.url === undefined ? [] : (context.loginTokens ?? []);
}

/** Revokes the tokens of earlier logins, after the new one is stored, and reports which remain. */
async function endEarlier(
  runtime: Runtime,
  login: {
    readonly earlier: readonly number[];
    /** The new token; null for a pasted one. */
    readonly made: number | null;
    readonly flags: LoginFlags;
    readonly file: string;
    readonly context: string;
    readonly isAgain: boolean;
  },
) {
  const { earlier, made, flags, file, context, isAgain } = login;
  // A pasted token can be the one from the earlier login.
  const inUse = made === null ? await (await runtime.target()).ownTokenIds() : [made];
  const ended = await endTokens(runtime, { ids: earlier.filter((id) => !inUse.includes(id)), flags });
  const stay = [...ended.left, ...inUse.filter((id) => id === made || earlier.includes(id))];
  setLoginTokens(file, context, stay);
  const others = made === null ? [] : await otherLoginTokens(runtime, stay);
  const said = [
    made !== null &&
      'Only the controller decides how long a token lives (tokenctl settings token-lifetime). To revoke it: tokenctl logout',
    ended.ended.length > 0 && `Revoked the token from the earlier login: ${ended.ended.join(', ')}.`,
    leftText(ended),
    unseenText(ended),
    isAgain &&
      earlier.length === 0 &&
      `The earlier token of this context is not revoked: tokenctl tokens list --user ${(await runtime.description()).identity.username}`,
    others.length > 0 &&
      `This user has other tokens described as "${LOGIN_DESCRIPTION}": ${others.join(', ')}. If no other context uses them: ${revokeCommand(others)}`,
  ];
  return { ended, said };
}

/** Creates a token and tests it before it replaces an earlier one. */
async function makeToken(
  runtime: Runtime,
  { flags, path, beforeUse }: { flags: LoginFlags; path: string; beforeUse: (id: number) => void },
) {
  const output = `${path}.${process.pid}.new`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const request = { scope: scopeOf(flags), description: LOGIN_DESCRIPTION, user: undefined };
  const token = await createIntoFile({ runtime, flags, request, output });
  try {
    await runtime.withToken(output).description();
    beforeUse(token.id);
    renameSync(output, path);
  } catch (cause) {
    rmSync(output, { force: true });
    const why = cause instanceof TokenctlError ? cause.message : 'its file cannot be moved';
    throw new TokenctlError('partly_done', `Token ${token.id} was created, but it is not used: ${why}`, {
      hint: `Its value was not stored. Revoke it: tokenctl tokens revoke --id ${token.id}`,
      details: { tokenId: token.id },
      cause,
    });
  }
  return token;
}

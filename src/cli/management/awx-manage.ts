import { basename } from 'node:path';
import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile } from '../../app/secret-file.ts';
import type { Outcome } from '../../domain/plan.ts';
import { patternOf } from '../../domain/selector.ts';
import { type CleanupKind, cleanupKinds, planCleanup } from '../../operations/cleanup/plan-cleanup.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { notPossible } from '../../operations/scope/target-parts.ts';
import { fullViewHint, type Viewer } from '../../operations/scope/visibility.ts';
import { planSessionExpiry } from '../../operations/sessions/expire-sessions.ts';
import { type Report, report } from '../../reports/result.ts';
import { printable } from '../../reports/tables/text.ts';
import { tokenToJson } from '../../reports/tables/token-view.ts';
import { type ChangeRequest, carryOut, type PlannedChange } from '../change/change.ts';
import { ManagementError } from '../errors/failure.ts';
import type { AccountFlags } from '../flags/flags.ts';
import { writeNotice, writeTo } from '../output/streams.ts';
import { type RevocationJson, revocationFlow } from '../revocation/revocation-flow.ts';
import { type SessionExpiryJson, sessionExpiryChange } from '../sessions/session-flow.ts';
import { type CleanupJson, cleanupChange, KEEP_REVOKED_FOR } from '../tokens/cleanup-flow.ts';
import {
  type CreatedJson,
  createIntoFile,
  creationFlow,
  type WouldCreateJson,
} from '../tokens/creation-flow.ts';

type TokenKind = 'access_token' | 'refresh_token';

interface Management<Flags> {
  readonly runtime: Runtime;
  readonly flags: AccountFlags & Flags & { readonly 'dry-run'?: boolean | undefined };
}

interface ManagementRevocation
  extends Management<{
    readonly user?: string | undefined;
    /** Revokes refresh tokens as well; does not select all users. */
    readonly all?: boolean | undefined;
    readonly revoke_refresh?: boolean | undefined;
    readonly 'break-glass'?: boolean | undefined;
  }> {
  /** Prints the report instead of one line per token. */
  readonly json: boolean;
}

/**
 * Revokes the access tokens of one user or of all users without confirmation, like `awx-manage
 * revoke_oauth2_tokens`; with `all`, refresh tokens first. Prints one line per token.
 * @throws ManagementError for an unknown user, `unsupported` if the target cannot revoke refresh tokens, and
 * the errors of the operations
 */
export async function managementRevocation(request: ManagementRevocation): Promise<Report<RevocationJson>> {
  const { runtime, json } = request;
  const { user, all, revoke_refresh, ...flags } = request.flags;
  const description = await runtime.description();
  const withRefreshTokens = all === true || revoke_refresh === true;
  if (withRefreshTokens && (await runtime.target()).refreshTokens === undefined) {
    throw notPossible(
      'Refresh tokens cannot be revoked over the REST API',
      'Use a database context, or omit --all to keep them.',
    );
  }
  const planned = await inManagementWords(
    revocationFlow({
      runtime,
      flags: { ...flags, 'include-own': true, 'access-only': !withRefreshTokens },
      selection: user === undefined ? { all: true } : { users: [{ pattern: patternOf(user) }] },
      isManagement: true,
    }),
    { code: 'not_found', message: 'A user with that username does not exist.' },
  );
  const unseen = planned.incomplete && notAllVisible(planned.incomplete.message, description);
  return await quietly(
    { runtime, flags },
    {
      ...planned,
      incomplete: unseen,
      async act(begin) {
        const begun = await begin();
        if (unseen !== undefined) throw unseen;
        await warnAboutOtherComponents(runtime);
        const lines = lineWriter();
        const onOutcome = (outcome: Outcome, kind: TokenKind) => {
          const line = lineOf(outcome, kind, description.dialect);
          if (line !== undefined) lines.line(line);
        };
        const working = { ...begun, onProgress: () => undefined, ...(json ? {} : { onOutcome }) };
        const report = await planned.act(async () => working, true);
        await lines.end();
        return report;
      },
    },
  );
}

/** The management commands cover all tokens. */
function notAllVisible(message: string, viewer: Viewer): TokenctlError {
  return new TokenctlError('permission_refused', message, { hint: fullViewHint(viewer) });
}

/** The management command of a platform's gateway covers only the gateway's tokens, and so does this one. */
async function warnAboutOtherComponents(runtime: Runtime): Promise<void> {
  if ((await runtime.components()).length < 2) return;
  writeNotice(
    'Revokes only tokens of the gateway. `tokenctl tokens revoke` also revokes those of the controller behind it.',
  );
}

/**
 * The line of the management command, with a fingerprint (over REST the id) instead of the token. Revoking a
 * refresh token deletes its access token, which has no separate line.
 */
function lineOf(outcome: Outcome, kind: TokenKind, dialect: TargetDescription['dialect']) {
  if (outcome.result !== 'revoked') return undefined;
  const refreshToken = dialect === 'gateway' ? 'OAuth2RefreshToken' : 'RefreshToken';
  if (outcome.refreshToken !== undefined)
    return `revoked ${refreshToken} ${outcome.refreshToken.fingerprint}`;
  const model = kind === 'access_token' ? 'OAuth2AccessToken' : refreshToken;
  return `revoked ${model} ${outcome.fingerprint ?? outcome.tokenId}`;
}

/** Makes a change without confirmation. All output is already printed, except the plan of a dry run. */
async function quietly<Done, Json>(request: ChangeRequest, planned: PlannedChange<Done, Json>) {
  const made = await carryOut(request, planned);
  return request.flags['dry-run'] === true ? made : { ...made, text: () => '' };
}

/** Characters to collect before a write. */
const CHUNK = 16_384;

/**
 * Prints lines on stdout in chunks: with a million lines, one system call per line would dominate the run
 * time. `line` takes a line without its line feed; `end` waits until everything is written, and throws
 * TokenctlError `partly_done` if a write failed.
 */
function lineWriter() {
  let gathered = '';
  let failure: { readonly error: unknown } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const write = () => {
    last = writeTo(process.stdout, gathered).catch((error: unknown) => {
      failure ??= { error };
    });
    gathered = '';
  };
  return {
    line(text: string) {
      gathered += `${text}\n`;
      if (gathered.length >= CHUNK) write();
    },
    async end() {
      if (gathered !== '') write();
      await last;
      if (failure !== null) throw failure.error;
    },
  };
}

/** Requires a user name. Throws ManagementError without one. */
export function requireUserName(user: string | undefined): string {
  if (user !== undefined && user !== '') return user;
  throw new ManagementError(
    'usage',
    'Username not supplied. Usage: awx-manage create_oauth2_token --user=username.',
  );
}

/**
 * Creates a personal access token with the scope write without confirmation, like `awx-manage
 * create_oauth2_token`. Prints the fingerprint instead of the token, which goes into a new file.
 * @throws ManagementError for an unknown user, `usage` for the file, and the errors of the operations
 */
export async function managementCreation({
  runtime,
  flags,
  user,
}: Management<{ readonly output?: string | undefined }> & { user: string }): Promise<
  Report<CreatedJson | WouldCreateJson>
> {
  const output = flags.output ?? fileFor(user);
  requireNewFile(output);
  const request = { scope: 'write', description: '', user } as const;
  const creation = { runtime, flags, request, output };
  const noUser = { code: 'not_found', message: 'The user does not exist.' } as const;
  if (flags['dry-run'] === true) {
    return await carryOut(creation, await inManagementWords(creationFlow(creation), noUser));
  }
  const token = await inManagementWords(createIntoFile(creation), noUser).catch((error: unknown) => {
    throw deniedAs(error) ?? error;
  });
  writeNotice(`The token is in ${printable.value(output)}, which only you can read.`);
  return report({
    json: { token: tokenToJson(token), output },
    text: () => `${token.fingerprint ?? token.id}\n`,
  });
}

/** The refusal for an identity provider's user, in the words of the management command; otherwise null. */
function deniedAs(cause: unknown): ManagementError | null {
  const provider = cause instanceof TokenctlError ? cause.details?.['provider'] : undefined;
  if (provider === undefined) return null;
  const named = typeof provider === 'string' ? ` (${provider})` : '';
  const refusal =
    'OAuth2 Tokens cannot be created by users associated with an external authentication provider';
  return new ManagementError('permission_refused', `(access_denied) ${refusal}${named}`, { cause });
}

/** The default file name, if the user name is a valid file name. */
function fileFor(user: string): string {
  const file = `${user}.token`;
  if (basename(file) === file && !/[\\\p{Cc}]/u.test(file)) return file;
  throw new TokenctlError('usage', 'This user name cannot be used as a file name', {
    hint: 'Add --output FILE',
  });
}

/**
 * Deletes expired tokens without confirmation, like `awx-manage cleanup_tokens`, and prints its two lines on
 * stderr, unless it prints the report with `json`.
 */
export async function managementCleanup({
  runtime,
  flags,
  json,
}: Management<{ readonly verbosity?: string | undefined }> & { json: boolean }): Promise<
  Report<CleanupJson>
> {
  const read = await runtime.readTarget();
  const { description } = read;
  const plan = await planCleanup({ ...read, keepRevokedFor: KEEP_REVOKED_FOR });
  if (plan.notSeen !== null)
    throw notAllVisible(`Not every selected token is visible: ${plan.notSeen}`, description);
  const print = (deleted: (kind: CleanupKind) => number) => {
    if (!json && flags.verbosity !== '0') for (const line of linesFor(deleted)) writeNotice(line);
  };
  const planned = cleanupChange(plan, description);
  if (plan.total === 0 && flags['dry-run'] !== true) print(() => 0);
  return await quietly(
    { runtime, flags },
    {
      ...planned,
      async act(begin) {
        const cleanup = await planned.act(begin, true);
        print((kind) => cleanup.byKind[kind].deleted);
        return cleanup;
      },
    },
  );
}

function linesFor(deleted: (kind: CleanupKind) => number): readonly string[] {
  const refresh = cleanupKinds.filter((kind) => kind.endsWith('RefreshTokens'));
  const refreshTokens = refresh.reduce((total, kind) => total + deleted(kind), 0);
  return [
    `Expired OAuth 2 Access Tokens deleted: ${deleted('expiredAccessTokens')}`,
    `Expired OAuth 2 Refresh Tokens deleted: ${refreshTokens}`,
  ];
}

/**
 * Ends the sessions of one user or of all users without confirmation and without output, like `awx-manage
 * expire_sessions`. Throws ManagementError for an unknown user.
 */
export async function managementExpiry({
  runtime,
  flags,
}: Management<{ readonly user?: string | undefined; readonly 'break-glass'?: boolean | undefined }>): Promise<
  Report<SessionExpiryJson>
> {
  const { user } = flags;
  const target = await runtime.target();
  const plan = await inManagementWords(
    planSessionExpiry({ target, ...(user !== undefined && { users: [user] }) }),
    { code: 'not_found', message: 'The user does not exist.' },
  );
  return await quietly({ runtime, flags }, await sessionExpiryChange(runtime, plan));
}

/** Replaces the message of errors of this code, which become ManagementErrors. */
export async function inManagementWords<Result>(
  done: Promise<Result>,
  { code, message }: { code: TokenctlErrorCode; message: string },
): Promise<Result> {
  try {
    return await done;
  } catch (cause) {
    if (!(cause instanceof TokenctlError) || cause.code !== code) throw cause;
    throw new ManagementError(code, message, { cause });
  }
}

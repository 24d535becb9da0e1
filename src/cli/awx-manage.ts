import { basename } from 'node:path';
import type { Runtime } from '../app/runtime.ts';
import { requireNewFile } from '../app/secret-file.ts';
import { TokenctlError, type TokenctlErrorCode } from '../domain/errors.ts';
import type { Outcome } from '../domain/plan.ts';
import { cleanupTokens } from '../operations/cleanup/cleanup-tokens.ts';
import { type CleanupKind, cleanupKinds, planCleanup } from '../operations/cleanup/plan-cleanup.ts';
import { planRevocation } from '../operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../operations/revocation/revoke-tokens.ts';
import { expireSessions, planSessionExpiry } from '../operations/sessions/expire-sessions.ts';
import { type Report, report } from '../reports/tables/result.ts';
import { printable } from '../reports/tables/text.ts';
import { tokenToJson } from '../reports/tables/token-view.ts';
import { cleanupPlanResult, cleanupResult, KEEP_REVOKED_FOR } from './cleanup.ts';
import { ManagementError } from './errors/failure.ts';
import type { AccountFlags } from './flags.ts';
import { writeNotice, writeTo } from './output/streams.ts';
import { revocationResult } from './revocation/revocation-flow.ts';
import { amountsOf, isNothing, planResult } from './revocation/revocation-plan.ts';
import { sessionExpiryResult, sessionPlanResult } from './sessions.ts';
import { createIntoFile } from './tokens/creation-flow.ts';

type TokenKind = 'access_token' | 'refresh_token';

/** What `revoke_oauth2_tokens` is asked for with. */
export interface ManagementRevocation {
  readonly runtime: Runtime;
  readonly flags: AccountFlags & {
    readonly user?: string | undefined;
    /** Refresh tokens as well; it does not mean all users. */
    readonly all?: boolean | undefined;
    readonly revoke_refresh?: boolean | undefined;
  };
  /** Whether the report is printed instead of a line for each token. */
  readonly json: boolean;
}

/**
 * Revokes as the controller's `revoke_oauth2_tokens` does, without asking: every access token, of one user or
 * of all; with `all` refresh tokens first. A line on stdout for each, as it happens.
 *
 * @throws ManagementError where there is no such user, `unsupported` where refresh tokens are meant and the
 * target cannot revoke them, and whatever the operations throw
 */
export async function managementRevocation(request: ManagementRevocation): Promise<Report> {
  const { runtime, flags, json } = request;
  const description = await runtime.description();
  const plan = await planFor(request);
  if (isNothing(amountsOf(plan))) return quietly(planResult(plan, description, false));
  const change = await runtime.change(flags);
  await tellOfOtherComponents(runtime);
  const lines = lineWriter();
  const onOutcome = (outcome: Outcome, kind: TokenKind) => {
    const line = lineOf(outcome, kind);
    if (line !== undefined) lines.line(line);
  };
  const report = await revokeTokens({ ...change, plan, ...(json ? {} : { onOutcome }) });
  await lines.end();
  return quietly(revocationResult(report));
}

/** The management command of a platform knows its own tokens only, and so does this. */
async function tellOfOtherComponents(runtime: Runtime): Promise<void> {
  if ((await runtime.components()).length < 2) return;
  writeNotice(
    'These are the tokens of the gateway. `tokenctl tokens revoke` revokes those of the controller behind it, too.',
  );
}

async function planFor({ runtime, flags }: ManagementRevocation) {
  const { capabilities } = await runtime.description();
  const withRefreshTokens = flags.all === true || flags.revoke_refresh === true;
  if (withRefreshTokens && !capabilities.refreshTokens) throw refreshTokensOutOfReach();
  return await inManagementWords(
    planRevocation({
      target: await runtime.target(),
      selector: flags.user === undefined ? { all: true } : { users: [flags.user] },
      clock: runtime.clock,
      includeOwn: true,
      accessOnly: !withRefreshTokens,
      capabilities,
    }),
    { code: 'not_found', message: 'A user with that username does not exist.' },
  );
}

function refreshTokensOutOfReach(): TokenctlError {
  return new TokenctlError('unsupported', 'Refresh tokens cannot be revoked over the REST API', {
    hint: "Use a context of the controller's database, or leave --all out: then they stay alive.",
  });
}

/**
 * As the management command prints it, with a fingerprint (over REST the id) where that prints the token.
 * Revoking a refresh token deletes the access token beside it, which gets no line of its own.
 */
function lineOf(outcome: Outcome, kind: TokenKind): string | undefined {
  if (outcome.result !== 'revoked') return undefined;
  if (outcome.refreshToken !== undefined) return `revoked RefreshToken ${outcome.refreshToken.fingerprint}`;
  const model = kind === 'access_token' ? 'OAuth2AccessToken' : 'RefreshToken';
  return `revoked ${model} ${outcome.fingerprint ?? outcome.tokenId}`;
}

/** All that people read was printed token by token. */
function quietly(report: Report): Report {
  return { ...report, text: () => '' };
}

/** Lines that are printed while work goes on. */
export interface LineWriter {
  /** Takes a line, without its line feed. */
  readonly line: (text: string) => void;
  /**
   * Writes what is left, and waits until all is written.
   *
   * @throws TokenctlError `partly_done` where something could not be written
   */
  readonly end: () => Promise<void>;
}

/** Characters gathered before they are written. */
const CHUNK = 16_384;

/**
 * Prints lines on stdout in larger pieces: a system call for each of a million lines would be most of the
 * work. A file, a pipe or a terminal takes each piece at once, so that none pile up.
 */
export function lineWriter(): LineWriter {
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
    line(text) {
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

/** What `cleanup_tokens` is asked for with. */
export interface ManagementCleanup {
  readonly runtime: Runtime;
  readonly flags: AccountFlags;
}

/**
 * Deletes tokens that are over as the controller's `cleanup_tokens` does, without asking, and prints its two
 * lines.
 *
 * @throws Whatever the operations throw
 */
export async function managementCleanup({ runtime, flags }: ManagementCleanup): Promise<Report> {
  const description = await runtime.description();
  const { capabilities } = description;
  const plan = await planCleanup({
    target: await runtime.target(),
    clock: runtime.clock,
    capabilities,
    keepRevokedFor: KEEP_REVOKED_FOR,
  });
  if (plan.total === 0) {
    return { ...cleanupPlanResult(plan, { description, dryRun: false }), text: () => linesFor(() => 0) };
  }
  const cleanup = await cleanupTokens({ ...(await runtime.change(flags)), plan });
  return { ...cleanupResult(cleanup), text: () => linesFor((kind) => cleanup.byKind[kind].deleted) };
}

function linesFor(deleted: (kind: CleanupKind) => number): string {
  const refresh = cleanupKinds.filter((kind) => kind !== 'expiredAccessTokens');
  const refreshTokens = refresh.reduce((total, kind) => total + deleted(kind), 0);
  return (
    `Expired OAuth 2 Access Tokens deleted: ${deleted('expiredAccessTokens')}\n` +
    `Expired OAuth 2 Refresh Tokens deleted: ${refreshTokens}\n`
  );
}

/** What `expire_sessions` is asked for with. */
export interface ManagementExpiry {
  readonly runtime: Runtime;
  readonly flags: AccountFlags & { readonly user?: string | undefined };
}

/**
 * Ends sessions as the controller's `expire_sessions` does, without asking and without a word: those of one
 * user, or of everybody.
 *
 * @throws ManagementError where there is no such user, and whatever the operations throw
 */
export async function managementExpiry({ runtime, flags }: ManagementExpiry): Promise<Report> {
  const description = await runtime.description();
  const { user } = flags;
  const plan = await inManagementWords(
    planSessionExpiry({ target: await runtime.target(), ...(user !== undefined && { users: [user] }) }),
    { code: 'not_found', message: 'The user does not exist.' },
  );
  const report =
    plan.sessions.count === 0
      ? sessionPlanResult(plan, { description, dryRun: false })
      : sessionExpiryResult(await expireSessions({ ...(await runtime.change(flags)), plan }));
  return { ...report, text: () => '' };
}

/**
 * Waits for what is done, and puts another message in the place of one kind of failure.
 *
 * @throws ManagementError where it fails with that code, and whatever else it fails with
 */
export async function inManagementWords<Result>(
  done: Promise<Result>,
  { code, message }: { readonly code: TokenctlErrorCode; readonly message: string },
): Promise<Result> {
  try {
    return await done;
  } catch (cause) {
    if (!(cause instanceof TokenctlError) || cause.code !== code) throw cause;
    throw new ManagementError(code, message, { cause });
  }
}

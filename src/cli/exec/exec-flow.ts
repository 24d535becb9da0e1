import { basename } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { credentialVariables, programEnvironment, programHost } from '../../app/exec/program-environment.ts';
import { findProgram, runProgram, SignalRelay, signalCode } from '../../app/exec/run-program.ts';
import type { Runtime } from '../../app/runtime.ts';
import { isOpen } from '../../domain/leases.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import type { Change } from '../../operations/journal/operation-run.ts';
import { reconcile } from '../../operations/journal/reconcile.ts';
import { dueLeases, readLeases, requireLease } from '../../operations/journal/recorded-leases.ts';
import { endDueLeases } from '../../operations/leases/end-due-leases.ts';
import { endLeases, leftLeases } from '../../operations/leases/end-leases.ts';
import {
  type LimitedToken,
  makeLimitedToken,
  requireWithinLifetime,
} from '../../operations/leases/make-limited-token.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { resolveNames } from '../../operations/scope/resolve-names.ts';
import { requireRights, unseenPart } from '../../operations/scope/visibility.ts';
import { lines, list, would } from '../../reports/document.ts';
import { secondsText, timeText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { placeText } from '../change/plan-text.ts';
import { endDueCommand, endingJobText } from '../leases/lease-text.ts';
import { writeNotice } from '../output/streams.ts';
import type { ExecFlags } from './exec-flags.ts';

/** What `exec --dry-run` prints with `--json`; without --dry-run, stdout is the program's. */
export interface ExecJson {
  readonly dryRun: boolean;
  readonly user: string;
  readonly address: string;
  readonly scope: string;
  /** The maximum lifetime of the token, in seconds. */
  readonly seconds: number;
  readonly program: string;
  /** Null in a dry run. */
  readonly exitCode: number | null;
}

export interface ExecRequest extends ChangeRequest<ExecFlags> {
  readonly command: readonly string[];
}

const DEFAULT_SECONDS = 3600;

export interface Ended {
  readonly code: number;
  /** The error if the token was not revoked. */
  readonly failure: TokenctlError | undefined;
}

/**
 * Plans to run a program with its own token. All checks run before a token is created.
 * @throws TokenctlError `usage` without a program, for an invalid variable and for a longer lifetime than the
 * controller's; `not_found` for the user; `unsupported`, `permission_refused` for an account that may not
 * create the token.
 */
export async function execFlow(request: ExecRequest): Promise<PlannedChange<Ended, ExecJson>> {
  const { runtime, flags, command } = request;
  const { scope = 'write' } = flags;
  const { name, found } = requireProgram(command, flags.env);
  const seconds = flags.for === undefined ? DEFAULT_SECONDS : Math.round(flags.for / 1000);
  const description = await runtime.description();
  const { address, identity } = description;
  if (found.path !== null) await requireMayMake(request, { description, seconds });
  const user = flags.user ?? identity.username;
  const program = found.path ?? name;
  return {
    plan: [
      lines(
        would`run ${program} with a token with scope ${scope} for ${user}, valid for at most ${secondsText(seconds)}.`,
        placeText(description),
        list(
          "Record the token's end time in the audit log, and create the token.",
          'Run the program.',
          'Revoke the token when the program ends, on a signal, or when its time is up, and verify this.',
        ),
      ),
    ],
    question: 'unneeded',
    refusal: () => (found.path === null ? new TokenctlError('not_found', found.why) : undefined),
    async act() {
      if (found.path !== null) return await withToken(request, { path: found.path, scope, seconds });
      writeNotice(found.why);
      return { code: found.code, failure: undefined };
    },
    ended: ({ failure }) => ({ document: [], failure }),
    json: ({ dryRun, done }) => ({
      ...{ dryRun, user, address, scope, seconds, program, exitCode: done?.code ?? null },
    }),
  };
}

/** Finds the program. Throws `usage` if none is given, and for an invalid variable name. */
export function requireProgram(command: readonly string[], names: readonly string[] = []) {
  const [name] = command;
  if (name === undefined || name === '') {
    throw new TokenctlError('usage', 'No program specified', {
      hint: 'Put it after --: tokenctl exec -- awx job_templates list',
    });
  }
  for (const variable of names) requireVariable(variable);
  return { name, found: findProgram(name, process.env) };
}

function requireVariable(name: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  throw new TokenctlError('usage', `--env: "${name}" is not a valid variable name`, {
    hint: 'Use letters, digits and underscores.',
  });
}

/** Refuses, before anything is created, what would be refused later or could not be ended. */
async function requireMayMake(
  { runtime, flags }: ExecRequest,
  { description, seconds }: { description: TargetDescription; seconds: number },
): Promise<void> {
  const { identity, dialect, credential, capabilities } = description;
  const { user } = flags;
  if (credential === 'database_role') {
    if (user === undefined) {
      throw new TokenctlError('usage', 'Creating a token in a database requires a user', {
        hint: 'Add --user NAME',
      });
    }
    requireRights(description, { what: 'A token for a program', purposes: ['create', 'revoke'] });
    await resolveNames(await runtime.target(), { users: [user] });
  } else requireRestCreates({ user }, { username: identity.username, dialect });
  if (!capabilities.changes) {
    throw new TokenctlError(
      'permission_refused',
      'The token of this context is read-only, so it cannot create tokens',
      { hint: 'Use a context with a password, or with a token with scope write.' },
    );
  }
  await requireWithinLifetime(await runtime.target(), seconds);
}

async function withToken(
  request: ExecRequest,
  { path, scope, seconds }: { path: string; scope: string; seconds: number },
): Promise<Ended> {
  const { runtime, flags, command } = request;
  using relay = new SignalRelay();
  const leftOut = credentialVariables(runtime.configuration);
  const change = await runtime.change({ ...flags, uninterrupted: true });
  await endOverdue(change);
  const description = `tokenctl exec ${basename(path)}`;
  const made = await makeLimitedToken({
    ...change,
    ...{ request: { scope, description, user: flags.user }, seconds, why: 'exec' },
  });
  const over = new AbortController();
  const ending = endInTime(request, { made, signal: over.signal });
  // Awaited after the program has ended.
  ending.catch(() => undefined);
  const ran = await Promise.allSettled([relay.received === null ? run() : signalCode(relay.received)]);
  over.abort();
  const failure = (await ending) ? undefined : await endNow(request, made);
  const [result] = ran;
  const code = result.status === 'fulfilled' ? result.value : 1;
  if (failure !== undefined && code !== 0)
    writeNotice(`Error: ${failure.message}. ${failure.hint ?? ''}`.trim());
  if (result.status === 'rejected') throw result.reason;
  return { code, failure: code === 0 ? failure : undefined };

  async function run(): Promise<number> {
    const host = programHost(runtime.configuration);
    await announce(request, { made, hasHost: host !== null });
    const environment = programEnvironment({
      ...{ environment: process.env, leftOut, host, token: made.value, names: flags.env ?? [] },
    });
    return await runProgram({ path, command, environment, relay, notify: writeNotice });
  }
}

/** Nothing is created without the log. */
const OF_THE_LOG: ReadonlySet<string> = new Set(['audit_unavailable', 'outcome_unrecorded', 'log_broken']);

/** Ends what earlier runs left, if this account sees it. A failure does not prevent running the program. */
async function endOverdue(change: Change): Promise<void> {
  const { log, description, clock } = change;
  await reconcile(change);
  const { here } = await dueLeases({ log, description, now: clock.now() });
  const seen = here.filter(({ owner }) => unseenPart(description, { users: [owner.username] }) === null);
  if (seen.length === 0) return;
  try {
    const left = leftLeases(await endDueLeases(change, seen), '');
    writeNotice(
      left === undefined
        ? `Revoked expired leases: ${seen.map(({ id }) => id).join(', ')}.`
        : `${left.message}.`,
    );
  } catch (error) {
    if (!(error instanceof TokenctlError) || OF_THE_LOG.has(error.code)) throw error;
    writeNotice(`Could not revoke expired leases: ${error.message}.`);
  }
}

async function announce(
  { runtime }: ExecRequest,
  { made, hasHost }: { made: LimitedToken; hasHost: boolean },
): Promise<void> {
  const { token, until } = made;
  const { context, credential } = await runtime.description();
  writeNotice(`Token ${token.id} is revoked when the program ends, or at ${timeText(until)} at the latest.`);
  const { text, ends } = await endingJobText(runtime, { context, until });
  if (!ends && credential !== 'database_role') writeNotice(`If tokenctl is killed: ${text}`);
  if (!hasHost)
    writeNotice(
      "The program does not get the controller's address because no single REST context refers to this database (databaseContext).",
    );
}

/** The longest delay of a timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Revokes the token at its end, which `tokens leases --extend` may move.
 * @returns Whether it did so before the signal.
 */
async function endInTime(
  request: ExecRequest,
  { made, signal }: { made: LimitedToken; signal: AbortSignal },
): Promise<boolean> {
  const { runtime } = request;
  const clock = await runtime.targetClock();
  let { until } = made;
  while (!signal.aborted) {
    const left = until.getTime() - clock.now().getTime();
    if (left > 0) {
      await wait(Math.min(left, MAX_TIMER_MS), signal);
      continue;
    }
    const lease = await leaseOf(runtime, made).catch(() => null);
    if (lease !== null && Date.parse(lease.until) > clock.now().getTime()) {
      until = new Date(lease.until);
      continue;
    }
    const failure = await endNow(request, made);
    if (failure === undefined) {
      writeNotice(`Revoked token ${made.token.id} because its time is up. The program continues without it.`);
      return true;
    }
    writeNotice(`Error: ${failure.message}. Revocation is tried again when the program ends.`);
    return false;
  }
  return false;
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function leaseOf(runtime: Runtime, { lease }: LimitedToken) {
  const leases = await readLeases(await runtime.auditLog(), await runtime.description());
  return requireLease(leases, lease ?? '');
}

/**
 * Revokes the token, over its own connections: earlier ones may have been lost.
 * @returns The error if it was not revoked, or if this is unknown; otherwise undefined.
 */
async function endNow({ runtime, flags }: ExecRequest, made: LimitedToken) {
  const { context } = await runtime.description();
  const fresh = runtime.in({ progress: runtime.progress });
  const hint = `Its lease ${made.lease} ends at ${timeText(made.until)}. To revoke it now: tokenctl tokens leases --end ${made.lease}`;
  try {
    const lease = await leaseOf(runtime, made);
    if (!isOpen(lease)) return undefined;
    const change = await fresh.change({ ...flags, uninterrupted: true });
    return leftLeases(await endLeases(change, [lease]), hint);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    return new TokenctlError('partly_done', `Token ${made.token.id} was not revoked: ${error.message}`, {
      hint: `${hint}, or when its time is up: ${endDueCommand(context)}`,
      cause: error,
    });
  } finally {
    await fresh.close();
  }
}

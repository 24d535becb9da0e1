import { setTimeout as sleep } from 'node:timers/promises';
import { someOf } from '@tokenctl/common/text.ts';
import {
  type AccessPath,
  closedPath,
  lastsUntil,
  openPath,
  uncheckedPath,
  untilText,
} from '../../domain/access.ts';
import { shellWord } from '../../domain/remedies.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Clock } from '../ports/clock.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { OpenTransaction } from '../ports/target-parts.ts';

/** What happened to the transactions that were open after an act. */
export interface SettledRequests {
  readonly found: number;
  readonly left: readonly OpenTransaction[];
  /** How long the wait took, in seconds, rounded. */
  readonly seconds: number;
  /** New access kept appearing: the last was revoked, but transactions started since were not waited for. */
  readonly isBusy?: true;
}

/** The polling interval, in milliseconds. */
const INTERVAL_MS = 50;

interface Waiting extends Pick<OperationRun, 'target' | 'shouldStop'> {
  /** Selects among the open transactions. Default: all. */
  readonly isMeant?: (transaction: OpenTransaction) => boolean;
  /** The maximum wait, in milliseconds. Default: as the target says. */
  readonly timeoutMs?: number;
}

/**
 * Waits until the transactions that are open now have ended, so that everything they wrote is listed. Stops
 * at the target's time limit or on an interruption. A controller runs each request in a transaction. Seen on
 * AWX 24.6.1: a request in flight while its user was deactivated committed a token afterwards, and that token
 * was accepted.
 * @returns Null if the target cannot list transactions.
 * @throws TokenctlError whatever the target throws.
 */
export async function settleRequests(waiting: Waiting): Promise<SettledRequests | null> {
  const { isMeant = () => true } = waiting;
  const { transactions } = waiting.target;
  if (transactions === undefined) return null;
  const open = (await transactions.open()).filter(isMeant);
  const started = performance.now();
  const until = started + (waiting.timeoutMs ?? transactions.timeoutMs);
  let left = open;
  while (left.length > 0 && !waiting.shouldStop && performance.now() < until) {
    await sleep(INTERVAL_MS);
    const now = new Set((await transactions.open()).map(({ key }) => key));
    left = left.filter(({ key }) => now.has(key));
  }
  return { found: open.length, left, seconds: Math.round((performance.now() - started) / 1000) };
}

/** A controller ends requests after 115 seconds by default (`harakiri` of its web server, in AWX 24.6.1). */
const REQUEST_LIMIT_S = 120;

/** The latest time (RFC 3339) at which a request from before an instant ends. */
export function requestsEnd(acted: Date): string {
  return lastsUntil(acted, REQUEST_LIMIT_S);
}

/**
 * Whether a request that the target accepted before an act can still create access after it. Decided by the
 * time the act ended and the state of the transactions: null if they cannot be listed.
 */
export function requestsPath(
  settled: SettledRequests | null,
  options: { target: Target; description: Pick<TargetDescription, 'context'>; acted: Date },
): readonly AccessPath[] {
  const { target, description, acted } = options;
  if (settled !== null) return [transactionsPath(settled)];
  return target.identifies === 'by_trying' ? [unlistedRequests(requestsEnd(acted), description)] : [];
}

function transactionsPath({ found, left, seconds, isBusy }: SettledRequests): AccessPath {
  if (left.length > 0) return stillOpen({ left, seconds });
  if (isBusy) return openPath('requests', 'New access appeared each time everything was listed again.');
  const how =
    found === 0
      ? 'Verified: no other transaction was open.'
      : `Verified: open transactions (${found}) have ended, and everything was listed after that.`;
  return closedPath('requests', how);
}

/** The number of transactions to name. */
const SHOWN = 3;

function stillOpen({ left, seconds }: Pick<SettledRequests, 'left' | 'seconds'>): AccessPath {
  const count = left.length;
  const shown = someOf(left.map(transactionText), SHOWN);
  const [is, they] = count === 1 ? ['transaction is', 'It'] : ['transactions are', 'They'];
  const how = `${count} ${is} still open after a wait of ${seconds} s: ${shown}. ${they} can still add tokens or sessions.`;
  const [first] = left.flatMap(({ pid }) => pid ?? []);
  const end = first === undefined ? '' : ` To end one: SELECT pg_terminate_backend(${first})`;
  const remedy = `Run the same command again when no such transaction is open.${end}`;
  return uncheckedPath('requests', how, { count, remedy });
}

function transactionText({ pid, program, seconds }: OpenTransaction): string {
  const parts = [program, ...(seconds === null ? [] : [`for ${Math.floor(seconds)} s`])].filter(
    (each) => each !== '',
  );
  const more = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  return pid === null ? `a prepared transaction${more}` : `process ${pid}${more}`;
}

/** An earlier request can create access until this time (RFC 3339). */
function unlistedRequests(until: string, { context }: Pick<TargetDescription, 'context'>): AccessPath {
  const how =
    'A request that the server received before can still create a token. A controller ends requests after two minutes by default.';
  const remedy = `Run the same command again after ${untilText(until)}, or \`tokenctl incident status --wait --context ${shellWord(context)}\` for a lockdown.`;
  return uncheckedPath('requests', how, { until, remedy });
}

/**
 * The same check some time after an act, before everything is listed again: closed if no request can be as
 * old as the act. If the act recorded an end time (RFC 3339), that is used.
 */
export async function requestsSince(
  act: { readonly ended: Date; readonly recorded: string | undefined },
  options: {
    target: Target;
    description: Pick<TargetDescription, 'context'>;
    clock: Clock;
    wait?: Wait | undefined;
  },
): Promise<readonly AccessPath[]> {
  const { target, description, clock, wait } = options;
  if (target.transactions !== undefined) {
    const seconds = (clock.now().getTime() - act.ended.getTime()) / 1000;
    const settled = await settleRequests({
      target,
      shouldStop: false,
      timeoutMs: wait === undefined ? LOOK_MS : REQUEST_LIMIT_S * 1000,
      // A transaction whose age is not visible is waited for briefly: most are younger.
      isMeant: (each) => each.seconds === null || each.seconds >= seconds,
    });
    return settled !== null && settled.left.length > 0
      ? [stillOpen(settled)]
      : [closedPath('requests', NONE_OLDER)];
  }
  if (target.identifies !== 'by_trying') return [];
  const until = act.recorded ?? requestsEnd(act.ended);
  await wait?.(new Date(until));
  return Date.parse(until) > clock.now().getTime()
    ? [unlistedRequests(until, description)]
    : [closedPath('requests', TIME_IS_OVER)];
}

/** Waits until this instant; returns immediately if it has passed. */
export type Wait = (until: Date) => Promise<void>;

/** How long to wait for a transaction if no wait was requested, in milliseconds. */
const LOOK_MS = 1000;

const NONE_OLDER = 'Verified: no transaction from before is open.';
const TIME_IS_OVER = 'Everything was listed after earlier requests had ended.';

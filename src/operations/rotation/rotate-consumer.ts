import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { fingerprintOf, type Lease, ROTATE } from '../../domain/leases.ts';
import { type Consumer, type RotationState, rotationState } from '../../domain/rotation.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import { type Change, OperationRun } from '../journal/operation-run.ts';
import { extendLease, isLeaseHere, type LeaseReader } from '../journal/recorded-leases.ts';
import { endLeases, isThere, leftLeases } from '../leases/end-leases.ts';
import { requireNotLockedDown } from '../leases/locked-down.ts';
import { type LimitedToken, makeLimitedToken } from '../leases/make-limited-token.ts';
import type { SecretStore } from '../ports/secret-store.ts';
import type { TargetDescription } from '../ports/target.ts';
import { confirmStored, deliver, undone } from './deliver-token.ts';

export interface Rotation {
  /**
   * `rotated`: its store holds a new token. `ended`: only earlier tokens were ended. `unchanged`: there was
   * nothing to do. `busy`: another process is working on it.
   */
  readonly result: 'rotated' | 'ended' | 'unchanged' | 'busy';
  /** The new token's id; null if there is none. */
  readonly token: number | null;
  readonly revoked: number;
}

/** How a consumer's token is rotated. */
export interface RotationOptions extends Change {
  readonly consumer: Consumer;
  readonly store: SecretStore;
  readonly leases: LeaseReader;
  /** Whether to rotate before it is due. */
  readonly early?: boolean;
}

/**
 * Gives a consumer a new token if it is due, and ends tokens whose overlap has passed. The new token is
 * created, tested, written to the store and read back before the old one's overlap begins, so that the store
 * holds a working token at any time. All state is derived from the audit log and the store: if the process is
 * killed at any point, running it again finishes the work. At most two tokens of the consumer are live at a
 * time.
 * @throws TokenctlError `store_changed` if someone else wrote to the store: the old token stays;
 * `partly_done` if a token remains that should be gone, or the new one does not work; and as the store, the
 * target and the audit log throw.
 */
export async function rotateConsumer(options: RotationOptions): Promise<Rotation> {
  const { consumer } = options;
  if (!isWork(await readState(options))) return { result: 'unchanged', token: null, revoked: 0 };
  const run = new OperationRun(options, ROTATE);
  using _run = run;
  await run.open({ consumer: consumer.name, selection: consumer.name });
  let result: Rotation = { result: 'busy', token: null, revoked: 0 };
  try {
    if (!(await isBusy(options, run.journal.run))) {
      // Earlier reads may be outdated: another process may have finished it. From here on, none starts.
      const now = await readState(options);
      if (!now.isMaking) result = await work(options, { run, now });
    }
  } catch (error) {
    await run.close({ consumer: consumer.name, result: 'failed', reason: messageOf(error) });
    throw error;
  }
  await run.close({ consumer: consumer.name, ...result });
  return result;
}

/**
 * Over REST, an account creates tokens for itself only; a database does not know for which user.
 * @throws TokenctlError `unsupported`, `configuration`
 */
export function requireMayCreate(
  { credential, identity, dialect }: TargetDescription,
  { name, user }: Consumer,
): void {
  if (credential !== 'database_role') requireRestCreates({ user }, { username: identity.username, dialect });
  else if (user === undefined)
    throw new TokenctlError(
      'configuration',
      `The consumer ${name} requires a user because its context is a database`,
    );
}

/** The maximum number of a consumer's live tokens: the one in its store, and its predecessor or successor. */
const MAX_LIVING = 2;

/** The stored value, and what to do. */
type Now = RotationState & { readonly stored: Secret | null };

async function readState(options: RotationOptions): Promise<Now> {
  const { consumer, store, leases, description, clock, signal, early = false } = options;
  requireMayCreate(description, consumer);
  const stored = await store.read(signal);
  const fingerprint = stored === null ? null : fingerprintOf(stored);
  // Leases of a copy, or of an earlier address, do not count, except for the stored token.
  const known = (await leases.read(description)).filter(
    (lease) =>
      isLeaseHere(lease, description) || (stored !== null && lease.token?.fingerprint === fingerprint),
  );
  const state = rotationState(consumer, { leases: known, stored: fingerprint, now: clock.now() });
  const { current, others, toEnd } = state;
  if (current === null || (await isThere(options, current)))
    return { stored, ...state, isDue: state.isDue || early };
  const gone = { current: null, others: [...others, current], toEnd: [...toEnd, current], toLimit: [] };
  return { stored, ...state, ...gone, isDue: true };
}

function foreign({ store, consumer }: RotationOptions): TokenctlError {
  return new TokenctlError(
    'store_changed',
    `${store.name} contains a value that does not belong to the consumer ${consumer.name}`,
    {
      hint: `Nothing was written. If it is a token, take it over with \`tokenctl tokens rotate --consumer ${consumer.name} --adopt ID\`. Otherwise, find out who writes it.`,
    },
  );
}

function isWork(now: Now): boolean {
  const { isDue, isForeign, toEnd, toLimit, isMaking } = now;
  return isDue || isForeign || isMaking || toEnd.length > 0 || toLimit.length > 0 || isUnconfirmed(now);
}

/** Whether the store holds a token whose delivery was interrupted before that was recorded. */
function isUnconfirmed({ current }: Now): boolean {
  return current?.isStored === false;
}

/** Whether an earlier run is working on the same consumer: of two, the first continues. */
async function isBusy({ leases, consumer, description }: RotationOptions, own: string): Promise<boolean> {
  const begun = (await leases.begun(ROTATE)).filter(
    ({ data, target }) => data['consumer'] === consumer.name && target['address'] === description.address,
  );
  return begun[0]?.run !== own;
}

async function work(
  options: RotationOptions,
  { run, now }: { run: OperationRun; now: Now },
): Promise<Rotation> {
  const { consumer } = options;
  if (now.current !== null && isUnconfirmed(now)) {
    await confirmStored(options, { run, lease: now.current });
  }
  const { revoked, left, notEnded } = await end(options, now.toEnd);
  // Tokens that cannot be ended yet count as live, but do not block a consumer without a token.
  if (left !== undefined && (now.current !== null || !now.isDue)) throw left;
  await limit(options, now.toLimit);
  if (now.isForeign) throw foreign(options);
  if (!now.isDue || options.signal?.aborted === true) {
    return { result: revoked > 0 || now.toLimit.length > 0 ? 'ended' : 'unchanged', token: null, revoked };
  }
  const living = now.others.filter((lease) => !now.toEnd.includes(lease) || notEnded.has(lease.id));
  if (living.length + (now.current === null ? 0 : 1) >= MAX_LIVING) {
    throw new TokenctlError(
      'partly_done',
      `${consumer.name} already has two live tokens: ${living.map(({ token, id }) => token?.id ?? id).join(', ')} until its overlap has passed`,
      { hint: 'Wait until then, or revoke it with `tokenctl tokens leases --end`.' },
    );
  }
  const made = await make(options);
  await deliver(options, { run, made, over: now.stored });
  if (now.current !== null) await limit(options, [now.current]);
  if (left !== undefined) {
    const message = `${options.store.name} has the new token ${made.token.id}, but ${left.message}`;
    throw new TokenctlError(left.code, message, left);
  }
  return { result: 'rotated', token: made.token.id, revoked };
}

/** Creates a token and checks that the controller accepts it. */
async function make(options: RotationOptions): Promise<LimitedToken> {
  await requireNotLockedDown(options, { owner: options.consumer.user, what: options.consumer.name });
  const { consumer, store: _store, leases: _leases, ...change } = options;
  const { user, scope, lifetime, name } = consumer;
  const isRole = change.description.credential === 'database_role';
  const made = await makeLimitedToken({
    ...change,
    why: 'rotation',
    consumer: name,
    seconds: lifetime,
    request: { scope, description: name, ...(isRole && { user }) },
  });
  // Its id cannot be determined while others of its owner are in use: only whether it is accepted.
  for await (const { live } of change.target.identify([made.value], { liveOnly: true })) {
    if (live) return made;
  }
  throw await undone(options, made, {
    code: 'partly_done',
    message: `The new token ${made.token.id} of ${name} is not accepted`,
  });
}

/** The result of ending leases. */
interface Ending {
  readonly revoked: number;
  /** The error that some remain, with their ids. */
  readonly left: TokenctlError | undefined;
  readonly notEnded: ReadonlySet<string>;
}

async function end(options: RotationOptions, leases: readonly Lease[]): Promise<Ending> {
  if (leases.length === 0) return { revoked: 0, left: undefined, notEnded: new Set() };
  const reason = `rotation of ${options.consumer.name}`;
  const ended = await endLeases({ ...options, reason, isMoved: true }, leases);
  return {
    revoked: ended.filter(({ how }) => how === 'revoked').length,
    left: leftLeases(ended, 'The next run tries again. To see them: `tokenctl tokens leases`.'),
    notEnded: new Set(ended.flatMap(({ how, lease }) => (how === null ? [lease] : []))),
  };
}

/** Starts the overlap of replaced tokens. */
async function limit(options: RotationOptions, leases: readonly Lease[]): Promise<void> {
  const until = options.clock.now().getTime() + options.consumer.overlap * 1000;
  for (const lease of leases) {
    const earlier = Math.min(until, Date.parse(lease.until));
    await extendLease(options, { ...lease, until: new Date(earlier).toISOString() });
  }
}

function messageOf(error: unknown): string {
  return error instanceof TokenctlError ? error.message : 'an unexpected error';
}

/** What {@link rotateConsumer} would do now, as phrases; empty for nothing. Reads only. */
export async function planOf(options: RotationOptions): Promise<readonly string[]> {
  const { consumer } = options;
  const { stored, toEnd, toLimit, isForeign, isDue } = await readState(options);
  if (isForeign) throw foreign(options);
  return [
    ...toEnd.map(
      ({ id, token }) => `revoke ${token === null ? id : `token ${token.id}`} of ${consumer.name}`,
    ),
    ...toLimit.map(({ token }) => `revoke token ${token?.id} of ${consumer.name} after the overlap`),
    ...(isDue ? [`give ${consumer.name} ${stored === null ? 'a first' : 'a new'} token`] : []),
  ];
}

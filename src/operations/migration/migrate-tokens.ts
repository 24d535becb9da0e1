import { createHash, randomBytes } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { fingerprintOf, isOpen, type Lease, MIGRATE } from '../../domain/leases.ts';
import type { StoppingToken } from '../../domain/migration.ts';
import { entryTarget } from '../journal/journal.ts';
import { type Change, endsRun, OperationRun, type RunEnd } from '../journal/operation-run.ts';
import type { LeaseReader } from '../journal/recorded-leases.ts';
import { type EndedLease, endLeases } from '../leases/end-leases.ts';
import type { SecretStore } from '../ports/secret-store.ts';
import type { TargetDescription } from '../ports/target.ts';
import { confirmStored, type Delivery, deliver, undone } from '../rotation/deliver-token.ts';
import { createToken, leaseEnd } from '../tokens/create-token.ts';
import type { OldToken } from './recorded-migrations.ts';

interface MigrationResult {
  /** The id of the controller's token. */
  readonly old: number;
  readonly owner: string;
  /** The id of the gateway's token; null if none was created. */
  readonly token: number | null;
  /** Where its value is stored. */
  readonly place: string;
  /** Why none was created, as a sentence without a full stop; null if one was. */
  readonly why: string | null;
}

export interface MigrationReport extends RunEnd {
  readonly results: readonly MigrationResult[];
  /** Results for tokens of earlier runs whose values were lost. */
  readonly leftovers: readonly EndedLease[];
}

/** The tokens to create on the gateway that the change is for. */
interface MigrationOptions extends Change {
  /** The planned tokens that need a new token. */
  readonly tokens: readonly StoppingToken[];
  readonly from: TargetDescription;
  readonly leases: LeaseReader;
  /** Opens the store of a token's value. */
  readonly openStore: (consumer: string) => Promise<SecretStore>;
  readonly onProgress?: (progress: {
    readonly done: number;
    readonly total: number;
    readonly failed: number;
  }) => void;
}

/**
 * The name to store a new token's value under: the controller (a gateway can have several) and the old id.
 */
function consumerOf({ id }: Pick<StoppingToken, 'id'>, { installUuid, address }: TargetDescription): string {
  const controller = installUuid ?? createHash('sha256').update(address).digest('hex');
  return `migrated-${controller.slice(0, 8)}-${id}`;
}

/**
 * When an undelivered new token ends, in seconds. One of a killed run is ended by the next run at any time,
 * or by the job `lease-end` after this time.
 */
const UNDELIVERED_S = 3600;

/**
 * Creates a gateway token for each of these controller tokens: identifies it there, writes it to its store
 * and reads it back. The old tokens stay unchanged. Until its value is delivered, a new token has a lease. A
 * failure for one token does not stop the others.
 * @throws TokenctlError `busy` while another process migrates tokens to this gateway, and as the audit log.
 */
export async function migrateTokens(options: MigrationOptions): Promise<MigrationReport> {
  const { tokens, from, onProgress = () => undefined, ...rest } = options;
  const { leases: _leases, openStore: _openStore, ...change } = rest;
  const run = new OperationRun(change, MIGRATE);
  using _run = run;
  const selection = `${tokens.length} of ${from.context}`;
  await run.open({ selection, from: entryTarget(from) });
  const results: MigrationResult[] = [];
  let leftovers: readonly EndedLease[] = [];
  try {
    await requireAlone(options, run);
    const left = (await options.leases.read(options.description)).filter(
      (lease) => lease.why === 'migration' && isOpen(lease),
    );
    const kept = new Set<Lease>();
    for (const token of tokens) {
      if (run.shouldStop) break;
      const own = left.filter(({ consumer }) => consumer === consumerOf(token, from));
      const { result, keeps } = await migrateOne(options, { token, own, run });
      for (const lease of keeps) kept.add(lease);
      results.push(result);
      const failed = results.filter(({ why }) => why !== null).length;
      onProgress({ done: results.length - failed, total: tokens.length, failed });
    }
    const lost = left.filter((lease) => !kept.has(lease));
    if (lost.length > 0 && !run.shouldStop)
      leftovers = await endLeases({ ...change, reason: 'its value was lost' }, lost);
  } catch (error) {
    const reason = error instanceof TokenctlError ? error.message : 'an unexpected error';
    await run.close({ selection, result: 'failed', reason });
    throw error;
  }
  const made = results.filter(({ token }) => token !== null).length;
  await run.close({ selection, made, failed: results.length - made, ended: leftovers.length });
  return { results, leftovers, ...run.ending(results.length === tokens.length) };
}

/** Two concurrent runs would create two tokens for one. */
async function requireAlone({ leases, description }: MigrationOptions, run: OperationRun): Promise<void> {
  const begun = (await leases.begun(MIGRATE)).filter(
    ({ target }) => target['address'] === description.address,
  );
  if (begun[0]?.run === run.journal.run) return;
  throw new TokenctlError('busy', `Another process is migrating tokens to ${description.address}`, {
    hint: 'Wait for it to finish, and run this command again.',
  });
}

/** One token, the open leases of earlier runs for it, and the run. */
interface Part {
  readonly token: StoppingToken;
  readonly own: readonly Lease[];
  readonly run: OperationRun;
}

/** The result for one token, and the leases of earlier runs whose tokens are stored, or may be. */
interface Migrated {
  readonly result: MigrationResult;
  readonly keeps: readonly Lease[];
}

async function migrateOne(options: MigrationOptions, part: Part): Promise<Migrated> {
  const { token: old, run } = part;
  const consumer = consumerOf(old, options.from);
  const common = { old: old.id, owner: old.account?.username ?? '', place: consumer };
  let keeps = part.own;
  const failed = (why: string) => ({ result: { ...common, token: null, why }, keeps });
  try {
    const store = await options.openStore(consumer);
    const stated: OldToken = {
      ...{ id: old.id, created: old.created.toISOString() },
      target: entryTarget(options.from),
    };
    const delivery: Delivery = { ...options, consumer: { name: consumer }, store, stated: { old: stated } };
    const over = await store.read(options.signal);
    const stored = over === null ? null : fingerprintOf(over);
    const confirmed = part.own.find((lease) => stored !== null && lease.token?.fingerprint === stored);
    const done = { ...common, place: store.name, why: null };
    keeps = [];
    if (confirmed?.token) {
      await confirmStored(delivery, { run, lease: confirmed });
      return { result: { ...done, token: confirmed.token.id }, keeps: [confirmed] };
    }
    if (over !== null && !(await isStale(options, { consumer, over })))
      return failed(`${store.name} contains a value that no migration of this token stored there`);
    run.acted = true;
    const made = await make(delivery, old);
    await deliver(delivery, { run, made, over });
    return { result: { ...done, token: made.token.id }, keeps };
  } catch (error) {
    if (!(error instanceof TokenctlError) || OF_THE_LOG.has(error.code)) throw error;
    if (endsRun(error)) run.stop(error);
    return failed(error.message);
  }
}

/** Nothing is done without the log. */
const OF_THE_LOG: ReadonlySet<string> = new Set(['audit_unavailable', 'outcome_unrecorded', 'log_broken']);

/** Whether a stored value is from an earlier migration of the token, and the gateway no longer accepts it. */
async function isStale(
  { leases, target, description }: MigrationOptions,
  { consumer, over }: { consumer: string; over: Parameters<SecretStore['write']>[0] },
): Promise<boolean> {
  const fingerprint = fingerprintOf(over);
  const all = await leases.read(description);
  if (!all.some((lease) => lease.consumer === consumer && lease.token?.fingerprint === fingerprint))
    return false;
  for await (const { live } of target.identify([over])) if (live) return false;
  return true;
}

/** Creates a token and checks that the gateway recognizes it. */
async function make(delivery: Delivery, old: StoppingToken) {
  const { consumer, store: _store, leases: _leases, stated: _stated, ...change } = delivery;
  const lease = {
    ...{ id: `lease-${randomBytes(6).toString('hex')}`, why: 'migration' as const },
    ...{ seconds: UNDELIVERED_S, consumer: consumer.name },
  };
  const { username } = old.account ?? { username: '' };
  const description = `${old.description} (${consumer.name})`.trim();
  const request = { scope: old.scope, description, user: username };
  const created = await createToken({ ...change, request, lease });
  const made = { ...created, until: leaseEnd(created.token, lease), lease: lease.id };
  // An account may have been renamed since the plan.
  const isOwner = created.token.user?.id === old.account?.id;
  for await (const { live, ids } of change.target.identify([made.value])) {
    if (isOwner && live && ids.includes(made.token.id)) return made;
  }
  throw await undone(delivery, made, {
    code: 'partly_done',
    message: `The new token ${made.token.id} is not accepted, or does not belong to this account`,
  });
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { SignalAction } from '@tokenctl/common/signals/signal-event.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { AccessPath } from '../../domain/access.ts';
import { pathNames } from '../../domain/access.ts';
import { amountsOf, isNothing } from '../../domain/plan.ts';
import type { User } from '../../domain/token.ts';
import { unreadSessions } from '../access/cached-sessions.ts';
import { lockDown } from '../incident/lock-down.ts';
import {
  noteOffboarding,
  offboardUsers,
  planAccess,
  planUserOffboarding,
} from '../incident/offboard-user.ts';
import { planLockdown } from '../incident/plan-lockdown.ts';
import type { SnapshotFiles } from '../incident/snapshot.ts';
import { revocationJobReport } from '../jobs/job.ts';
import { Journal } from '../journal/journal.ts';
import type { Change } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import { revokeTokens } from '../revocation/revoke-tokens.ts';
import { requireFullView } from '../scope/visibility.ts';
import { expireSessions, planSessionExpiry } from '../sessions/expire-sessions.ts';

/** The result of an action for a user in one place. */
export interface Carried {
  /** `unable`: the target does not support it. */
  readonly result: 'done' | 'nothing' | 'unable';
  /** What was done and what is left, in one sentence. */
  readonly text: string;
  /** The run in the audit log; null if there was none. */
  readonly run: string | null;
}

/**
 * Runs the action of a signal for a user, using the operation of the same name: with its plan, its audit log
 * records and its verification. Access that has already ended stays unchanged, and is recorded.
 * @param files Where a lockdown stores its snapshot.
 * @throws TokenctlError `partly_done` if something is left that a retry can end, `interrupted`, and whatever
 * the operation throws.
 */
export async function carryOut(
  change: Change & { readonly files: SnapshotFiles },
  { action, user }: { action: Exclude<SignalAction, 'nothing'>; user: User },
): Promise<Carried> {
  // A killed run may have left an intent without an outcome.
  await reconcile(change);
  // Another receiver may have disabled the other superuser in the meantime.
  const sparing = { ...change, spareLastSuperuser: true };
  switch (action) {
    case 'end-sessions':
      return await endSessions(change, user);
    case 'revoke':
      return await revoke(change, user);
    case 'lockdown':
      return await lockdown(sparing, user);
    case 'offboard':
      return await offboard(sparing, user);
  }
}

async function endSessions(change: Change, { username }: User): Promise<Carried> {
  if (change.target.sessions === undefined)
    return { result: 'unable', text: 'this context lists no sessions, so none was ended', run: null };
  const plan = await planSessionExpiry({ target: change.target, users: [username] });
  const unread = unreadSessions(change.description);
  if (plan.sessions.count === 0) {
    if (unread !== undefined) throw unread;
    return await nothing(change, username);
  }
  const report = await expireSessions({ ...change, plan });
  const { ended, planned, stillAlive, unseen, run } = report;
  if (report.interrupted)
    throw new TokenctlError('interrupted', 'Interrupted before all sessions were ended');
  if (report.stopped !== null || stillAlive !== 0) {
    throw new TokenctlError(
      'partly_done',
      `Ended ${numberText(ended)} of ${numberText(planned)} sessions of ${username}`,
      { hint: report.stopped?.hint },
    );
  }
  const rest = unseen === null ? '' : "; not checked: sessions in a gateway's cache";
  return {
    result: 'done',
    text: `ended ${numberText(ended)} of ${numberText(planned)} sessions${rest}`,
    run,
  };
}

async function revoke(change: Change, { id, username }: User): Promise<Carried> {
  requireFullView(change.description, 'A revocation by a signal');
  const selector = { users: [username], userIds: [id] };
  const plan = await planAccess({ ...change, users: [username], userIds: [id] });
  if (isNothing(amountsOf(plan))) return await nothing(change, username);
  const report = await revokeTokens({ ...change, plan, selector });
  const { message, interrupted } = revocationJobReport(report, {});
  if (interrupted === true) throw new TokenctlError('interrupted', message);
  return { result: 'done', text: lowered(withRest(message, plan.accessPaths)), run: report.run };
}

async function lockdown(change: Change & { readonly files: SnapshotFiles }, user: User): Promise<Carried> {
  const { target, description, log, clock } = change;
  const measures = {
    basicAuthentication: false,
    externalTokens: false,
    deactivate: description.capabilities.deactivateUsers,
    keepActive: [],
    lifetimes: false,
  };
  const scope = { kind: 'users' as const, names: [user.username] };
  const plan = await planLockdown({ target, description, log, clock, scope, measures, lasts: null });
  const report = await lockDown({ ...change, plan });
  if (report.interrupted)
    throw new TokenctlError('interrupted', `Interrupted during the lockdown ${report.incident}`);
  if (report.stopped !== null || report.steps.some(({ result }) => result === 'failed')) {
    throw new TokenctlError('partly_done', `The lockdown ${report.incident} is only partly in place`, {
      hint: report.stopped?.hint ?? 'Check it with `tokenctl incident status`.',
    });
  }
  const text = `locked down as ${report.incident}`;
  return { result: 'done', text: withRest(text, report.accessPaths), run: report.run };
}

async function offboard(change: Change, { username }: User): Promise<Carried> {
  const { target, description, clock } = change;
  const plan = await planUserOffboarding({ target, description, clock, users: [username] });
  if (plan.deactivate.length === 0 && isNothing(amountsOf(plan.revocation))) {
    await noteOffboarding({ ...change, users: plan.users, bound: plan.bound });
    const active = plan.staysActive ? ', but stays active because this context cannot deactivate users' : '';
    return { result: 'nothing', text: `has no access left that this context can end${active}`, run: null };
  }
  const report = await offboardUsers({ ...change, plan });
  if (report.interrupted) throw new TokenctlError('interrupted', 'Interrupted during the offboarding');
  if (report.stopped !== null || report.steps.some(({ result }) => result === 'failed')) {
    throw new TokenctlError('partly_done', `The offboarding of ${username} is only partly done`, {
      hint: report.stopped?.hint ?? `\`tokenctl log show ${report.run}\` shows what failed and why.`,
    });
  }
  const active = report.staysActive
    ? 'offboarded, but still active because this context cannot deactivate users'
    : 'offboarded';
  return { result: 'done', text: withRest(active, report.accessPaths), run: report.run };
}

async function nothing(change: Change, username: string): Promise<Carried> {
  const journal = new Journal({ ...change, operation: 'signals.nothing' });
  await journal.note({ step: 'operation', users: [username] });
  return { result: 'nothing', text: 'has nothing left to end', run: null };
}

function withRest(text: string, paths: readonly AccessPath[]): string {
  const left = pathNames(paths.filter(({ state }) => state !== 'closed'));
  return left === '' ? text : `${text}; not ended or not checked: ${left}`;
}

function lowered(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

import type { TargetDescription } from '../../operations/ports/target.ts';
import type { SessionExpiryPlan, SessionExpiryReport } from '../../operations/sessions/expire-sessions.ts';
import { countText, numberText } from '../../reports/counts.ts';
import { printable } from '../../reports/printable.ts';
import { type Report, report } from '../../reports/result.ts';
import { unfinishedWork } from '../errors/unfinished-work.ts';
import { tallyLines } from '../revocation/plan-text.ts';

/** A plan to end sessions for people. */
export function sessionPlanText(
  { selection, sessions, byUser }: SessionExpiryPlan,
  { address, context, identity }: TargetDescription,
): string {
  const lines = [
    sessions.count === 0
      ? `Nothing to end: the selection is ${printable.value(selection)}.`
      : `Would end ${countText(sessions.count, 'session')}: ${printable.value(selection)}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    ...tallyLines('user', byUser, 'session'),
  ];
  return `${lines.join('\n')}\n`;
}

/** The same as a command's result: of `--dry-run`, and where there is nothing to do. */
export function sessionPlanResult(
  plan: SessionExpiryPlan,
  { description, dryRun }: { readonly description: TargetDescription; readonly dryRun: boolean },
): Report {
  return report({
    json: { dryRun, plan },
    text: () => sessionPlanText(plan, description) + (dryRun ? '\nDry run: nothing was changed.\n' : ''),
  });
}

/** Ended sessions as a command's result: in JSON as `SessionExpiryReport` has it. */
export function sessionExpiryResult(expiry: SessionExpiryReport): Report {
  const { planned, stillAlive, interrupted, stopped, verified } = expiry;
  return report({
    json: expiry,
    text: () => expiryText(expiry),
    failure: unfinishedWork({
      interrupted,
      stopped,
      open: !verified,
      left: leftText(planned, stillAlive),
    }),
  });
}

function leftText(planned: number, stillAlive: number | null): string {
  const sessions = countText(planned, 'session');
  return stillAlive === null
    ? `Of ${sessions}, some may still be alive`
    : `Of ${sessions}, ${numberText(stillAlive)} ${stillAlive === 1 ? 'is' : 'are'} still alive`;
}

function expiryText(expiry: SessionExpiryReport): string {
  const { planned, ended, seconds, run } = expiry;
  const lines = [
    `Ended ${numberText(ended)} of ${countText(planned, 'session')}, in ${seconds.toFixed(1)} s.`,
    verificationText(expiry),
    `In the audit log as run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}

function verificationText({ verified, stillAlive, begunSince }: SessionExpiryReport): string {
  if (stillAlive === null) return 'Not verified: the target could not be read again.';
  if (!verified) return `Read again, ${countText(stillAlive, 'session is', 'sessions are')} still there.`;
  const since = begunSince ? ` Begun since: ${countText(begunSince, 'session')}.` : '';
  return `Verified: read again, and none of them is there.${since}`;
}

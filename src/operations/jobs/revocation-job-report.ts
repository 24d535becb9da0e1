import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationReport } from '../revocation/revocation-report.ts';
import type { JobReport } from './job.ts';

/**
 * What a revocation came to, as a job reports it.
 *
 * @param counted What the plan said, for the ledger.
 * @throws TokenctlError `partly_done` where something that was planned lives on for another reason than
 * that the run was told to end.
 */
export function revocationJobReport(
  report: RevocationReport,
  counted: Readonly<Record<string, unknown>>,
): JobReport {
  const { planned, revoked, unchanged, failed, notTried, stillAlive, refreshTokens, sessions, run } = report;
  const summary = {
    ...counted,
    planned,
    revoked,
    unchanged,
    failed: failed.length,
    notTried,
    stillAlive: stillAlive.length,
    ...(refreshTokens !== null && { refreshTokens: refreshTokens.revoked }),
    ...(sessions !== null && { sessions: sessions.ended }),
    auditRun: run,
  };
  const message = `Revoked ${revoked} of ${planned} tokens`;
  if (report.interrupted)
    return { message: `${message} before it was told to end`, summary, revoked, interrupted: true };
  const alive =
    failed.length +
    notTried +
    stillAlive.length +
    (refreshTokens?.failed.length ?? 0) +
    (sessions?.stillAlive ?? 0);
  if (alive === 0 && report.stopped === null) return { message, summary, revoked };
  throw new TokenctlError(
    'partly_done',
    `${message}${report.stopped === null ? '' : `: ${report.stopped.message}`}`,
    {
      hint: report.stopped?.hint ?? `\`tokenctl log list --run ${run}\` shows what failed, and why.`,
      details: summary,
    },
  );
}

import { makeCheckpoint } from '../src/operations/audit-log/checkpoints.ts';
import type { Job, LogJobContext } from '../src/operations/jobs/job.ts';

/** The parameters of checkpoints. */
export interface LogCheckpointParameters {
  /** The file for the newest checkpoint, ideally on another machine. Null stores none. */
  readonly keepIn: string | null;
  /** Whether to send it as a notice, so that an attacker who rewrites the log cannot replace it. */
  readonly notify: boolean;
}

/** Signs the size and head of the audit log, and stores the checkpoint elsewhere. */
export const logCheckpoint: Job<LogJobContext, LogCheckpointParameters> = {
  name: 'log-checkpoint',
  schedule: '5 * * * *',
  async run({ log, keys, files, dryRun }, { keepIn, notify }) {
    const previous = keepIn === null ? null : await files.read(keepIn);
    const { note, origin, size, root } = await makeCheckpoint({
      log,
      keys,
      ...(previous !== null && { previous }),
    });
    if (keepIn !== null && !dryRun) await files.replace(keepIn, note);
    const message = `Signed the audit log with ${size} entries`;
    return {
      message,
      summary: { origin, size, root },
      ...(notify && { notices: [{ subject: message, text: note, severity: 'info' as const }] }),
    };
  },
};

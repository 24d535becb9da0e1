import { makeCheckpoint } from '../src/operations/audit-log/checkpoints.ts';
import type { Job, LogJobContext } from '../src/operations/jobs/job.ts';

/** What is done with a checkpoint. */
export interface LogCheckpointParameters {
  /** The file that has the newest one: best on another machine's disk. Null keeps none. */
  readonly keepIn: string | null;
  /** Whether it is sent to where notices go: what is there is out of reach of whoever rewrites the log. */
  readonly notify: boolean;
}

/** Signs the size and the head of the audit log, and keeps that elsewhere. */
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

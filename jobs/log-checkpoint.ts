import { z } from 'zod';
import { file } from '../src/config/value-schemas.ts';
import { defineJob } from '../src/operations/jobs/job.ts';

/** Signs the size and head of the audit log, and stores the checkpoint elsewhere. */
export const logCheckpoint = defineJob({
  name: 'log-checkpoint',
  on: 'log',
  schedule: '5 * * * *',
  dryRun: false,
  parameters: () =>
    z
      .strictObject({
        /** The file with the signing key. Default: the one that `log init` wrote. */
        key: file.optional(),
        /** The file for the newest checkpoint, ideally on another machine. */
        keepIn: file.optional(),
        /** Whether to send it as a notice, so that an attacker who rewrites the log cannot replace it. */
        notify: z.boolean().default(false),
      })
      .refine(({ keepIn, notify }) => notify || keepIn !== undefined, 'must name `keepIn` or `notify`'),
  async run({ log, services, files, dryRun }, { key, keepIn, notify }) {
    const { makeCheckpoint } = await import('../src/operations/audit-log/checkpoints.ts');
    const previous = keepIn === undefined ? null : await files.read(keepIn);
    const { note, origin, size, root } = await makeCheckpoint({
      log,
      keys: await services.logKeys(key),
      previous: previous ?? undefined,
    });
    if (keepIn !== undefined && !dryRun) await files.replace(keepIn, note);
    const message = `Signed the audit log with ${size} entries`;
    return {
      message,
      summary: { origin, size, root },
      ...(notify && { notices: [{ subject: message, text: note, severity: 'info' as const }] }),
    };
  },
});

import { z } from 'zod';
import type { Lease } from '../src/domain/leases.ts';
import { defineJob, type JobReport, type TargetJobContext } from '../src/operations/jobs/job.ts';

/** Ends tokens whose lease is due, as `tokens leases --due` does. */
export const leaseEnd = defineJob({
  name: 'lease-end',
  on: 'target',
  schedule: '* * * * *',
  dryRun: true,
  parameters: () => z.strictObject({}).prefault({}),
  async run(context) {
    if (context.dryRun) return await endDue(context);
    const { writeRowEnds } = await import('../src/operations/leases/row-ends.ts');
    try {
      return await endDue(context);
    } finally {
      // Left by a killed sunset or its undo.
      await writeRowEnds(context);
    }
  },
});

async function endDue(context: TargetJobContext): Promise<JobReport> {
  const { reconcile } = await import('../src/operations/journal/reconcile.ts');
  const { dueLeases } = await import('../src/operations/journal/recorded-leases.ts');
  // A token whose creation was interrupted has a lease that is due at once.
  if (!context.dryRun) await reconcile(context);
  const { here, elsewhere } = await dueLeases({ ...context, now: context.clock.now() });
  const due = here.map(({ id }) => id);
  const summary = { due, ...(elsewhere.length > 0 && { elsewhere: elsewhere.map(placeOf) }) };
  if (due.length === 0) return { message: `No lease is due${otherText(elsewhere)}`, summary };
  if (context.dryRun) return { message: `Would end ${due.join(', ')}`, summary };
  const { leftLeases } = await import('../src/operations/leases/end-leases.ts');
  const { endDueLeases } = await import('../src/operations/leases/end-due-leases.ts');
  const ended = await endDueLeases({ ...context, reason: 'its lease is due' }, here);
  const over = ended.filter(({ how }) => how !== null);
  const counted = { ...summary, ended: over.map(({ lease }) => lease) };
  if (context.signal.aborted && over.length < due.length)
    return {
      message: `Ended ${counted.ended.join(', ') || 'no lease'}`,
      summary: counted,
      interrupted: true,
    };
  const left = leftLeases(ended, 'The next run tries again. To see them: `tokenctl tokens leases`.');
  if (left !== undefined) throw left;
  const revoked = ended.filter(({ how }) => how === 'revoked').length;
  return { message: `Ended ${counted.ended.join(', ')}`, summary: counted, revoked };
}

function placeOf({ id, target }: Lease) {
  return { id, context: target['context'] ?? '' };
}

/** Another context may have its own job; the run says what it leaves. */
function otherText(elsewhere: readonly Lease[]): string {
  if (elsewhere.length === 0) return '';
  const named = elsewhere.map(placeOf).map(({ id, context }) => `${id} (${context})`);
  return ` in this context. Past the end in other contexts: ${named.join(', ')}`;
}

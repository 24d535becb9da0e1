import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { sentenceOf } from '../src/domain/access.ts';
import type { LiftReport } from '../src/operations/incident/lift.ts';
import type { DueIncident } from '../src/operations/incident/plan-lift.ts';
import { defineJob, type JobNotice } from '../src/operations/jobs/job.ts';

/** Lifts incidents whose end time has passed, as `incident lift --due` does. */
export const incidentLift = defineJob({
  name: 'incident-lift',
  on: 'target',
  schedule: '* * * * *',
  dryRun: true,
  parameters: () => z.strictObject({}).prefault({}),
  async run(context) {
    const { liftIncident } = await import('../src/operations/incident/lift.ts');
    const { dueIncidents } = await import('../src/operations/incident/plan-lift.ts');
    const { here, elsewhere } = await dueIncidents(context);
    const due = here.map(({ id }) => id);
    if (due.length === 0 && elsewhere.length > 0) return elsewhereReport(elsewhere);
    if (due.length === 0) return { message: 'No incident is due', summary: { due } };
    if (context.dryRun) return { message: `Would lift ${due.join(', ')}`, summary: { due } };
    const reports: LiftReport[] = [];
    for (const incident of due) {
      if (context.signal.aborted) break;
      reports.push(await liftIncident({ ...context, incident, reason: 'its end time has passed' }));
    }
    return reportOf(due, reports);
  },
});

/** Another context may have its own job; the run says what it leaves. */
function elsewhereReport(elsewhere: readonly DueIncident[]) {
  const named = elsewhere.map(({ id, context }) => `${id} (${context})`).join(', ');
  return {
    message: `No incident is due in this context. Past the end time in other contexts: ${named}`,
    summary: { due: [], elsewhere: elsewhere.map(({ id, context }) => ({ id, context })) },
  };
}

function reportOf(due: readonly string[], reports: readonly LiftReport[]) {
  const whole = reports.filter(({ result }) => result !== 'partly').map(({ incident }) => incident);
  const rest = due.filter((incident) => !whole.includes(incident));
  const summary = { due, lifted: whole, auditRuns: reports.map(({ run }) => run) };
  const message = `Lifted ${whole.join(', ') || 'nothing'}`;
  if (reports.length < due.length || reports.some(({ interrupted }) => interrupted)) {
    return { message, summary, interrupted: true };
  }
  if (rest.length === 0) return { message, summary, notices: reports.map(noticeOf) };
  const problems = reports.flatMap(({ steps }) =>
    steps.filter(({ result }) => result !== 'done' && result !== 'unchanged'),
  );
  const waiting = reports.filter(({ left }) => left.some(({ action }) => action === 'waits'));
  if (problems.length === 0 && waiting.length === rest.length) {
    const why = waiting.flatMap(({ accessPaths }) => accessPaths.map(sentenceOf))[0] ?? '';
    const users = waiting.flatMap(({ left }) =>
      left.flatMap(({ action, name }) => (action === 'waits' ? name : [])),
    );
    return { message: `${message}. Still deactivated: ${users.join(', ')}. Sessions: ${why}`, summary };
  }
  const [first] = problems;
  throw new TokenctlError(
    'partly_done',
    `${message}, but ${rest.join(', ')} only partly: ${first?.message}`,
    {
      hint: 'The next run continues. Run `tokenctl incident status` to see what is still locked.',
      details: summary,
    },
  );
}

/** What was lifted, and what others changed and was therefore left. */
function noticeOf({ incident, steps, left }: LiftReport): JobNotice {
  const changed = left.filter(({ action }) => action === 'changed');
  const text = [
    ...steps.map(({ message }) => message),
    ...changed.map(({ name }) => `${name} was not restored because it changed after the lockdown.`),
    'Revoked tokens stay revoked.',
  ];
  const severity = changed.length > 0 ? 'warning' : 'info';
  return { subject: `${incident} was lifted: its end time has passed`, text: text.join('\n'), severity };
}

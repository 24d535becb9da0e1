import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { requireAccount } from '../../cli/base-command.ts';
import { runbooks } from '../../cli/incident/incident-flags.ts';
import { runbookResult, runbookSteps, stepFlow } from '../../cli/incident/runbook.ts';
import { recordedCase } from '../../cli/incident/runbook-case.ts';
import {
  filledText,
  NO_CASE,
  type RunbookCase,
  runbookDocument,
} from '../../cli/incident/runbook-document.ts';
import { timelineFlow } from '../../cli/incident/timeline-flow.ts';
import { stepsDone } from '../../operations/incident/runbook-steps.ts';
import { placeQuery } from '../command-line.ts';
import type { Controller, Controllers } from '../controllers.ts';
import { endedOf } from '../operations.ts';
import type { Places } from '../places.ts';
import { shownDocument } from '../shown-document.ts';
import { type CaseController, controllerOfCase } from './case-controller.ts';
import { CaseFiles } from './case-files.ts';

const stepQuery = placeQuery.extend({
  incident: z.string().min(1).max(100),
  runbook: z.enum(runbooks).optional(),
});
const stepRequest = z.strictObject({
  place: z.string().max(300),
  incident: z.string().min(1).max(100),
  runbook: z.enum(runbooks),
  step: z.number().int().positive(),
  undo: z.boolean().optional(),
  reason: z.string().max(1000).optional(),
  ticket: z.string().max(1000).optional(),
});

/** The steps of a runbook, and which are done. */
export type Steps = Awaited<ReturnType<typeof stepsOf>>;

async function stepsOf(
  runtime: Runtime,
  {
    place,
    incident,
    runbook,
    root,
    controller,
  }: z.infer<typeof stepQuery> & { root: string; controller: Controller },
) {
  const log = await runtime.auditLog();
  const description = await controllerOfCase(runtime, { place, incident });
  const done = await stepsDone({ log, description, incident });
  const name = runbook ?? done.findLast((each) => runbooks.some((known) => known === each.runbook))?.runbook;
  const known = await caseOf(runtime, incident, { ...controller, description });
  const found = name === undefined ? [] : await runbookSteps(root, name);
  const steps = found.map(({ step, title, text }) => ({
    step,
    title: filledText(title, known),
    document: shownDocument(runbookDocument(text, known)),
  }));
  return { runbooks, runbook: name ?? null, steps, done };
}

/** The values for an incident's runbook. */
async function caseOf(
  runtime: Runtime,
  id: string,
  { places, description }: Controller & { description: CaseController },
): Promise<RunbookCase> {
  const recorded = await recordedCase(runtime, id, description);
  const contextBy = (via: 'rest' | 'database') => places.find((each) => each.via === via)?.place ?? null;
  const files = new CaseFiles(runtime.environment, recorded.incident ?? id);
  const first = files.investigations()[0];
  return {
    ...recorded,
    rest: contextBy('rest'),
    database: contextBy('database'),
    since: first === undefined ? recorded.since : files.investigation(first.name).since,
  };
}

/** Serves incidents, the timelines of their users, and runbooks. */
export function serveIncidents(
  app: FastifyInstance,
  { places, root, controllers }: { places: Places; root: string; controllers: Controllers },
): void {
  app.get('/api/timeline', async ({ query }) => {
    const { place, user, since } = placeQuery
      .extend({ user: z.string().min(1).max(300), since: z.coerce.date() })
      .parse(query);
    return await places.work(place, async (runtime) => {
      const flags = { user, since: { at: since }, format: 'markdown' } as const;
      return await endedOf(await timelineFlow({ runtime, context: place, several: false, flags }));
    });
  });
  app.get('/api/incidents/steps', async ({ query }) => {
    const given = stepQuery.parse(query);
    const { place } = given;
    const controller = await controllers.of(place);
    return await places.work(place, (runtime) => stepsOf(runtime, { ...given, root, controller }));
  });
  app.post('/api/incidents/steps', async ({ body }) => {
    const { place, incident, ...flags } = stepRequest.parse(body);
    await places.anywhere(async ({ configuration }) => requireAccount(configuration.auditLog, flags));
    return await places.work(
      place,
      async (runtime) => await endedOf(await stepFlow({ runtime, incident, flags, root })),
      { changes: true },
    );
  });
  app.get('/api/runbooks', async ({ query }) => {
    const { name } = z.object({ name: z.enum(runbooks).optional() }).parse(query);
    const ended = await endedOf(await runbookResult(root, name));
    // Without a case, the commands have placeholders.
    return name === undefined
      ? ended
      : { ...ended, document: shownDocument(runbookDocument(ended.text, NO_CASE)) };
  });
}

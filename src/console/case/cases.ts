import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { requireAccount } from '../../cli/base-command.ts';
import { incidentReportFlow } from '../../cli/incident/report-flow.ts';
import { markFlow } from '../../cli/investigation/mark-flow.ts';
import { pathName } from '../../domain/access.ts';
import { controllerTime } from '../../domain/clock-difference.ts';
import { gatherRecord, type IncidentRecord } from '../../operations/incident/gather-report.ts';
import { leftItems } from '../../operations/incident/left-items.ts';
import { markKinds } from '../../operations/journal/marked-items.ts';
import type { RunAccount } from '../../operations/journal/run-account.ts';
import { runSentence } from '../../reports/log-report.ts';
import { noScreen } from '../../reports/tables/text.ts';
import { account, incidentId, placeQuery } from '../command-line.ts';
import type { Controllers } from '../controllers.ts';
import { endedOf } from '../operations.ts';
import type { Places } from '../places.ts';
import { type CaseOf, controllerOfCase } from './case-controller.ts';
import { CaseFiles } from './case-files.ts';
import { CaseStatuses, type LastCheck } from './case-status.ts';
import { caseUsers } from './case-users.ts';
import { finishingOf } from './finish-lockdown.ts';
import { investigateRequest, investigating, type Underway } from './investigations.ts';
import { LockdownSnapshots } from './lockdown-snapshot.ts';
import { openItemsOf } from './open-items.ts';
import { MAX_ITEMS, shownInvestigation, summaryOf, type Ways, waysOf } from './shown-investigation.ts';

const caseQuery = placeQuery.extend({ incident: incidentId });
const formats = {
  html: ['text/html', 'html'],
  json: ['application/json', 'json'],
  markdown: ['text/markdown', 'md'],
  svg: ['image/svg+xml', 'svg'],
} as const;
type Format = keyof typeof formats;
const caseInvestigation = investigateRequest.extend({
  incident: incidentId,
  token: z.number().int().positive().optional(),
});
const markRequest = z.strictObject({
  incident: incidentId,
  items: z.array(z.string().min(1).max(300)).min(1).max(MAX_ITEMS),
  as: z.enum(markKinds).optional(),
  /** Who decides about reassigned items. */
  to: z.string().max(200).optional(),
  undo: z.boolean().optional(),
  ...account,
});

interface Parts {
  readonly places: Places;
  readonly controllers: Controllers;
  readonly version: string;
}

/** Serves cases: an incident with its investigations, cleanings and report. */
export function serveCases(app: FastifyInstance, { places, controllers, version }: Parts): void {
  const statuses = new CaseStatuses();
  const snapshots = new LockdownSnapshots();
  const underway = investigating(places);
  app.get('/api/case', async ({ query }) => {
    const { place, incident } = caseQuery.parse(query);
    const controller = await controllers.of(place);
    return await places.work(place, async (runtime) => ({
      underway: underway.of(incident),
      ...(await caseOf(runtime, { id: incident, place, statuses, ways: waysOf(controller, place) })),
    }));
  });
  app.get('/api/case/snapshot', async ({ query }) => {
    const of = caseQuery.parse(query);
    return await places.work(of.place, (runtime) => snapshots.of(runtime, of));
  });
  app.get('/api/case/investigation', async ({ query }) => {
    const { place, incident, name } = caseQuery.extend({ name: z.string().max(100) }).parse(query);
    const ways = waysOf(await controllers.of(place), place);
    return await places.work(place, (runtime) =>
      shownInvestigation(runtime, { place, incident, name, ways }),
    );
  });
  // Allowed with --read-only: it reads the controller, and writes to the console's folder.
  app.post('/api/case/investigation', { config: { readsOnly: true } }, async ({ body }) => {
    const { place, incident, since, user, token } = caseInvestigation.parse(body);
    return await underway.begin(incident, {
      ...{ busy: `An investigation of ${incident} is in progress`, place },
      files: new CaseFiles(places.environment, incident),
      flags: { user, token, incident, since: { at: since } },
    });
  });
  app.post('/api/case/marks', async ({ body }) => {
    const { place, incident, items, as, ...flags } = markRequest.parse(body);
    await places.anywhere(async ({ configuration }) => requireAccount(configuration.auditLog, flags));
    return await places.work(
      place,
      async (runtime) =>
        await endedOf(
          await markFlow({
            ...{ runtime, incident },
            flags: {
              ...{ ...flags, item: items },
              ...{ 'by-hand': as === 'by_hand', 'handed-over': as === 'handed_over' },
            },
          }),
        ),
      { changes: true },
    );
  });
  app.get('/api/case/report', async ({ query }, reply) => {
    const { place, incident, format } = caseQuery
      .extend({ format: z.enum(Object.keys(formats) as Format[]) })
      .parse(query);
    const text = await places.work(place, (runtime) =>
      reportOf(runtime, { place, incident, format, version, statuses }),
    );
    const [type, extension] = formats[format];
    new CaseFiles(places.environment, incident).keepReport(text, { extension, now: new Date() });
    return reply
      .type(`${type}; charset=utf-8`)
      .header('Content-Disposition', `attachment; filename="${incident}.${extension}"`)
      .send(text);
  });
}

async function reportOf(
  runtime: Runtime,
  given: CaseOf & { readonly format: Format; readonly version: string; readonly statuses: CaseStatuses },
): Promise<string> {
  const { incident, format, version, statuses } = given;
  const files = new CaseFiles(runtime.environment, incident);
  const { incident: status, at, unread } = await statuses.read(runtime, given);
  const users = await caseUsers(runtime, { incident: status, isRead: unread === null });
  const made = await incidentReportFlow({
    ...{ runtime, incident, version, controller: await controllerOfCase(runtime, given) },
    usersNow: users === null || unread !== null ? undefined : { at, users },
    flags: {
      from: files.investigations().map(({ path }) => path),
      format: format === 'json' ? 'markdown' : format,
    },
  });
  return format === 'json' ? `${JSON.stringify(made.json, null, 2)}\n` : await made.text(noScreen);
}

export type CaseRead = Awaited<ReturnType<typeof caseOf>> & { readonly underway: Underway };

async function caseOf(
  runtime: Runtime,
  { id, place, statuses, ways }: { id: string; place: string; statuses: CaseStatuses; ways: Ways },
) {
  const status = await statuses.read(runtime, { incident: id, place });
  const { incident, at, controller: description, stream, unread } = status;
  const files = new CaseFiles(runtime.environment, id);
  const log = await runtime.auditLog();
  const { aheadMs } = description;
  const ended = endingsOf(runtime, aheadMs);
  const record = await gatherRecord({ log, description, incident: id, investigations: [] });
  const lastRun = Math.max(...record.runs.map(ended));
  const cleanings = record.runs.filter(({ operation }) => operation.startsWith('incident.clean'));
  const lastCleaning = Math.max(...cleanings.map(ended));
  const investigations = files.investigations().map(({ name, path, began }) => ({
    ...summaryOf(files.investigation(name), { ...record, name, path, ways }),
    /** Whether a cleaning or its undo ended after it began: its findings may be gone since. */
    isOutdated: lastCleaning > began.getTime(),
  }));
  const lastFile = files.investigations().at(-1);
  const report = files.lastReport();
  const lastInvestigation = lastFile?.began.getTime() ?? 0;
  return {
    ...{ incident, at },
    /** Why the incident is not compared with the controller now, and when it last was; null if it is. */
    stream,
    unread: unread && { ...unread, last: unread.last ?? checkOf(record) },
    /** The current state of a closed case's users. */
    users: await caseUsers(runtime, { incident, isRead: unread === null }),
    /** What was known about the theft at the lockdown. */
    theft: files.theft(),
    /** Its last lockdown that ended, from the audit log. */
    lockdown: record.lockdown && {
      ...record.lockdown,
      accessPaths: record.lockdown.accessPaths.map((each) => ({ ...each, name: pathName(each.path) })),
    },
    /** The request that finishes an incomplete lockdown; null if nothing is known to be left. */
    finish: unread === null ? finishingOf(incident) : null,
    runs: record.runs.map((run) => ({
      run: run.run,
      operation: run.operation,
      state: run.state,
      at: controllerTime({ at: run.ended, target: run.target }).toISOString(),
      sentence: runSentence(run, { whole: true }),
    })),
    investigations,
    /** The findings of the last investigation that are not known to have ended. */
    open: lastFile === undefined ? [] : openItemsOf(files.investigation(lastFile.name), record),
    report: report && {
      path: report.path,
      /** By the controller's clock, like all times of a case. */
      at: new Date(report.at.getTime() + aheadMs),
      isOutdated: Math.max(lastRun, lastInvestigation) > report.at.getTime(),
    },
    left: await leftItems({ log, description, incident: id }),
  };
}

/** The checks that the last ended lockdown made itself. */
function checkOf({ lockdown }: IncidentRecord): LastCheck | null {
  if (lockdown === null) return null;
  const { at, result, accessPaths } = lockdown;
  const isWhole = result === 'locked' && accessPaths.every(({ state }) => state === 'closed');
  return { at, holds: isWhole ? true : null };
}

/**
 * When a run ended, by this machine's clock, to compare with the files of a case. Times from another machine
 * are converted through the controller's clock.
 */
function endingsOf({ operator }: Runtime, aheadMs: number): (run: RunAccount) => number {
  return ({ actor, ended, target }) =>
    actor['host'] === operator.host
      ? Date.parse(ended)
      : controllerTime({ at: ended, target }).getTime() - aheadMs;
}

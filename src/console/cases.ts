import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { requireAccount } from '../cli/base-command.ts';
import { incidentReportFlow } from '../cli/incident/report-flow.ts';
import { investigateFlow } from '../cli/investigation/investigate-flow.ts';
import { markFlow } from '../cli/investigation/mark-flow.ts';
import { controllerTime } from '../domain/clock-difference.ts';
import { TokenctlError } from '../domain/errors.ts';
import {
  type Investigation,
  type InvestigationItem,
  remains,
} from '../domain/investigation/investigation.ts';
import { gatherRecord } from '../operations/incident/gather-report.ts';
import { type HonestItem, honestItems } from '../operations/incident/honest-items.ts';
import { leftItems } from '../operations/incident/left-items.ts';
import { takesNaming } from '../operations/investigation/plan-cleaning.ts';
import type { RunAccount } from '../operations/journal/run-account.ts';
import { runSentence } from '../reports/log-report.ts';
import { noScreen } from '../reports/tables/text.ts';
import { CaseFiles } from './case-files.ts';
import { incidentId } from './cleaning.ts';
import { account, placeQuery } from './command-line.ts';
import type { Controllers } from './controllers.ts';
import { incidentsOf } from './incidents.ts';
import { endedOf, type Problem, problemOf } from './operations.ts';
import { inTurns, type Places } from './places.ts';

const AT_ONCE = 2;
/** The items of an investigation that the page gets; the file has all. */
const MAX_ITEMS = 2_000;
/** The changes of an item, and the entries without an actor, that the page gets. */
const MAX_CHANGES = 20;

const caseQuery = placeQuery.extend({ incident: incidentId });
const formats = {
  html: 'text/html',
  json: 'application/json',
  markdown: 'text/markdown',
  svg: 'image/svg+xml',
};
const extensions = { html: 'html', json: 'json', markdown: 'md', svg: 'svg' } as const;
const investigateRequest = z.strictObject({
  place: z.string().max(300),
  incident: incidentId,
  user: z.string().min(1).max(300).optional(),
  token: z.number().int().positive().optional(),
  /** When the theft began. */
  since: z.coerce.date(),
});
const markRequest = z.strictObject({
  incident: incidentId,
  items: z.array(z.string().min(1).max(300)).min(1).max(MAX_ITEMS),
  undo: z.boolean().optional(),
  ...account,
});

/** What the routes of cases work with. */
interface Parts {
  readonly places: Places;
  readonly controllers: Controllers;
  readonly version: string;
}

/** An investigation under way, or one that failed. */
interface Underway {
  readonly began: string;
  readonly problem: Problem | null;
}

/** Serves cases: an incident with its investigations, cleanings and report. */
export function serveCases(app: FastifyInstance, { places, controllers, version }: Parts): void {
  const inTurn = inTurns(AT_ONCE);
  /** By incident: closing the page does not end an investigation. */
  const underway = new Map<string, Underway>();
  app.get('/api/case', async ({ query }) => {
    const { place, incident } = caseQuery.parse(query);
    const controller = await controllers.of(place);
    return await places.work(place, async (runtime) => ({
      controller,
      underway: underway.get(incident) ?? null,
      ...(await caseOf(runtime, incident)),
    }));
  });
  app.get('/api/case/investigation', async ({ query }) => {
    const { place, incident, name } = caseQuery.extend({ name: z.string().max(100) }).parse(query);
    return await places.work(place, (runtime) => shownInvestigation(runtime, incident, name));
  });
  // With --read-only too: it asks the controller, and writes to the folder of the console.
  app.post('/api/case/investigation', { config: { readsOnly: true } }, async ({ body }) => {
    const { place, incident, since, user, token } = investigateRequest.parse(body);
    if (underway.get(incident)?.problem === null) {
      throw new TokenctlError('busy', `An investigation of ${incident} is under way`);
    }
    const began = new Date().toISOString();
    underway.set(incident, { began, problem: null });
    try {
      await inTurn(() =>
        places.work(place, async (runtime) => {
          const out = new CaseFiles(places.environment, incident).newInvestigation(new Date());
          const flags = { user, token, incident, since: since && { at: since }, out };
          await investigateFlow({ runtime, flags });
        }),
      );
      underway.delete(incident);
      return {};
    } catch (error) {
      underway.set(incident, { began, problem: problemOf(error) });
      throw error;
    }
  });
  app.post('/api/case/marks', async ({ body }) => {
    const { place, incident, items, ...flags } = markRequest.parse(body);
    await places.anywhere(async ({ configuration }) => requireAccount(configuration.auditLog, flags));
    return await places.work(
      place,
      async (runtime) =>
        await endedOf(await markFlow({ runtime, incident, flags: { ...flags, item: items } })),
      { changes: true },
    );
  });
  app.get('/api/case/report', async ({ query }, reply) => {
    const { place, incident, format } = caseQuery
      .extend({ format: z.enum(['html', 'json', 'markdown', 'svg']) })
      .parse(query);
    const text = await places.work(place, (runtime) => reportOf(runtime, { incident, format, version }));
    new CaseFiles(places.environment, incident).keepReport(text, {
      extension: extensions[format],
      now: new Date(),
    });
    return reply
      .type(`${formats[format]}; charset=utf-8`)
      .header('Content-Disposition', `attachment; filename="${incident}.${extensions[format]}"`)
      .send(text);
  });
}

async function reportOf(
  runtime: Runtime,
  given: {
    readonly incident: string;
    readonly format: 'html' | 'json' | 'markdown' | 'svg';
    readonly version: string;
  },
): Promise<string> {
  const { incident, format, version } = given;
  const files = new CaseFiles(runtime.environment, incident);
  const made = await incidentReportFlow({
    ...{ runtime, incident, version },
    flags: {
      from: files.investigations().map(({ path }) => path),
      format: format === 'json' ? 'markdown' : format,
    },
  });
  return format === 'json' ? `${JSON.stringify(made.json, null, 2)}\n` : await made.text(noScreen);
}

/** A case as the page shows it. */
export type CaseRead = Awaited<ReturnType<typeof caseOf>> & {
  /** All contexts of the console for this controller. */
  readonly controller: Awaited<ReturnType<Controllers['of']>>;
  readonly underway: Underway | null;
};

async function caseOf(runtime: Runtime, id: string) {
  const { incidents, at, address } = await incidentsOf(runtime);
  const incident = incidents.find((each) => each.id === id);
  if (incident === undefined) {
    throw new TokenctlError('not_found', `No incident ${id} at ${address}`, {
      hint: 'Its audit log has none of this id for this controller.',
    });
  }
  const files = new CaseFiles(runtime.environment, id);
  const [log, description] = [await runtime.auditLog(), await runtime.description()];
  const aheadMs = description.clock?.aheadMs ?? 0;
  const ended = endingsOf(runtime, aheadMs);
  const record = await gatherRecord({ log, description, incident: id, investigations: [] });
  const marks = await honestItems({ log, description, incident: id });
  const lastRun = Math.max(...record.runs.map(ended));
  const cleanings = record.runs.filter(({ operation }) => operation.startsWith('incident.clean'));
  const lastCleaning = Math.max(...cleanings.map(ended));
  const investigations = files.investigations().map(({ name, path, began }) => ({
    ...summaryOf(files.investigation(name), { name, path, marks }),
    /** Whether a cleaning, or the undoing of one, ended after it began: what it found may be gone since. */
    isOutdated: lastCleaning > began.getTime(),
  }));
  const report = files.lastReport();
  const lastInvestigation = files.investigations().at(-1)?.began.getTime() ?? 0;
  return {
    ...{ incident, at, address },
    lockdown: record.lockdown,
    runs: record.runs.map((run) => ({
      run: run.run,
      operation: run.operation,
      state: run.state,
      at: controllerTime({ at: run.ended, target: run.target }).toISOString(),
      sentence: runSentence(run),
    })),
    cleaned: record.cleaned,
    marks: [...marks.values()],
    investigations,
    report: report && {
      path: report.path,
      /** By the clock of the controller, as all times of a case. */
      at: new Date(report.at.getTime() + aheadMs),
      isOutdated: Math.max(lastRun, lastInvestigation) > report.at.getTime(),
    },
    left: await leftItems({ log, description, incident: id }),
  };
}

/**
 * When a run ended, by the clock of this machine, to compare with the files of a case: what another machine wrote is converted by way
 * of the controller's clock.
 */
function endingsOf({ operator }: Runtime, aheadMs: number): (run: RunAccount) => number {
  return ({ actor, ended, target }) =>
    actor['host'] === operator.host
      ? Date.parse(ended)
      : controllerTime({ at: ended, target }).getTime() - aheadMs;
}

function summaryOf(
  { madeAt, since, until, subject, items, target, stream }: Investigation,
  {
    marks,
    ...file
  }: { readonly name: string; readonly path: string; readonly marks: ReadonlyMap<string, HonestItem> },
) {
  const left = items.filter(remains);
  return {
    ...{ ...file, madeAt, since, until, subject },
    context: target.context,
    entries: stream.read,
    items: items.length,
    /** What remained when it was made, without honest work. */
    remaining: left.filter(({ id }) => !marks.has(id)).length,
    honest: left.filter(({ id }) => marks.has(id)).length,
  };
}

/** An investigation as the page shows it. */
export type ShownInvestigation = Awaited<ReturnType<typeof shownInvestigation>>;

async function shownInvestigation(runtime: Runtime, incident: string, name: string) {
  const files = new CaseFiles(runtime.environment, incident);
  const investigation = files.investigation(name);
  const [log, description] = [await runtime.auditLog(), await runtime.description()];
  const marks = await honestItems({ log, description, incident });
  const { items, unattributed, unattributedCount = unattributed.length, ...rest } = investigation;
  // What remains first: of very many, the page gets no others.
  const ordered = items.toSorted((one, other) => Number(remains(other)) - Number(remains(one)));
  return {
    ...rest,
    total: items.length,
    unattributedCount,
    items: ordered
      .slice(0, MAX_ITEMS)
      .map((item) => shownItem(item, investigation, marks.get(item.id) ?? null)),
  };
}

function shownItem(item: InvestigationItem, of: Investigation, mark: HonestItem | null) {
  const { id, group, act, object, summary, by, first, last, entryCount, state, stateReason, risk, remedy } =
    item;
  return {
    ...{ id, group, act, summary, first, last, entryCount, state, stateReason, risk, remedy, mark },
    kind: object.kind,
    by: by.map(({ username }) => username),
    remains: remains(item),
    /** Perhaps the work of somebody else: it is cleaned only where it is picked. */
    takesNaming: takesNaming(item, of),
    findings: item.findings.map(({ rule, severity, message }) => ({ rule, severity, message })),
    changes: item.changes.slice(0, MAX_CHANGES).map(({ field, before, after, hidden, state: now }) => ({
      ...{ field, hidden, state: now },
      ...(!hidden && { before: valueText(before), after: valueText(after) }),
    })),
    changedSince: item.changedSince.slice(0, MAX_CHANGES).map(({ at, by: actor, operation, fields }) => ({
      ...{ at, operation, fields },
      by: actor?.username ?? null,
    })),
    job:
      item.job === null
        ? null
        : { status: item.job.status, hosts: item.job.hosts, credentials: item.job.credentials },
  };
}

/** The characters of a value that the page gets. */
const MAX_VALUE = 300;

function valueText(value: unknown): string | null {
  if (value === undefined) return null;
  const text = JSON.stringify(value) ?? '';
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}

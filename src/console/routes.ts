import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { requireAccount } from '../cli/base-command.ts';
import { firstStep } from '../cli/change/change.ts';
import { lockdownForm } from '../cli/incident/incident-flags.ts';
import { revokeForm } from '../cli/revocation/revocation-flags.ts';
import { traceFlow } from '../cli/token-audit/trace-flow.ts';
import { serveAudits } from './audit-routes.ts';
import type { Audits } from './audits.ts';
import { serveCases } from './case/cases.ts';
import { serveIncidents } from './case/incidents.ts';
import { serveInvestigations } from './case/investigations.ts';
import { choicesOf, placeQuery } from './command-line.ts';
import { type Preparation, prepare, requestSchema } from './commands.ts';
import { type Controllers, serveControllers } from './controllers.ts';
import { serveJobs } from './jobs.ts';
import { serveLog } from './log-records.ts';
import { serveNames } from './names.ts';
import { endedOf, type Operations } from './operations.ts';
import { type Fleet, serveFleet } from './overview.ts';
import type { Places } from './places.ts';
import { serveSavedPlans } from './saved-plans.ts';
import { filterOf, filterSchema, pageSchema } from './tokens/token-filter.ts';
import { type TokenTable, waitingReading } from './tokens/token-table.ts';
import { serveValues } from './tokens/token-values.ts';

export interface ConsoleParts {
  readonly places: Places;
  readonly readOnly: boolean;
  readonly version: string;
  /** The root directory of the package, which has the runbooks. */
  readonly root: string;
  readonly tokens: TokenTable;
  readonly audits: Audits;
  readonly controllers: Controllers;
  readonly fleet: Fleet;
  readonly operations: Operations;
}

/** The HTTP interface of the page. Every route reads, or begins an operation of `operations`. */
export function serveConsole(app: FastifyInstance, parts: ConsoleParts): void {
  app.get('/api/console', () => parts.places.anywhere((runtime) => factsOf(runtime, parts)));
  app.get('/api/alive', () => ({}));
  serveFleet(app, parts);
  serveNames(app, parts);
  serveValues(app, parts.places);
  serveTokens(app, parts);
  serveChanges(app, parts);
  serveIncidents(app, parts);
  serveCases(app, parts);
  serveInvestigations(app, parts);
  serveControllers(app, parts.controllers);
  serveSavedPlans(app, parts);
  serveAudits(app, parts);
  serveLog(app, parts.places);
  serveJobs(app, parts);
}

export type Facts = Awaited<ReturnType<typeof factsOf>>;

async function factsOf(
  { configuration, operator }: Runtime,
  { places, readOnly, version, root }: ConsoleParts,
) {
  const { auditLog } = configuration;
  return {
    version,
    /** The folder of the documentation. */
    docs: join(root, 'docs'),
    readOnly,
    operator,
    places: await places.names(),
    /** Contexts that have not yet said whether they are a platform: their components may be named later. */
    unnamed: places.unnamed(),
    startedWith: places.startedWith,
    requireReason: auditLog.requireReason === true,
    requireTicket: auditLog.requireTicket === true,
    forms: { 'tokens revoke': choicesOf(revokeForm), 'incident lockdown': choicesOf(lockdownForm) },
  };
}

function serveTokens(app: FastifyInstance, parts: ConsoleParts): void {
  const { places, tokens, controllers } = parts;
  app.get('/api/tokens', async ({ query }) => {
    const filter = filterSchema.parse(query);
    const known = await places.names();
    // Each controller once, in the context that sees the most.
    const best = (await controllers.all()).flatMap(({ places: [first] }) => first ?? []);
    const answered = best.filter(({ waits }) => waits === null).map(({ place }) => place);
    const wanted = filter.place ?? answered;
    const unknown = wanted.find((place) => !known.includes(place));
    if (unknown !== undefined)
      throw new TokenctlError('not_found', `This console has no context "${unknown}"`);
    const page = await tokens.page(filterOf(filter, wanted), pageSchema.parse(query));
    if (filter.place !== undefined) return page;
    // Contexts that have not answered yet: their tokens are missing.
    const waiting = best.flatMap(({ place, waits }) => (waits === null ? [] : waitingReading(place)));
    return { ...page, readings: [...page.readings, ...waiting] };
  });
  app.get('/api/trace', async ({ query }) => {
    const { place, id } = placeQuery.extend({ id: z.coerce.number().int().positive() }).parse(query);
    return await places.work(place, async (runtime) => await endedOf(await traceFlow(runtime, id)));
  });
  app.post('/api/tokens/read-again', { config: { readsOnly: true } }, async ({ body }) => {
    const { place } = z.strictObject({ place: z.string().max(300).optional() }).parse(body);
    if (place === undefined) controllers.forget();
    forget(parts, place === undefined ? undefined : [place]);
    return {};
  });
}

/** Reads the data of these contexts, or of all, again on the next request. */
function forget({ tokens, audits, fleet }: ConsoleParts, places: readonly string[] | undefined): void {
  for (const place of places ?? [undefined]) {
    tokens.forget(place);
    audits.forget(place);
    fleet.forget(place);
  }
}

const LOOKED_AT = 'This is the plan. Nothing has been changed yet.';

/** The minimum time between two events of an operation. */
const TELL_EVERY_MS = 250;
/** A comment keeps the connection from being considered dead. */
const HEARTBEAT_MS = 15_000;

function serveChanges(app: FastifyInstance, parts: ConsoleParts): void {
  const { places, tokens, operations, controllers } = parts;
  const preparation: Preparation = { findIds: (filter) => tokens.ids(filter), places, dryRun: false };
  app.post('/api/plans', { config: { readsOnly: true } }, async ({ body }) => {
    const request = requestSchema.parse(body);
    const { command, flags, plan } = await prepare(request, { ...preparation, dryRun: true });
    return await places.work(request.place, async (runtime) => {
      const notify = () => undefined;
      const planned = await plan({ runtime, notify, notifyPart: notify });
      const step = await firstStep({ runtime, flags, afterPlan: LOOKED_AT }, planned);
      if ('asked' in step) throw new TokenctlError('not_confirmed', 'Only planned. Nothing was changed');
      return { command, ...(await endedOf(step.report)) };
    });
  });
  app.post('/api/operations', async ({ body }, reply) => {
    const request = requestSchema.parse(body);
    const { place } = request;
    await places.anywhere(async ({ configuration }) => requireAccount(configuration.auditLog, request));
    const begun = operations.begin({ kind: request.kind, place, ...(await prepare(request, preparation)) });
    const stop = operations.watch(begun.id, () => {
      const { ended, state } = operations.get(begun.id);
      if (ended === null) return;
      stop();
      if (state === 'canceled') return;
      // The data of other contexts of the same controller is outdated as well.
      forget(parts, [place]);
      void controllers.of(place).then((changed) =>
        forget(
          parts,
          changed.places.map((each) => each.place),
        ),
      );
    });
    return reply.code(201).send(begun);
  });
  app.get('/api/operations', () => ({ operations: operations.all() }));
  app.get<{ Params: { id: string } }>('/api/operations/:id', ({ params }) => operations.get(params.id));
  app.post<{ Params: { id: string } }>('/api/operations/:id/confirm', ({ params, body }) =>
    operations.confirm(
      params.id,
      z.strictObject({ digest: z.string().max(100), answer: z.string().max(400) }).parse(body),
    ),
  );
  app.post<{ Params: { id: string } }>('/api/operations/:id/cancel', ({ params }) =>
    operations.cancel(params.id),
  );
  app.get<{ Params: { id: string } }>('/api/operations/:id/events', ({ params, raw }, reply) => {
    const { id } = params;
    operations.get(id);
    reply.hijack();
    const { raw: response } = reply;
    response.writeHead(200, { ...reply.getHeaders(), 'Content-Type': 'text/event-stream' } as Record<
      string,
      string
    >);
    let timer: NodeJS.Timeout | undefined;
    const tell = () => {
      timer = undefined;
      const state = operations.all().find((each) => each.id === id);
      // It ended, and was dropped before this event: the page reads that it is gone.
      if (state === undefined) return end();
      response.write(`data: ${JSON.stringify(state)}\n\n`);
      if (state.ended !== null) end();
    };
    const stop = operations.watch(id, () => {
      timer ??= setTimeout(tell, TELL_EVERY_MS);
    });
    const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS);
    const end = () => {
      stop();
      clearInterval(heartbeat);
      clearTimeout(timer);
      response.end();
    };
    raw.on('close', end);
    tell();
  });
}

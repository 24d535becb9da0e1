import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { checkpointFlow, proofFlow } from '../cli/audit-log/checkpoint-flow.ts';
import { unprovedText } from '../cli/audit-log/maintenance-flow.ts';
import { listLog, listRuns } from '../operations/audit-log/list-log.ts';
import { type VerifiedLog, verifyLog } from '../operations/audit-log/verify-log.ts';
import type { RunAccount } from '../operations/journal/run-account.ts';
import { plainText } from '../reports/document.ts';
import { runFacts, runSentence } from '../reports/log-report.ts';
import { type Problem, problemOf } from './operations.ts';
import type { Places } from './places.ts';

const MAX_RUNS = 500;
/** The maximum number of newest runs that a filter searches: a log can have a million entries. */
const MAX_SEARCHED = 2_000;

/** A verification of the whole audit log, and when it was made. */
interface Verification {
  /** RFC 3339: when it began. */
  readonly at: string;
  /** The verified log; null if it is broken. */
  readonly verified: VerifiedLog | null;
  /** What that does not show, as `log verify` says it; null if the log is broken. */
  readonly unproved: string | null;
  readonly problem: Problem | null;
}

/** The last verification of the log by this console. Only one runs at a time. */
class Verifier {
  readonly #places: Places;
  #running: Promise<Verification> | null = null;
  last: Verification | null = null;

  constructor(places: Places) {
    this.#places = places;
  }

  /** Verifies the log, and compares it with a checkpoint if given. A broken log is a result, not an error. */
  async verify(checkpoint: string | undefined): Promise<Verification> {
    while (this.#running !== null) {
      if (checkpoint === undefined) return await this.#running;
      await this.#running.catch(() => undefined);
    }
    this.#running = this.#places.anywhere((runtime) => verification(runtime, checkpoint));
    try {
      this.last = await this.#running;
      return this.last;
    } finally {
      this.#running = null;
    }
  }
}

async function verification(runtime: Runtime, checkpoint: string | undefined): Promise<Verification> {
  const at = runtime.clock.now().toISOString();
  try {
    const keys = checkpoint === undefined ? [] : await (await runtime.logKeys()).verifiers();
    const log = await runtime.auditLog();
    const verified = await verifyLog({
      log,
      ...(checkpoint !== undefined && { checkpoint: { note: checkpoint, keys } }),
    });
    const unproved = plainText(unprovedText(verified.entries, verified.checkpoint?.size ?? null));
    return { at, verified, unproved, problem: null };
  } catch (error) {
    // A failed verification says nothing about the log.
    if (!(error instanceof TokenctlError) || error.code !== 'log_broken') throw error;
    return { at, verified: null, unproved: null, problem: problemOf(error) };
  }
}

const runStates = ['done', 'partly', 'refused', 'interrupted', 'unfinished', 'noted'] as const;

const logQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_RUNS).default(100),
  /** An operation, or a prefix of its name. */
  operation: z.string().max(60).optional(),
  since: z.coerce.date().optional(),
  state: z.enum(runStates).optional(),
  /** Part of the sentence: a user, a context, a ticket. */
  text: z.string().max(200).optional(),
});

/** Serves the audit log: its runs, its state, and proofs for readers without the log. */
export function serveLog(app: FastifyInstance, places: Places): void {
  const verifier = new Verifier(places);
  app.get('/api/log', async ({ query }) => {
    const filter = logQuery.parse(query);
    return await places.anywhere((runtime) => logOf(runtime, filter, verifier));
  });
  app.get('/api/log/run', async ({ query }) => {
    const { run } = z.object({ run: z.uuid() }).parse(query);
    return await places.anywhere((runtime) => runOf(runtime, run));
  });
  app.post('/api/log/verification', { config: { readsOnly: true } }, async ({ body }) => {
    const { checkpoint } = z.strictObject({ checkpoint: z.string().max(10_000).optional() }).parse(body);
    return await verifier.verify(checkpoint);
  });
  app.get('/api/log/checkpoint', () =>
    places.anywhere(async (runtime) => (await checkpointFlow(runtime, {})).json),
  );
  app.get('/api/log/proof', async ({ query }) => {
    const { seq } = z.object({ seq: z.coerce.number().int().positive() }).parse(query);
    return await places.anywhere(async (runtime) => (await proofFlow(runtime, seq, {})).json);
  });
}

type Filter = z.infer<typeof logQuery>;

/** The matching runs of the log, and its state. */
export type Log = Awaited<ReturnType<typeof logOf>>;

async function logOf(runtime: Runtime, filter: Filter, { last: verification }: Verifier) {
  const log = await runtime.auditLog();
  const { runs, searched } = await runsOf(log, filter);
  return { head: await log.head(), runs, searched, verification };
}

export type LogRun = Awaited<ReturnType<typeof runOf>>;

async function runOf(runtime: Runtime, run: string) {
  const log = await runtime.auditLog();
  const [account] = await Array.fromAsync(listRuns({ log, run }));
  if (account === undefined) throw new TokenctlError('not_found', 'The audit log has no such run');
  const entries = await Array.fromAsync(listLog({ log, run, last: MAX_RUNS }));
  const facts = runFacts(account).facts.map(([name, value]) => ({ name, value }));
  return { sentence: runSentence(account), facts, entries };
}

/** The matching runs, newest first, and how many were searched if that is limited. */
async function runsOf(
  log: Awaited<ReturnType<Runtime['auditLog']>>,
  { limit, operation, since, state, text }: Filter,
) {
  const isSearch = state !== undefined || Boolean(text);
  const last = isSearch ? MAX_SEARCHED : limit;
  const found = await Array.fromAsync(listRuns({ log, last, operation, since }), (account) => ({
    ...account,
    sentence: runSentence(account),
  }));
  const wanted = text?.toLowerCase() ?? '';
  const matches = (run: RunAccount & { readonly sentence: string }) =>
    (state === undefined || run.state === state) &&
    (wanted === '' || `${run.sentence} ${run.operation} ${run.run}`.toLowerCase().includes(wanted));
  return {
    runs: found.filter(matches).slice(-limit).reverse(),
    searched: isSearch && found.length >= MAX_SEARCHED ? found.length : null,
  };
}

import { Readable } from 'node:stream';
import { escapeHtml } from '@tokenctl/common/text.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ServiceContext } from '../../context.ts';
import { type Exchange, serveEndpoint } from '../../endpoint.ts';
import { badRequest } from '../../failure.ts';
import { inTurn } from '../../limits/request-shares.ts';
import { parseTarget } from '../../request.ts';
import { type JobRecord, readOutput } from '../../store/jobs.ts';
import { isActive, seenJob } from './jobs.ts';

/** How many pieces, of about 32 kB each, are read and sent at a time. */
const PIECES = 2;

/** `/api/v2/jobs/N/stdout/` and `job_events/`. Both stream the output, which may have 4 MiB. */
export function serveJobOutput(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/stdout/',
    name: 'Output of a job',
    formats: 'own',
    description: 'The output so far. `format` is txt, txt_download, ansi, ansi_download, json or html.',
    handlers: { GET: show },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/job_events/',
    name: 'Events of a job',
    description: 'The output so far as one event, from the line `start_line__gte` on.',
    handlers: { GET: listEvents },
  });
}

/** Sends the output in one of the controller's formats. It has no colors, so `ansi` equals `txt`. */
async function show(exchange: Exchange): Promise<unknown> {
  const { request, reply } = exchange;
  const job = await seenJob(exchange);
  const format = new URLSearchParams(parseTarget(request.url).query).get('format') ?? formatFor(exchange);
  switch (format) {
    case 'json':
      return sendParts(exchange, 'application/json', outputJson(exchange, job));
    case 'txt':
    case 'ansi':
      return sendParts(exchange, 'text/plain', output(exchange, job));
    case 'txt_download':
    case 'ansi_download':
      reply.header('Content-Disposition', `attachment; filename="job_${job.id}.txt"`);
      return sendParts(exchange, 'text/plain', output(exchange, job));
    case 'html':
    case 'api':
      reply.header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
      return sendParts(exchange, 'text/html', outputHtml(exchange, job));
    default:
      throw badRequest('format: expected txt, txt_download, ansi, ansi_download, json or html.');
  }
}

function formatFor({ request }: Exchange): string {
  return (request.headers.accept ?? '').startsWith('text/plain') ? 'txt' : 'json';
}

function sendParts({ request, reply }: Exchange, type: string, parts: AsyncIterable<string>): FastifyReply {
  reply.type(`${type}; charset=utf-8`);
  // As bytes, so that few of them are read ahead of the client.
  return request.method === 'HEAD' ? reply.send() : reply.send(Readable.from(parts, { objectMode: false }));
}

/** The output in parts. Each is read in a separate turn of the caller, so that others get theirs in between. */
async function* output({ service, request }: Exchange, job: JobRecord): AsyncGenerator<string> {
  for (let from = 0; ; from += PIECES) {
    const wanted = { jobId: job.id, from, most: PIECES };
    const pieces = await inTurn(request, () => readOutput(service.database, wanted));
    if (pieces.length > 0) yield pieces.map(({ content }) => content).join('');
    if (pieces.length < PIECES) return;
  }
}

async function* outputJson(exchange: Exchange, job: JobRecord): AsyncGenerator<string> {
  let breaks = 0;
  let isEmpty = true;
  yield '{"content":"';
  for await (const part of output(exchange, job)) {
    isEmpty = false;
    breaks += lineBreaks(part);
    yield inJson(part);
  }
  const end = isEmpty ? 0 : breaks + 1;
  yield `","range":${JSON.stringify({ start: 0, end, absolute_end: end })}}`;
}

async function* outputHtml(exchange: Exchange, job: JobRecord): AsyncGenerator<string> {
  yield `<!doctype html><title>Job ${job.id}</title><pre>`;
  for await (const part of output(exchange, job)) yield escapeHtml(part);
  yield '</pre>';
}

/** Parameters of an event list that have no effect here: there is one event with the whole text. */
const IGNORED_EVENT_FILTERS = ['order_by', 'no_truncate', 'page_size', 'format'];

/**
 * The output as the controller's job events, which the awx CLI reads to follow a job (`--monitor`, `--wait`):
 * one event with the complete lines from `start_line__gte` on. The last line counts as complete once the job
 * has finished.
 */
async function listEvents(exchange: Exchange): Promise<unknown> {
  const { request } = exchange;
  const job = await seenJob(exchange);
  const query = new URLSearchParams(parseTarget(request.url).query);
  const unknown = [...query.keys()].find(
    (key) => key !== 'start_line__gte' && !IGNORED_EVENT_FILTERS.includes(key),
  );
  if (unknown !== undefined) throw badRequest(`Events of a job cannot be filtered by ${unknown}.`);
  const given = query.get('start_line__gte') ?? '0';
  if (!/^\d{1,9}$/.test(given)) throw badRequest('start_line__gte: expected a number.');
  return sendParts(exchange, 'application/json', eventList(exchange, { job, start: Number(given) }));
}

async function* eventList(exchange: Exchange, { job, start }: { job: JobRecord; start: number }) {
  const lines = completeLines(output(exchange, job), { start, isEnded: !isActive(job) });
  let end = start;
  for await (const { text, count } of lines) {
    if (end === start) yield `{"count":1,"next":null,"previous":null,"results":[${eventHead(job, start)}`;
    end += count;
    yield inJson(text);
  }
  if (end === start) yield JSON.stringify({ count: 0, next: null, previous: null, results: [] });
  else yield `","start_line":${start},"end_line":${end}}]}`;
}

/** The start of an event in JSON, up to its text. */
function eventHead(job: JobRecord, start: number): string {
  const head = {
    id: start + 1,
    type: 'job_event',
    related: { job: `/api/v2/jobs/${job.id}/` },
    created: job.modified,
    job: job.id,
    event: 'verbose',
    event_display: 'Verbose',
    counter: start + 1,
    failed: false,
    changed: false,
    stdout: '',
  };
  return JSON.stringify(head).slice(0, -'"}'.length);
}

/**
 * The complete lines of a text, starting at a given line, in parts with their number of lines. Joined, the
 * parts are the lines separated by line breaks. If `isEnded`, a last line without a line break is complete.
 */
async function* completeLines(
  parts: AsyncIterable<string>,
  { start, isEnded }: { start: number; isEnded: boolean },
): AsyncGenerator<{ readonly text: string; readonly count: number }> {
  let toSkip = start;
  let rest = '';
  let isFirst = true;
  const lines = (text: string) => {
    const separator = isFirst ? '' : '\n';
    isFirst = false;
    return { text: separator + text, count: lineBreaks(text) + 1 };
  };
  for await (const part of parts) {
    let begin = 0;
    while (toSkip > 0) {
      const lineBreak = part.indexOf('\n', begin);
      if (lineBreak === -1) break;
      begin = lineBreak + 1;
      toSkip -= 1;
    }
    if (toSkip > 0) continue;
    const last = part.lastIndexOf('\n');
    if (last < begin) rest += part.slice(begin);
    else {
      yield lines(rest + part.slice(begin, last));
      rest = part.slice(last + 1);
    }
  }
  if (isEnded && toSkip === 0 && rest !== '') yield lines(rest);
}

function lineBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Text inside a JSON string. A character split between two parts is escaped in each. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest } from '../failure.ts';
import { escapeHtml } from '../pages/page.ts';
import { readOutput } from '../store/jobs.ts';
import { parseTarget } from '../target.ts';
import { seenJob } from './jobs.ts';

/** `/api/v2/jobs/N/stdout/`. */
export function serveJobOutput(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/stdout/',
    name: 'Output of a job',
    description: 'What it printed so far: `format` is txt, txt_download, ansi, json or html.',
    handlers: { GET: show },
  });
}

/** The controller's formats. What a job prints holds no colours, so that `ansi` is the same as `txt`. */
async function show(exchange: Exchange): Promise<unknown> {
  const { service, request, reply } = exchange;
  const job = await seenJob(exchange);
  const format = new URLSearchParams(parseTarget(request.url).query).get('format') ?? formatFor(exchange);
  const content = await readOutput(service.database, job.id);
  const lines = content === '' ? 0 : content.split('\n').length;
  switch (format) {
    case 'json':
      return { range: { start: 0, end: lines, absolute_end: lines }, content };
    case 'txt':
    case 'ansi':
      return reply.type('text/plain; charset=utf-8').send(content);
    case 'txt_download':
    case 'ansi_download':
      reply.header('Content-Disposition', `attachment; filename="job_${job.id}.txt"`);
      return reply.type('text/plain; charset=utf-8').send(content);
    case 'html':
    case 'api':
      return reply
        .type('text/html; charset=utf-8')
        .header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
        .send(`<!doctype html><title>Job ${job.id}</title><pre>${escapeHtml(content)}</pre>`);
    default:
      throw badRequest('format: expected txt, txt_download, ansi, ansi_download, json or html.');
  }
}

function formatFor({ request }: Exchange): string {
  return (request.headers.accept ?? '').startsWith('text/plain') ? 'txt' : 'json';
}

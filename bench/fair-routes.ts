// Whether one sender delays others: for every route of the service's OpenAPI description, 20 connections without
// credentials, and 20 with one read token, while another user reads /api/v2/me/ again and again. Beside each p99 is that of
// the same user just before, while nothing else was sent: other work on the machine slows down both. All is sent to loopback.
// Run: node bench/fair-routes.ts [--seconds 10] [--connections 20] [--route TEXT] [--database embedded|postgresql]
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import type { Flooded, FloodRequest } from './support/flood.ts';
import { p99OfOther, send, stopFlood, tokenOf } from './support/other-caller.ts';
import { judge, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('10', '1') },
    connections: { type: 'string', default: '20' },
    route: { type: 'string', default: sized('', '/api/v2/me') },
    database: { type: 'string' },
  },
});
const SECONDS = Math.min(60, Number(values.seconds));
const CONNECTIONS = Math.min(100, Number(values.connections));
const LIMIT_MS = 500;
const IDLE_MS = 300;

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

interface Row {
  readonly database: string;
  readonly route: string;
  readonly sender: string;
  readonly idle: number;
  readonly p99: number;
  readonly answers: Flooded;
}

const rows: Row[] = [];
for (const database of ['embedded', 'postgresql']) {
  if ((values.database ?? database) === database) await measureDatabase(database);
}
await stopFlood();
report();

async function measureDatabase(database: string): Promise<void> {
  const server = database === 'postgresql' ? await startPostgres() : null;
  const environment = server === null ? {} : { DATABASE_URL: await createDatabase(server.url) };
  const { url, child } = await start('filled-service.ts', environment);
  try {
    await measureRoutes(database, url);
  } finally {
    child.kill('SIGKILL');
    await server?.stop();
  }
}

async function measureRoutes(database: string, url: string): Promise<void> {
  const reader = await tokenOf(url, 'reader');
  const other = await tokenOf(url, 'other');
  const { paths } = await api<{ paths: Record<string, Record<string, Operation>> }>(
    url,
    '/api/v2/openapi.json',
  );
  const agent = new Agent({ keepAlive: true });
  for (const [route, item] of Object.entries(paths)) {
    if (!route.includes(values.route)) continue;
    const idle = await p99OfOther({ url, token: other, agent }, performance.now() + IDLE_MS);
    for (const [sender, headers] of [
      ['anonymous', {}],
      ['read token', { authorization: `Bearer ${reader}` }],
    ] as const) {
      const requests = requestsOf(route, item).map((each) => ({
        ...each,
        headers: { ...each.headers, ...headers },
      }));
      const flood = send({ url, requests, connections: CONNECTIONS, seconds: SECONDS });
      await sleep(50);
      const p99 = await p99OfOther({ url, token: other, agent }, performance.now() + SECONDS * 1000);
      const row = { database, route, sender, idle, p99, answers: await flood };
      rows.push(row);
      console.log(line(row));
    }
  }
  agent.destroy();
}

/** One request for each method of a route, reads in between: they cost most. */
function requestsOf(route: string, item: Readonly<Record<string, Operation>>): FloodRequest[] {
  const path = route
    .replace('{category}', 'all')
    .replace('{backend}', 'github')
    .replace(/\{\w+\}/g, '1');
  const target = item['get'] === undefined || path.includes('?') ? path : `${path}?page_size=200`;
  const methods = Object.entries(item).filter(([name]) => name !== 'parameters');
  return methods.flatMap(([method, { requestBody }]) => {
    if (method === 'get') return [{ method: 'GET', path: target }];
    const type = Object.keys(requestBody?.content ?? {})[0];
    const body =
      type === undefined ? undefined : type.includes('json') ? '{}' : 'username=nobody&password=wrong';
    const one = {
      method: method.toUpperCase(),
      path,
      ...(type !== undefined && { headers: { 'content-type': type } }),
      ...(body !== undefined && { body }),
    };
    return item['get'] === undefined ? [one] : [one, { method: 'GET', path: target }];
  });
}

function line({ database, route, sender, idle, p99, answers }: Row): string {
  const statuses = Object.entries(answers).map(([status, count]) => `${status}: ${count}`);
  const mark = p99 > LIMIT_MS ? ' ABOVE' : '';
  return `${database.padEnd(10)} ${sender.padEnd(10)} ${route.padEnd(58)} idle ${idle.toFixed(0).padStart(4)} ms  p99 ${p99
    .toFixed(0)
    .padStart(5)} ms${mark}  (${statuses.join(', ')})`;
}

function report(): void {
  const above = rows.filter(({ p99 }) => p99 > LIMIT_MS);
  const worst = rows.toSorted((one, another) => another.p99 - one.p99)[0];
  console.log(
    `\n${rows.length} measurements of ${SECONDS} s with ${CONNECTIONS} connections; ${above.length} above ${LIMIT_MS} ms.`,
  );
  if (worst !== undefined) console.log(`Worst: ${line(worst)}`);
  for (const row of above) console.log(`${line(row)}  ${(row.p99 / row.idle).toFixed(1)} times idle`);
  judge('p99 of another user, the worst route, ms', worst?.p99 ?? 0, { atMost: LIMIT_MS });
}

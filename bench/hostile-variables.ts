// How long other callers wait while one user sends variables that are the worst for the service's parser, over HTTP: as variables of
// hosts and inventories, at launch, and in reads of an inventory that is full of them. Beside each p99 is that of the same caller
// just before, while nothing was sent, and that under ordinary documents of the same number of bytes. All is sent to loopback.
// Run: node bench/hostile-variables.ts [--seconds 3] [--connections 10] [--database embedded|postgresql]
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import type { FloodRequest } from './support/flood.ts';
import { p99OfOther, send, stopFlood, tokenOf } from './support/other-caller.ts';
import { judge, perTurn, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('3', '1') },
    connections: { type: 'string', default: '10' },
    database: { type: 'string', default: 'postgresql' },
  },
});
const SECONDS = Math.min(60, Number(values.seconds));
const CONNECTIONS = Math.min(100, Number(values.connections));
const ROUNDS = sized(3, 1);
const LIMIT_MS = 500;
/** The longest text of a stored field, and the longest YAML that is read. */
const STORED = 9_900;
const READ = 19_900;
const HOSTS = sized(40, 4);

const fill = (text: string, size: number) => text.repeat(Math.floor(size / text.length));
const lines = (size: number, line: (n: number) => string) => {
  let text = '';
  for (let n = 0; text.length < size; n += 1) text += `${line(n)}\n`;
  return text;
};

const ordinary = (size: number) => lines(size - 20, (n) => `name${n}: value`);

/** The documents, by what is costly in them. */
const DOCUMENTS: Readonly<Record<string, (size: number) => string>> = {
  'YAML: keys': (size) => lines(size, (n) => `a${n}: 1`),
  'YAML: one key again': (size) => fill('a: 1\n', size),
  'YAML: lists': (size) => fill('- - - - ', size),
  'YAML: flow, nested': (size) => fill('[', size),
  'YAML: errors': (size) => fill('- ]\n', size),
  'YAML: aliases': (size) => `a: &a [1, 1]\n${lines(size - 20, (n) => `b${n}: *a`)}`,
  'YAML: aliases, nested': (size) =>
    `a: &a0 [1]\n${lines(size - 20, (n) => `b${n}: &a${n + 1} [*a${n}, *a${n}]`)}`,
  'YAML: merge keys': (size) => `a: &a {x: 1}\n${lines(size - 20, (n) => `b${n}: {<<: *a}`)}`,
  'YAML: quotes': (size) => fill('"\\', size),
  'JSON: keys': (size) => `{${Array.from({ length: size / 10 }, (_, n) => `"a${n}":1`)}}`,
  'JSON: nested': (size) => `{"a":${fill('[', size / 2)}${fill(']', size / 2)}}`,
};

const server = values.database === 'postgresql' ? await startPostgres() : null;
const environment = server === null ? {} : { DATABASE_URL: await createDatabase(server.url) };
const { url, child } = await start('filled-service.ts', environment);
const agent = new Agent({ keepAlive: true });
try {
  const other = { url, token: await tokenOf(url, 'other'), agent };
  const authorization = `Bearer ${await tokenOf(url, 'attacker', 'write')}`;
  const requests = await requestsTo();
  const p99 = (seconds: number) => p99OfOther(other, performance.now() + seconds * 1000);
  const under = async (document: (size: number) => string) => {
    const all = requests(document).map((each) => ({
      ...each,
      headers: { authorization, 'content-type': 'application/json' },
    }));
    const flood = send({ url, requests: all, connections: CONNECTIONS, seconds: SECONDS });
    await sleep(50);
    return { p99: await p99(SECONDS), answers: await flood };
  };
  for (const [name, document] of Object.entries(DOCUMENTS)) {
    const [idle, harmless, hostile]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      idle.push(await p99(1));
      harmless.push((await under(ordinary)).p99);
      const attacked = await under(document);
      hostile.push(attacked.p99);
      if (round === 0) console.log(`${name}: answers ${JSON.stringify(attacked.answers)}`);
    }
    judge(`${name}: p99 of another user, ms`, hostile, { atMost: LIMIT_MS });
    judge(`${name}: p99 of another user / under ordinary documents`, perTurn(hostile, harmless), {
      atMost: 3,
    });
    judge(`${name}: p99 of another user / no attack`, perTurn(hostile, idle), { atMost: 50 });
  }
} finally {
  agent.destroy();
  await stopFlood();
  child.kill('SIGKILL');
  await server?.stop();
}

/** Fills an inventory, and gives the requests with which a document reaches the service. */
async function requestsTo(): Promise<(document: (size: number) => string) => readonly FloodRequest[]> {
  const post = (path: string, body: object) => api<{ id: number }>(url, path, body);
  const { id: inventory } = await post('/api/v2/inventories/', { name: 'full', organization: 1 });
  for (let n = 0; n < HOSTS; n += 1) {
    await post('/api/v2/hosts/', {
      name: `host-${n}`,
      inventory,
      variables: lines(9_000, (line) => `a${line}: 1`),
    });
  }
  const { results } = await api<{ results: readonly { id: number }[] }>(url, '/api/v2/job_templates/');
  const template = `/api/v2/job_templates/${results[0]?.id}/`;
  await fetch(url + template, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${await tokenOf(url, 'owner', 'write')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ask_variables_on_launch: true }),
  });
  return (document) => [
    {
      method: 'PATCH',
      path: `/api/v2/inventories/${inventory}/`,
      body: JSON.stringify({ variables: document(STORED) }),
    },
    {
      method: 'POST',
      path: '/api/v2/hosts/',
      body: JSON.stringify({ name: 'x y', inventory, variables: document(STORED) }),
    },
    { method: 'POST', path: `${template}launch/`, body: JSON.stringify({ extra_vars: document(READ) }) },
    { method: 'GET', path: `/api/v2/inventories/${inventory}/script/?hostvars=1` },
  ];
}

// How the cost of each parser of foreign input grows: the service's over its real socket, the toolkit's in this process. Each
// gets 10, 100 and 1,000 kB of the input that is worst for it. The table has the processor time of each (the least of
// several runs), the growth from one size to the next compared with that of the size, and what became of the input.
// Run: node bench/worst-input.ts [part of a row's name]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Secret } from '@tokenctl/common/secret.ts';
import { startService } from '@tokenctl/service/server.ts';
import { SamlThread } from '@tokenctl/service/sso/saml-thread.ts';
import { parseEntry } from '../src/audit-log/entry.ts';
import { parseConfiguration } from '../src/config/layers.ts';
import { printableValue } from '../src/domain/investigation/recorded-values.ts';
import { openNote } from '../src/domain/note-key.ts';
import { readLeaked } from '../src/operations/revocation/leaked-input.ts';
import { parseBaseline } from '../src/reports/report-file.ts';
import { printable, wrapped } from '../src/reports/tables/text.ts';
import { openControllerApi } from '../src/targets/controller-api/controller-api.ts';
import { compared, element, hostVariables, ldapEntry } from './support/parsed-inputs.ts';
import { judge, sized } from './support/ratio.ts';
import { ADMIN, asAdmin, fill, members, numbered, REQUESTS } from './support/worst-requests.ts';

const SIZES = sized([10_000, 100_000, 1_000_000], [1_000, 10_000]);
const MAX_GROWTH = 1.2;
/** Growth is judged from this time on, in milliseconds: below it, caches and garbage collection weigh more. */
const JUDGED_MS = 50;
const ROUNDS = sized(3, 1);
const MAX_ATTEMPTS = sized(4, 1);
/** A controller that answers a list with one page of a size. */
async function answering(results: unknown): Promise<string> {
  const body = JSON.stringify({ count: (results as unknown[]).length, next: null, previous: null, results });
  const server = createServer((request, response) => {
    const fixed = /\/(api|ping|tokens)\/(\?|$)/.exec(request.url ?? '')?.[1];
    response.setHeader('content-type', 'application/json');
    if (fixed === 'api')
      response.end('{"current_version":"/api/v2/","available_versions":{"v2":"/api/v2/"}}');
    else if (fixed === 'ping') response.end('{"version":"24.6.1"}');
    else response.end(body);
  }).unref();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

const aToken = (id: number, description: string) => ({
  id,
  description,
  user: 1,
  application: null,
  scope: 'read',
  token: '************',
  refresh_token: null,
  created: '2026-01-01T00:00:00Z',
  modified: '2026-01-01T00:00:00Z',
  expires: '3025-01-01T00:00:00Z',
  last_used: null,
  summary_fields: { user: { id: 1, username: 'a' } },
  type: 'o_auth2_access_token',
});

async function listed(results: unknown): Promise<() => Promise<void>> {
  const address = await answering(results);
  return async () => {
    const credential = { kind: 'token', token: new Secret('a') } as const;
    const target = openControllerApi({ address, credential, verifyTls: true, context: 'bench' } as Parameters<
      typeof openControllerApi
    >[0]);
    try {
      for await (const token of target.tokens({})) printable.value(token.description);
    } finally {
      await target.close();
    }
  };
}

const entry = (data: object) =>
  Buffer.from(
    JSON.stringify({
      v: 1,
      seq: 1,
      at: '2026-01-01T00:00:00.000Z',
      previous: '0'.repeat(64),
      open: [],
      kind: 'note',
      operation: 'a',
      run: 'a',
      actor: {},
      target: {},
      data,
    }),
  );
const configuration = (text: string) => () => parseConfiguration(text, 'tokenctl.yaml');
const thread = new SamlThread();
/** As a posted response; the parser comes before the checks that need a configuration. */
const saml = (xml: string) => () =>
  thread.verify({
    response: Buffer.from(xml).toString('base64'),
    configuration: { security: {}, privateKey: '' },
    idp: { entity_id: '' },
    callback: '',
  } as unknown as Parameters<typeof thread.verify>[0]);

/** A line as of a log with escapes of every kind, also in each other, and base64. */
const ESCAPES = String.raw`${'\x1b'}[32m+${'\x1b'}[m {"a":"\u001b[1m\\n%253D%20=3D=C3&quot;&#58;#033^["} ${'YWRtaW46'.repeat(6)} `;

const tokenValues = (size: number) => numbered(size, (n) => String(n).padStart(30, 'a'), ' ');

/** Searches a text for values, as it is read from a pipe. */
function searched(text: string): () => Promise<unknown> {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 65_536)
      yield await Promise.resolve(bytes.subarray(at, at + 65_536));
  }
  return () => readLeaked(chunks());
}

/** The toolkit's parsers: what to run for a size. */
const PARSERS: Readonly<Record<string, (size: number) => (() => unknown) | Promise<() => unknown>>> = {
  'controller: list of tokens': (size) =>
    listed(Array.from({ length: size / 500 }, (_, n) => aToken(n + 1, ''))),
  'controller: long description': (size) => listed([aToken(1, fill('a\u202e', size))]),
  'service: variables of all hosts': hostVariables,
  'investigation: YAML keys': (size) => compared(numbered(size, (n) => `a${n}: 1`, '\n')),
  'investigation: YAML errors': (size) => compared(`a: 1\n${fill('}', size)}`),
  'investigation: YAML tags': (size) => compared(`a: [${fill('!a b,', size)}]`),
  'investigation: YAML nested': (size) => compared(`a: ${fill('[', size)}`),
  'investigation: JSON keys': (size) => compared(`{${numbered(size, (n) => `"a${n}":1`, ',')}"a":1}`),
  'investigation: JSON nested': (size) => compared(fill('[', size / 2) + fill(']', size / 2)),
  'LDAP: values': (size) =>
    ldapEntry(element(0x30, Buffer.of(4, 1, 0x61), element(0x31, Buffer.alloc(size, Buffer.of(4, 0))))),
  'LDAP: attributes': (size) => ldapEntry(Buffer.alloc(size, Buffer.of(0x30, 3, 4, 1, 0x61))),
  'LDAP: nested': (size) => ldapEntry(Buffer.alloc(size, Buffer.of(0x30, 2))),
  'SAML: attributes': (size) => saml(`<a ${numbered(size, (n) => `b${n}=''`, ' ')}/>`),
  'SAML: elements': (size) => saml(`<a>${fill('<a/>', size)}</a>`),
  'SAML: nested': (size) => saml(fill('<a>', size)),
  'SAML: namespaces': (size) => saml(numbered(size, (n) => `<a xmlns:b${n}='c'>`, '')),
  'SAML: text': (size) => saml(`<a>${fill('&amp;', size)}</a>`),
  'SAML: comment': (size) => saml(`<a><!--${fill('-', size)}`),
  'SAML: one tag': (size) => saml(`<${fill('a ', size)}`),
  'tokens find: one line of letters': (size) => searched(fill('a', size)),
  'tokens find: bearer and spaces': (size) => searched(`bearer${fill(' ', size)}`),
  'tokens find: the word token': (size) => searched(fill('token ', size)),
  'tokens find: token and spaces': (size) =>
    searched(`${fill('access_token', size / 2)}${fill(' ', size / 2)}`),
  'tokens find: quotes': (size) => searched(fill('token"=\'', size)),
  'tokens find: escapes of every kind': (size) => searched(fill(ESCAPES, size)),
  'tokens find: short words': (size) => searched(fill(`${'a'.repeat(29)} `, size)),
  'tokens find: values': (size) => searched(tokenValues(size)),
  ...Object.fromEntries(
    ['a.', '- ', 'a:', '"a', '-u ', "'", '\n-', '-----BEGIN '].map((part) => [
      `variables of a job: ${JSON.stringify(part)}`,
      (size: number) => () => printableValue('extra_vars', fill(part, size)),
    ]),
  ),
  'configuration: keys': (size) => configuration(numbered(size, (n) => `a${n}: 1`, '\n')),
  'configuration: nested': (size) => configuration(fill('[', size)),
  'configuration: aliases': (size) => configuration(`a: &a [1]\nb: [${fill('*a,', size)}]`),
  'configuration: flow map': (size) => configuration(`{${numbered(size, (n) => `a${n}: 1`, ',')}}`),
  'audit log: members of an entry': (size) => {
    const line = entry(members(size));
    return () => parseEntry(line);
  },
  'audit log: nested entry': (size) => () => parseEntry(Buffer.from(fill('[', size))),
  'baseline: lines': (size) => () =>
    parseBaseline(
      ['# tokenctl baseline 1', ...numbered(size, (n) => `never-used token:${n}`, '\n').split('\n')],
      { name: 'a', keepsKeys: false },
    ),
  'checkpoint: signatures': (size) => () => openNote(`a\n\n${fill('— a AAAAAAAA\n', size)}`, []),
  'terminal: one line': (size) => () => printable.value(fill('\u202e\n', size)),
  'terminal: wrapped text': (size) => () => wrapped(fill('a ', size), 80),
};

/** What a row may grow as: what the language itself takes for the same text. */
const REFERENCES: Readonly<Record<string, (size: number) => () => unknown>> = {
  'audit log: members of an entry': (size) => {
    const text = JSON.stringify(members(size));
    return () => JSON.parse(text);
  },
  'audit log: nested entry': (size) => () => JSON.parse(fill('[', size)),
  'tokens find: values': (size) => {
    const values = tokenValues(size).split(' ');
    return () => new Map(values.map((value) => [`${value} `.trim(), { lines: [1], places: [] }]));
  },
  'LDAP: values': (size) => () =>
    Array.from({ length: size / 2 }, () => Buffer.alloc(0)).map((value) => value.toString()),
  'LDAP: attributes': (size) => () =>
    Array.from({ length: size / 5 }, () => ({ buffers: [], type: Buffer.of(0x61).toString(), values: [] })),
};

/** The service, in a process of its own; it answers each message with the processor time that it used, in milliseconds. */
async function serve(): Promise<void> {
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    database: { folder: null },
    version: '0',
    logLevel: 'error',
    adminPassword: new Secret(ADMIN.password),
    passwordIterations: 1,
    logTo: { write: () => undefined },
  });
  const post = async (path: string, body: object) => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: asAdmin,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
  };
  await post('/api/v2/inventories/', { name: 'bench', organization: 1 });
  const application = {
    name: 'bench',
    organization: 1,
    client_type: 'public',
    authorization_grant_type: 'password',
  };
  await post('/api/v2/applications/', application);
  await service.database.script("UPDATE main_oauth2application SET client_id = 'bench'");
  process.on('message', () => process.send?.(used()));
  process.send?.(service.url);
  process.once('disconnect', () => process.exit());
}

function used(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

interface Cost {
  readonly ms: number;
  readonly result: string;
}

type Measure = (row: string, size: number) => Promise<Cost>;

/** A request line that is too long is refused and its connection closed, perhaps before it was sent whole. */
function closedIn(error: Error): string {
  const { code } = error.cause as { readonly code?: string };
  if (code === 'EPIPE' || code === 'ECONNRESET') return 'closed';
  throw error;
}

async function measureParser(row: string, size: number): Promise<Cost> {
  return measureRun((await PARSERS[row]?.(size)) ?? (() => undefined));
}

async function measureRun(run: () => unknown): Promise<Cost> {
  const before = used();
  let result = 'read';
  try {
    await run();
  } catch (error) {
    result = `refused (${error instanceof Error ? error.name : ''})`;
  }
  return { ms: used() - before, result };
}

const unmeasured = () => SIZES.map((): Cost => ({ ms: Number.POSITIVE_INFINITY, result: '' }));
const growthOf = (costs: readonly Cost[], at: number) => (costs[at]?.ms ?? 0) / (costs[at - 1]?.ms ?? 1) / 10;

/** Keeps the least cost of several runs at each size. */
async function keepLeast(costs: Cost[], row: string, measure: Measure): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, size] of SIZES.entries()) {
      const cost = await measure(row, size);
      if (cost.ms < (costs[at]?.ms ?? 0)) costs[at] = cost;
      if (cost.ms > 5_000) break;
    }
  }
}

/** Judges a row, with more runs while its growth is above the goal. One with a reference may grow as that does. */
async function judgeRow(row: string, measure: Measure): Promise<boolean> {
  const [costs, references] = [unmeasured(), unmeasured()];
  const reference = REFERENCES[row];
  const goal = (at: number) =>
    MAX_GROWTH * (reference === undefined ? 1 : Math.max(1, growthOf(references, at)));
  const isTooMuch = (at: number) => (costs[at]?.ms ?? 0) >= JUDGED_MS && growthOf(costs, at) > goal(at);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    await keepLeast(costs, row, measure);
    if (reference !== undefined) {
      await keepLeast(references, row, (_row, size) => measureRun(reference(size)));
    }
    if (!isTooMuch(1) && !isTooMuch(2)) break;
  }
  const met = !isTooMuch(1) && !isTooMuch(2);
  const times = costs.map(({ ms }) => ms.toFixed(1).padStart(9)).join('');
  const growths = [1, 2].map((at) => growthOf(costs, at).toFixed(2).padStart(7)).join('');
  const results = costs.map(({ result }) => result).join(', ');
  const beside =
    reference === undefined
      ? ''
      : `; the language alone: ${[1, 2].map((at) => growthOf(references, at).toFixed(2)).join(' ')}`;
  console.log(`${row.padEnd(36)}${times}${growths}  ${met ? 'met   ' : 'MISSED'}  ${results}${beside}`);
  return met;
}

async function measureAll(): Promise<void> {
  const child = fork(import.meta.filename, ['--serve'], { env: { ...process.env } });
  const [url] = (await once(child, 'message')) as [string];
  const processorTime = async () => {
    child.send('used');
    const [ms] = (await once(child, 'message')) as [number];
    return ms;
  };
  const measureRequest: Measure = async (row, size) => {
    const { path = '/', method = 'GET', headers, body } = REQUESTS[row]?.(size) ?? {};
    const before = await processorTime();
    const result = await fetch(url + path, {
      method,
      headers: { ...headers },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    }).then(async (response) => {
      await response.arrayBuffer();
      return String(response.status);
    }, closedIn);
    return { ms: (await processorTime()) - before, result };
  };
  const only = process.argv[2] ?? '';
  const chosen = (rows: object) => Object.keys(rows).filter((row) => row.includes(only));
  console.log(
    `${'processor time in ms for'.padEnd(36)}${SIZES.map((size) => `${size / 1000} kB`.padStart(9)).join('')} growth growth  goal: at most ${MAX_GROWTH}`,
  );
  let missed = 0;
  for (const row of chosen(REQUESTS)) missed += (await judgeRow(row, measureRequest)) ? 0 : 1;
  for (const row of chosen(PARSERS)) missed += (await judgeRow(row, measureParser)) ? 0 : 1;
  child.disconnect();
  await thread.end();
  console.log(`${missed} of ${chosen(REQUESTS).length + chosen(PARSERS).length} rows grow faster.`);
  judge('rows whose cost grows faster than their input', missed, { atMost: 0 });
}

await (process.argv[2] === '--serve' ? serve() : measureAll());

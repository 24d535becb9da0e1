import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadRealTables, type Peer, REAL_PEERS, type RealTables } from '../../../support/real-tables.ts';
import { RecordedController } from '../../../support/recorded-controller.ts';
import { RecordedGateway } from '../../../support/recorded-gateway.ts';
import { hasRecordings, recorded } from '../../../support/recordings.ts';

const PEERS = REAL_PEERS.filter(hasRecordings);

// The tables and recordings are kept beside the project: without them, one test says that the others are left out.
test.runIf(PEERS.length === 0)('skipped: tables and recordings of real controllers are absent', ({ skip }) =>
  skip(),
);

const CONTROLLER = [
  '/api/',
  '/api/v2/ping/',
  '/api/v2/me/',
  '/api/v2/tokens/?page_size=2',
  '/api/v2/tokens/2/',
  '/api/v2/users/?page_size=3&order_by=id',
  '/api/v2/users/2/',
  '/api/v2/applications/?page_size=3&order_by=id',
  '/api/v2/role_user_assignments/?page_size=2',
  '/api/v2/settings/authentication/',
];
const GATEWAY = [
  '/api/gateway/v1/me/',
  '/api/gateway/v1/tokens/?page_size=2',
  '/api/gateway/v1/tokens/2/',
  '/api/gateway/v1/applications/?page_size=3&order_by=id',
  '/api/gateway/v1/role_user_assignments/?page_size=2',
];

describe.each(PEERS)('the server on the tables of %s', (peer) => {
  let tables: RealTables;
  let server: RecordedController | RecordedGateway;
  beforeAll(async () => {
    tables = await loadRealTables(peer);
    server = isGateway(peer)
      ? await RecordedGateway.start(tables)
      : await RecordedController.start(peer, tables);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await tables.close();
  });

  test.each(isGateway(peer) ? GATEWAY : CONTROLLER)('answers as was recorded: %s', async (path) => {
    const exchange = recorded(peer, 'raw').find(
      (each) => each.as === 'admin' && each.method === 'GET' && each.path === path,
    );
    const { admintoken } = tables.filling;
    const answer = await fetch(`${server.address}${path}`, {
      headers: { authorization: `Bearer ${admintoken}` },
    });
    // Without newer roles, a controller has no list of their assignments, and nothing was recorded.
    if (exchange === undefined) {
      expect(answer.status).toBe(404);
      return;
    }
    expect(answer.status).toBe(exchange.status);
    if (exchange.status !== 200) return;
    const [given, real] = [itemsOf(await answer.json()), itemsOf(exchange.response)];
    expect(given.length).toBe(real.length);
    for (const [index, item] of given.entries()) expectPart(item, real[index]);
  });
});

function isGateway(peer: Peer): boolean {
  return peer.startsWith('gateway');
}

function itemsOf(body: unknown): readonly unknown[] {
  const { results } = body as { results?: readonly unknown[] };
  return results ?? [body];
}

/** What is there is as recorded, but for times, which are those of the dump, and what other requests of the recording changed. */
function expectPart(given: unknown, real: unknown, path = ''): void {
  if (/(^|\.)(last_login|last_used|tokens|modified|created|expires)$/.test(path)) return;
  if (typeof given !== 'object' || given === null) expect(given, path).toEqual(real);
  else
    for (const [name, value] of Object.entries(given)) {
      const other = (real as Readonly<Record<string, unknown>> | null)?.[name];
      // Rows of tables have columns that the API does not show: nothing reads them.
      if (other !== undefined) expectPart(value, other, `${path}.${name}`);
    }
}

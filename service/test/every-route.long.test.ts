import { createHash } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '@tokenctl/testing/until.ts';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Described, type Malformed, malformedRequests } from './support/malformed-requests.ts';
import { bearer, Client, useService } from './support/service.ts';

const COUNT = inject('malformedRequests');
const WARM_UP = COUNT / 10;
const CONCURRENCY = 24;
const TOKEN = 'a-token-that-the-requests-may-delete';
const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

describe(`${COUNT} malformed requests to every address (TEST_SEED=${SEED})`, () => {
  const { service } = useService(() => ({ searchPath: '/nonexistent' }));
  let described: Described;
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });

  beforeAll(async () => {
    described = (await new Client(service.url).get('/api/v2/openapi.json')).json as unknown as Described;
  });

  /** The requests may delete what they use: what they need to get anywhere is put back. */
  async function restore(): Promise<void> {
    const { database } = service;
    await database.execute('UPDATE auth_user SET is_active = true, is_superuser = true WHERE id = 1');
    await database.execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       VALUES ($1, '2999-01-01', 'read write', 1)
       ON CONFLICT (token) DO UPDATE SET scope = EXCLUDED.scope, expires = EXCLUDED.expires`,
      [createHash('sha256').update(TOKEN).digest('hex')],
    );
    for (const statement of [
      "main_organization (id, name) VALUES (1, 'Default')",
      "main_inventory (id, name, organization_id) VALUES (1, 'Demo Inventory', 1)",
      "service_project (id, name, organization_id, local_path) VALUES (1, 'Demo', 1, 'demo_project')",
      `service_job_template (id, name, organization_id, inventory_id, project_id, playbook)
       VALUES (1, 'Demo', 1, 1, 1, 'hello_world.yml')`,
    ]) {
      // What it refers to may be deleted at this moment; the next time is soon.
      await database.execute(`INSERT INTO ${statement} ON CONFLICT DO NOTHING`).catch(() => 0);
    }
  }

  function send({ method, path, headers, body }: Malformed): Promise<{ status: number; text: string }> {
    const { hostname, port } = new URL(service.url);
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(body.length) };
      const outgoing = httpRequest(
        { hostname, port, method, path, agent, headers: { ...headers, ...length } },
        async (incoming) => {
          let text = '';
          for await (const part of incoming.setEncoding('utf8')) text += part;
          resolve({ status: incoming.statusCode ?? 0, text });
        },
      );
      // A server may answer and close before it was sent all of a body that is too large. And a HEAD request
      // that Node.js cannot read is answered with a body, which is what no client expects.
      const known = ['EPIPE', 'ECONNRESET', ...(method === 'HEAD' ? ['HPE_INVALID_CONSTANT'] : [])];
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        if (known.includes(error.code ?? '')) resolve({ status: 0, text: '' });
        else reject(error);
      });
      outgoing.end(body);
    });
  }

  async function sendAll(count: number, seed: number): Promise<Map<number, number>> {
    const statuses = new Map<number, number>();
    const requests = malformedRequests(described, { count, seed, authorization: `Bearer ${TOKEN}` });
    let sent = 0;
    const work = async () => {
      for (const request of requests) {
        if (sent++ % 250 === 0) await restore();
        const { status, text } = await send(request);
        const shown = `${request.method} ${request.path.slice(0, 200)} ${request.body?.subarray(0, 300)}`;
        expect(status, `${shown}: ${text.slice(0, 300)}`).toBeLessThan(500);
        expect(text, shown).not.toMatch(/node_modules|pbkdf2_|SELECT /);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return statuses;
  }

  it('are answered without a fault, a crash or a leak', async () => {
    await sendAll(WARM_UP, SEED + 1);
    const heap = heapUsed();
    const statuses = await sendAll(COUNT, SEED);
    agent.destroy();
    await restore();

    // They got somewhere: not all stopped at the door. Refusals by rights and changes are too rare for a short run.
    for (const status of [200, 400, 401, 404, 405])
      expect(statuses.get(status) ?? 0).toBeGreaterThan(COUNT / 1000);
    if (COUNT >= 20_000)
      for (const status of [201, 204, 403]) expect(statuses.get(status) ?? 0).toBeGreaterThan(0);
    // A connection that was cut is rare, and only where the body or a header was too large.
    expect(statuses.get(0) ?? 0).toBeLessThan(COUNT / 50);

    await until(() => service.database.connections?.().waiting === 0);
    const { total = 0, idle } = service.database.connections?.() ?? {};
    expect(idle).toBe(total);
    await until(sockets, (open) => open <= total + 4);
    // What is remembered has bounds: counters by route, allowances by address, verified passwords.
    expect(heapUsed() - heap).toBeLessThan(24 * 1024 * 1024);
    expect((await new Client(service.url, bearer(TOKEN)).get('/api/v2/me/')).status).toBe(200);
  });

  it('that are no HTTP at all are refused, and their connections end', async () => {
    const before = sockets();
    const { port } = new URL(service.url);
    const texts = [
      '\0\0\0\r\n\r\n',
      'FOO / HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET  / \r\n\r\n',
    ];
    const answers = Array.from({ length: 400 }, (_, number) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(texts[number % texts.length] ?? '', 'latin1');
      return new Promise<string>((resolve) => {
        let text = '';
        socket.on('data', (part) => {
          text += part.toString('latin1');
        });
        socket.on('error', () => undefined).on('close', () => resolve(text));
      });
    });
    for (const answer of await Promise.all(answers)) expect(answer).not.toMatch(/^HTTP\/1\.1 5/);
    await until(sockets, (open) => open <= before + 1);
  });
});

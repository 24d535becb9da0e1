import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { basic, bearer, Client } from '@tokenctl/testing/client.ts';
import {
  createDatabase,
  freePort,
  type ReplicatedPostgres,
  startReplicatedPostgres,
} from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Running, startTokenctl } from '../process/cli/program.ts';
import { startProxy } from '../process/faults/postgres-proxy.ts';

const PASSWORD = 'a-password-of-the-tests';
const REPLICAS = ['a', 'b', 'c'];
/** In-flight requests at once while something fails. */
const CLIENTS = 8;

/** A fact for the reader of the output, as the documents want it: what was lost, how long it took. */
const report = (fact: string) => process.stdout.write(`  ${fact}\n`);

/** A replica: the built program, on its own port. */
class Replica {
  readonly url: string;
  readonly #port: number;
  readonly #databaseFile: string;
  #running: Running | undefined;

  constructor(port: number, databaseFile: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#port = port;
    this.#databaseFile = databaseFile;
  }

  async start(): Promise<void> {
    const args = ['service', 'start', '--port', String(this.#port), '--database-file', this.#databaseFile];
    const running = startTokenctl([...args, '--log-level', 'error', '--behind-proxy'], {
      env: { TOKENCTL_ADMIN_PASSWORD: PASSWORD, HOME: dirname(this.#databaseFile) },
    });
    this.#running = running;
    await running.says(/listens on/);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return;
    running.kill(signal);
    await running.ended;
  }
}

/** HAProxy in front of the replicas, with the checks of service/docs/service.md. */
async function startBalancer(folder: string, replicas: ReadonlyMap<string, Replica>) {
  const socket = join(folder, 'admin.sock');
  const port = await freePort();
  const servers = [...replicas].map(([name, { url }]) => `  server ${name} ${new URL(url).host}`);
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `global
  stats socket ${socket} mode 600 level admin
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 3
frontend automation
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /api/v2/ping/
  http-check send hdr Host localhost
  default-server check inter 300ms fall 2 rise 1
${servers.join('\n')}
`,
  );
  const child = spawn('haproxy', ['-f', join(folder, 'haproxy.cfg'), '-q'], { stdio: 'ignore' });
  while (!existsSync(socket) && child.exitCode === null) await sleep(20);
  const tell = async (command: string): Promise<string> => {
    const connection = connect(socket);
    connection.end(`${command}\n`);
    let answer = '';
    for await (const chunk of connection) answer += String(chunk);
    return answer;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    /** `drain`: no new requests; `ready`: requests again, once it answers. */
    state: (name: string, state: 'drain' | 'ready') => tell(`set server replicas/${name} state ${state}`),
    /** Waits until a replica has the status UP. */
    async up(name: string): Promise<void> {
      for (;;) {
        const lines = (await tell('show stat')).split('\n');
        if (lines.some((line) => line.startsWith(`replicas,${name},`) && line.split(',')[17] === 'UP'))
          return;
        await sleep(50);
      }
    },
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** Requests without a pause: half of them read, half create tokens. */
class Load {
  /** The ids of tokens whose creation was acknowledged. */
  readonly created = new Set<number>();
  readonly failures: string[] = [];
  answered = 0;
  /** The longest time without a good answer, in milliseconds. */
  longestGap = 0;
  #last = performance.now();
  #isOver = false;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  readonly #url: string;
  readonly #token: string;
  #loops: readonly Promise<void>[] = [];

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  start(): this {
    this.#last = performance.now();
    this.#loops = Array.from({ length: CLIENTS }, (_, index) => this.#loop(index % 2 === 0));
    return this;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    this.#agent.destroy();
  }

  async #loop(reads: boolean): Promise<void> {
    while (!this.#isOver) {
      const failure = await this.#once(reads).catch((error: unknown) => String(error));
      if (failure === null) {
        this.answered += 1;
        const now = performance.now();
        this.longestGap = Math.max(this.longestGap, now - this.#last);
        this.#last = now;
      } else {
        this.failures.push(failure);
        await sleep(20);
      }
      await sleep(5);
    }
  }

  /** Sends one request; null if it was answered as it should be, else what became of it. */
  #once(reads: boolean): Promise<string | null> {
    const body = reads ? undefined : JSON.stringify({ scope: 'read', description: 'load' });
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(reads ? '/api/v2/me/' : '/api/v2/tokens/', this.#url),
        {
          agent: this.#agent,
          method: reads ? 'GET' : 'POST',
          headers: { ...bearer(this.#token), ...(body && { 'content-type': 'application/json' }) },
          timeout: 30_000,
        },
        async (response) => {
          try {
            let text = '';
            for await (const chunk of response) text += String(chunk);
            const isGood = response.statusCode === (reads ? 200 : 201);
            if (isGood && !reads) this.created.add((JSON.parse(text) as { id: number }).id);
            resolve(isGood ? null : `${response.statusCode}`);
          } catch (error) {
            reject(error as Error);
          }
        },
      );
      sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer within 30 s')));
      sent.end(body);
    });
  }
}

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;

describe.skipIf(!hasHaproxy)('three replicas of the service behind HAProxy, on one PostgreSQL', () => {
  const replicas = new Map<string, Replica>();
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let servers: ReplicatedPostgres;
  let database: Awaited<ReturnType<typeof startProxy>>;
  let balancer: Awaited<ReturnType<typeof startBalancer>>;
  let admin: Client;
  let token: string;

  beforeAll(async () => {
    folder = await temporaryFolder();
    servers = await startReplicatedPostgres();
    const url = await createDatabase(servers.primary, { name: 'automation' });
    await servers.synchronize();
    database = await startProxy(url);
    const file = join(folder.path, 'database');
    writeFileSync(file, database.url, { mode: 0o600 });
    for (const name of REPLICAS) replicas.set(name, new Replica(await freePort(), file));
    for (const replica of replicas.values()) await replica.start();
    balancer = await startBalancer(folder.path, replicas);
    for (const name of REPLICAS) await balancer.up(name);
    admin = new Client(balancer.url, basic('admin', PASSWORD));
    token = (await admin.post('/api/v2/tokens/', { scope: 'write' })).json.token;
  });
  afterAll(async () => {
    await balancer?.stop();
    for (const replica of replicas.values()) await replica.end('SIGKILL');
    await database?.[Symbol.asyncDispose]();
    await servers?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  /** Those of the created tokens that are not in the list of tokens: acknowledged, and lost. */
  async function lost({ created }: Load): Promise<number[]> {
    const found = new Set<number>();
    let path: string | null = '/api/v2/tokens/?page_size=200&order_by=id';
    while (path !== null) {
      const { json } = await admin.get(path);
      for (const { id } of json.results) found.add(id);
      path = json['next'] as string | null;
    }
    return [...created].filter((id) => !found.has(id));
  }

  function underLoad(): Load {
    const load = new Load(balancer.url, token).start();
    onTestFinished(() => load.stop());
    return load;
  }

  test('what one revokes, all refuse with the next request', async () => {
    const [a, ...others] = [...replicas.values()];
    if (a === undefined) throw new Error('There is no replica');
    for (let round = 0; round < 50; round += 1) {
      const made = (await admin.post('/api/v2/tokens/', { scope: 'read' })).json;
      const on = ({ url }: Replica) => new Client(url, bearer(made.token)).get('/api/v2/me/');
      for (const replica of replicas.values()) expect((await on(replica)).status).toBe(200);
      const revoker = new Client(a.url, bearer(token));
      expect((await revoker.delete(`/api/v2/tokens/${made.id}/`)).status).toBe(204);
      const answers = await Promise.all([a, ...others].map(on));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    }
  });

  test('a rolling restart fails no request', async () => {
    const load = underLoad();
    const begun = performance.now();
    for (const [name, replica] of replicas) {
      await balancer.state(name, 'drain');
      await sleep(1000);
      await replica.end('SIGTERM');
      await replica.start();
      await balancer.state(name, 'ready');
      await balancer.up(name);
    }
    const seconds = (performance.now() - begun) / 1000;
    await load.stop();
    report(
      `Rolling restart: ${load.answered} requests in ${seconds.toFixed(1)} s, ${load.failures.length} failed.`,
    );
    expect(load.failures).toEqual([]);
    expect(load.answered).toBeGreaterThan(100);
    expect(await lost(load)).toEqual([]);
  });

  test('a killed replica takes with it what it had under way, and nothing that was acknowledged', async () => {
    const load = underLoad();
    await sleep(2000);
    await replicas.get('b')?.end('SIGKILL');
    await sleep(3000);
    const failedAtTheKill = load.failures.length;
    await replicas.get('b')?.start();
    await balancer.up('b');
    await sleep(1000);
    await load.stop();
    report(
      `Killed replica: ${load.answered} answered, ${load.failures.length} failed, longest gap ${Math.round(load.longestGap)} ms.`,
    );
    // Each client can have had one request there, and sends one more there until the second check that fails.
    expect(failedAtTheKill).toBeLessThanOrEqual(2 * CLIENTS);
    expect(load.failures.slice(failedAtTheKill)).toEqual([]);
    expect(await lost(load)).toEqual([]);
  });

  test('after the primary was replaced by its standby, all work again within 5 s, and nothing acknowledged is lost', async () => {
    const load = underLoad();
    await sleep(2000);
    database.redirect(servers.standby);
    await servers.failOver();
    const promoted = performance.now();
    for (const { url } of replicas.values()) {
      const client = new Client(url, bearer(token));
      while ((await client.get('/api/v2/me/').catch(() => null))?.status !== 200) await sleep(20);
      while ((await client.post('/api/v2/tokens/', { scope: 'read' }).catch(() => null))?.status !== 201)
        await sleep(20);
    }
    const seconds = (performance.now() - promoted) / 1000;
    await sleep(2000);
    await load.stop();
    report(
      `Replaced primary: all replicas read and write ${seconds.toFixed(2)} s after its promotion; ${load.created.size} tokens acknowledged, ${load.failures.length} requests failed.`,
    );
    expect(seconds).toBeLessThan(5);
    expect(load.created.size).toBeGreaterThan(10);
    expect(await lost(load)).toEqual([]);
  });
});

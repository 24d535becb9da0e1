import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, SECRET_KEY, serviceDatabase, startTestService } from '@tokenctl/service/testing/service.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { AUDIENCE, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { type Run, type Running, startTokenctl, tokenctl } from '../process/cli/program.ts';

/** An entry of the audit log, as far as tests look. */
interface LoggedEntry {
  readonly kind: string;
  readonly operation: string;
  readonly actor: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A service on PostgreSQL, an issuer of identities, and a configuration of a broker for both. */
export interface BrokerWorld extends AsyncDisposable {
  readonly service: RunningService;
  readonly issuer: Transmitter;
  readonly folder: string;
  readonly config: string;
  /** The database of the service. */
  readonly databaseUrl: Secret;
  /** A broker in a process of its own. */
  serve(): Promise<{ readonly url: string; readonly process: Running }>;
  /** What a run of the pipeline gets of its issuer; with `undefined`, a claim is left out. */
  identity(claims?: object, signing?: object): Promise<string>;
  run(...args: readonly string[]): Promise<Run>;
  entries(): readonly LoggedEntry[];
  /** The status that the service answers to a token. */
  status(token: string): Promise<number>;
  /** The descriptions of the tokens that brokers made and that are there. */
  living(): Promise<readonly string[]>;
}

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';

/** Asks a broker for a token, as curl does. */
export async function exchange(
  broker: string,
  identity: string,
  more: Readonly<Record<string, string>> = {},
) {
  const body = new URLSearchParams({
    ...{ grant_type: GRANT, subject_token: identity, subject_token_type: JWT_TYPE, ...more },
  });
  const response = await fetch(`${broker}/token`, { method: 'POST', body });
  const answer = (await response.json()) as Readonly<Record<string, string>>;
  return { status: response.status, headers: response.headers, answer, token: answer['access_token'] ?? '' };
}

/** Starts one. Its rules give `robot` tokens in the database, and `admin` over REST, of which so many may live. */
export async function brokerWorld({ live = 1 } = {}): Promise<BrokerWorld> {
  const databaseUrl = await serviceDatabase();
  const service = await startTestService({
    database: { url: new Secret(databaseUrl) },
    secretKey: SECRET_KEY,
  });
  await service.database.execute(
    "INSERT INTO auth_user (username, password, is_superuser) VALUES ('robot', '!', true)",
  );
  const issuer: Transmitter = await startTransmitter(async ({ url, headers }, base) => {
    if (url === '/.well-known/openid-configuration')
      return { status: 200, body: { issuer: base, jwks_uri: `${base}/jwks` } };
    // As GitHub Actions gives a run its identity.
    const asked = new URL(url ?? '/', base);
    if (asked.pathname !== '/identity') return null;
    if (headers.authorization !== 'Bearer of-the-run') return { status: 401, body: {} };
    return { status: 200, body: { value: await identity({ aud: asked.searchParams.get('audience') }) } };
  });
  const identity: BrokerWorld['identity'] = (claims = {}, signing = {}) =>
    issuer.sign(
      {
        ...{ aud: AUDIENCE, sub: 'repo:acme/infra:ref:refs/heads/main', jti: randomUUID(), run_id: '4711' },
        ...{ repository: 'acme/infra', ref: 'refs/heads/main', exp: Math.floor(Date.now() / 1000) + 300 },
        ...claims,
      },
      { typ: 'JWT', ...signing },
    );
  const home = await temporaryFolder();
  const folder = home.path;
  const config = join(folder, 'tokenctl.yaml');
  writeFileSync(join(folder, 'database.url'), databaseUrl, { mode: 0o600 });
  writeFileSync(join(folder, 'admin.password'), ADMIN.password, { mode: 0o600 });
  writeFileSync(
    config,
    `currentContext: db
contexts:
  db: { database: { file: database.url } }
  rest: { url: "${service.url}", username: admin, password: { file: admin.password }, databaseContext: db }
broker:
  port: 0
  audience: ${AUDIENCE}
  issuers:
    ci: { url: "${issuer.issuer}" }
  rules:
    deploy:
      issuer: ci
      claims: { repository: acme/infra, ref: refs/heads/main }
      context: db
      user: robot
      live: 1000
      hourly: 10000
    report:
      issuer: ci
      claims: { repository: acme/report }
      context: rest
      scope: read
      lifetime: 5m
      live: ${live}
      hourly: 10000
`,
  );
  const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'state') };
  const started: Running[] = [];
  return {
    ...{ service, issuer, folder, config, identity, databaseUrl: new Secret(databaseUrl) },
    async serve() {
      const process = startTokenctl(['broker', 'serve', '--config', config], { env });
      started.push(process);
      const said = await process.says(/ at (http:\S+)\. Press/);
      return { url: / at (http:\S+)\. Press/.exec(said)?.[1] ?? '', process };
    },
    run: (...args) => tokenctl([...args, '--config', config], { env }),
    entries: () =>
      readFileSync(join(folder, 'state/tokenctl/audit.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LoggedEntry),
    async status(token) {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${service.url}/api/v2/me/`, { headers })).status;
    },
    async living() {
      const rows = await service.database.query<{ description: string }>(
        `SELECT description FROM main_oauth2accesstoken WHERE description LIKE 'broker %' ORDER BY id`,
      );
      return rows.map(({ description }) => description);
    },
    async [Symbol.asyncDispose]() {
      for (const process of started) process.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await issuer.close();
      await service.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

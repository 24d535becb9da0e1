import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, basic, bearer, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { afterAll, beforeAll } from 'vitest';
import {
  type Run,
  type Running,
  type RunOptions,
  startTokenctl,
  temporaryFolder,
  tokenctl,
} from './program.ts';

/** An address without a server: no program listens on TCP port 1. */
const NOWHERE = 'http://127.0.0.1:1';

/** Users of every service, in addition to its administrator. */
const USERS = ['alice', 'bob'];
const PASSWORD = 'of-everyone-here';

/** One of the services. */
interface TestService {
  readonly url: string;
  /** A token of the administrator, as the operator's credential. */
  readonly token: string;
  /** Makes that many tokens of a user; resolves with their values. */
  makeTokens(username: string, count: number): Promise<string[]>;
  /** How many tokens there are, the operator's among them. */
  countTokens(): Promise<number>;
  /** Makes a user of an identity provider, with that many tokens. */
  addExternal(username: string, tokens: number): Promise<void>;
  /** Makes a user of this name who can sign in. */
  addUser(username: string): Promise<void>;
}

/** Several services, and the program working on them. */
export interface Services {
  readonly services: () => readonly TestService[];
  /** A home with a context `s1`, `s2`, … for each service, in the groups given. */
  readonly home: (groups?: Readonly<Record<string, readonly string[]>>) => ContextsHome;
}

/** A home folder with contexts. */
export interface ContextsHome {
  readonly folder: string;
  readonly log: string;
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Run>;
  readonly start: (args: readonly string[]) => Running;
  /** Runs a command with `--json` and reads what it prints. */
  readonly json: (args: readonly string[]) => Promise<{ readonly code: number | null; readonly value: Json }>;
  /** Has a context's address be one where nothing answers, a given one, or its own again. */
  readonly cutOff: (context: string, off?: boolean | string) => void;
  /** Has a context's token be one that is refused, or its own again. */
  readonly lockOut: (context: string, out?: boolean) => void;
}

/** What the program printed as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows the shape that it asked for.
type Json = any;

/** Starts that many services for a test file. */
export function severalServices(size: number): Services {
  const running: RunningService[] = [];
  const services: TestService[] = [];
  beforeAll(async () => {
    for (let number = 1; number <= size; number += 1) {
      const service = await startTestService();
      running.push(service);
      services.push(await launched(service));
    }
  });
  afterAll(() => Promise.all(running.map((service) => service.close())));
  return { services: () => services, home: (groups = {}) => homeFor(services, groups) };
}

async function launched({ url, database }: RunningService): Promise<TestService> {
  const admin = new Client(url, basic(ADMIN.username, ADMIN.password));
  const operator = await admin.post('/api/v2/tokens/', { scope: 'write', description: 'operator' });
  const { token } = operator.json;
  const superuser = new Client(url, bearer(token));
  const ids = new Map<string, number>();
  const service: TestService = {
    url,
    token,
    async makeTokens(username, count) {
      const own = new Client(url, basic(username, PASSWORD));
      const path = `/api/v2/users/${ids.get(username)}/personal_tokens/`;
      const values: string[] = [];
      for (let made = 0; made < count; made += 1) {
        values.push((await own.post(path, { scope: 'write' })).json.token);
      }
      return values;
    },
    async addExternal(username, tokens) {
      await service.addUser(username);
      await database.execute(
        `INSERT INTO social_auth_usersocialauth (provider, uid, user_id)
         SELECT 'github', username, id FROM auth_user WHERE username = $1`,
        [username],
      );
      await database.execute(
        `INSERT INTO main_oauth2accesstoken (token, user_id, scope, description, created, modified, expires)
         SELECT gen_random_uuid()::text, u.id, 'write', '', now(), now(), now() + interval '1 year'
         FROM auth_user u, generate_series(1, $1::int) WHERE u.username = $2`,
        [tokens, username],
      );
    },
    countTokens: async () => (await superuser.get('/api/v2/tokens/')).json.count,
    async addUser(username) {
      const made = await superuser.post('/api/v2/users/', { username, password: PASSWORD });
      ids.set(username, made.json.id);
    },
  };
  for (const username of USERS) await service.addUser(username);
  return service;
}

function homeFor(
  services: readonly TestService[],
  groups: Readonly<Record<string, readonly string[]>>,
): ContextsHome {
  const folder = temporaryFolder();
  const log = join(folder, 'audit.jsonl');
  const addresses = new Map(services.map(({ url }, index) => [`s${index + 1}`, url]));
  const tokenFile = (context: string) => join(folder, `${context}.token`);
  const lockOut = (context: string, out = true) => {
    const own = services[Number(context.slice(1)) - 1]?.token ?? '';
    writeFileSync(tokenFile(context), out ? 'a-token-of-nobody' : own, { mode: 0o600 });
  };
  const configure = () => {
    const contexts = [...addresses].map(
      ([name, url]) => `  ${name}: { url: "${url}", token: { file: "${tokenFile(name)}" } }\n`,
    );
    const text = `contexts:\n${contexts.join('')}groups: ${JSON.stringify(groups)}\nauditLog: { file: "${log}" }\n`;
    writeFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), text);
  };
  mkdirSync(join(folder, '.config/tokenctl'), { recursive: true });
  for (const name of addresses.keys()) lockOut(name, false);
  configure();
  const start = (args: readonly string[], options: RunOptions = {}) =>
    startTokenctl(args, { ...options, env: { HOME: folder, ...options.env } });
  const run = (args: readonly string[], options: RunOptions = {}) =>
    tokenctl(args, { ...options, env: { HOME: folder, ...options.env } });
  return {
    folder,
    log,
    run,
    start,
    lockOut,
    cutOff(context, off = true) {
      const address = typeof off === 'string' ? off : NOWHERE;
      addresses.set(context, off ? address : (services[Number(context.slice(1)) - 1]?.url ?? ''));
      configure();
    },
    async json(args) {
      const { stdout, code } = await run([...args, '--json']);
      return { code, value: JSON.parse(stdout) };
    },
  };
}

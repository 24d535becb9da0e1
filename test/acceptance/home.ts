import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Run, type Running, startTokenctl, tokenctl } from '../process/cli/program.ts';
import { configure } from '../support/drafts.ts';
import { homesFolder } from './description.ts';
import type { Installation } from './installation.ts';
import type { Account } from './own-objects.ts';

/** A home with contexts of the installation, and the program in it. */
export interface Home {
  readonly folder: string;
  /** Runs tokenctl inside this process. */
  readonly run: (...args: string[]) => Promise<Run>;
  /** Runs it with `--json`, and gives the exit code with what stdout held. */
  readonly json: <T = Readonly<Record<string, unknown>>>(
    ...args: string[]
  ) => Promise<{ code: number | null; body: T; stderr: string }>;
  /** Starts it as a process of its own: for signals. */
  readonly start: (...args: string[]) => Running;
}

/** How a home reaches the installation. */
export interface HomeOptions {
  /** Over REST as this user, with the password. Default: the superuser, with the run's token. */
  readonly account?: Account;
  /** The database's URL; default: as described. */
  readonly databaseUrl?: string;
  /** The current context. Default: `rest`. */
  readonly current?: 'rest' | 'db';
  /** Whether `rest` names `db` as the database of its controller. */
  readonly paired?: boolean;
  /** Whether `db` has the described session cache. Default: yes. */
  readonly cached?: boolean;
}

/** Makes a home whose contexts are `rest` and, if there is a database, `db`, with an audit log of its own. */
export function homeOf(it: Installation, options: HomeOptions = {}): Home {
  const homes = homesFolder(it.description);
  mkdirSync(homes, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(homes, 'home-'));
  it.homes.push(folder);
  const secret = (name: string, value: string) => {
    writeFileSync(join(folder, name), `${value}\n`, { mode: 0o600 });
    it.secretFiles.add(join(folder, name));
    return { file: join(folder, name) };
  };
  const {
    token: _token,
    username: _name,
    password: _password,
    databaseContext: _,
    ...rest
  } = it.description.rest;
  const { account, current = 'rest', paired = false, cached = true } = options;
  const credential =
    account === undefined
      ? { token: secret('rest.token', it.admin.token) }
      : { username: account.name, password: secret('rest.password', account.password) };
  // Of a platform, the suites use one component.
  const component = it.isPlatform ? { component: it.isGateway ? 'gateway' : 'controller' } : {};
  const contexts: Record<string, object> = {
    rest: { ...rest, ...component, ...credential, ...(paired && { databaseContext: 'db' }) },
  };
  if (it.description.database !== undefined) {
    const { cache } = it.description.database;
    contexts['db'] = {
      database: secret('db.url', options.databaseUrl ?? it.databaseUrl),
      ...(cache !== undefined && cached && { cache }),
    };
  }
  // JSON is YAML.
  configure(folder, JSON.stringify({ currentContext: current, contexts }));
  const env = { ...it.databaseEnvironment, HOME: folder };
  const noted = (args: readonly string[], ended: Run): Run => {
    it.printed.push({ command: args.join(' '), text: `${ended.stdout}${ended.stderr}` });
    return ended;
  };
  const run = async (...args: string[]) => noted(args, await tokenctl(args, { env }));
  return {
    folder,
    run,
    json: async <T>(...args: string[]) => {
      const { code, stdout, stderr } = await run(...args, '--json');
      try {
        return { code, body: JSON.parse(stdout) as T, stderr };
      } catch {
        throw new Error(`${args.join(' ')}: exit ${code}, not JSON\n${stdout}\n${stderr}`);
      }
    },
    start: (...args) => {
      const running = startTokenctl(args, { env });
      return { ...running, ended: running.ended.then((ended) => noted(args, ended)) };
    },
  };
}

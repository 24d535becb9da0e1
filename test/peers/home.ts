import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Run, type Running, startTokenctl, temporaryFolder, tokenctl } from '../process/cli/program.ts';
import type { Peer } from './peer.ts';

/** A home with contexts of a peer, and the program in it. */
export interface PeerHome {
  readonly folder: string;
  /** Runs tokenctl inside the test's process. */
  readonly run: (...args: string[]) => Promise<Run>;
  /** Runs it with `--json`, and gives the exit code with what stdout held. */
  readonly json: <T = Record<string, unknown>>(
    ...args: string[]
  ) => Promise<{ code: number | null; body: T; stderr: string }>;
  /** Starts it as a process of its own: for signals and time. */
  readonly start: (...args: string[]) => Running;
}

/** How a home reaches the peer. */
export interface PeerHomeOptions {
  /** Over REST as this user, with the password. Default: the admin's token of the fill. */
  readonly user?: string;
  /** Over REST with this token. */
  readonly token?: string;
  /** The database's URL; default: of the owner. */
  readonly database?: string;
  /** The URL of a gateway's session cache, for the context `db`. */
  readonly cache?: string;
  /** The current context. Default: `rest`. */
  readonly current?: 'rest' | 'db';
  /** Whether `rest` names `db` as the database of its controller. */
  readonly paired?: boolean;
}

/** Makes a home whose contexts are `rest` and `db`, with an audit log of its own. */
export function homeOf(peer: Peer, options: PeerHomeOptions = {}): PeerHome {
  const folder = temporaryFolder();
  const secret = (name: string, value: string): string => {
    writeFileSync(join(folder, name), `${value}\n`, { mode: 0o600 });
    return join(folder, name);
  };
  const credential =
    options.user === undefined
      ? `token: { file: "${secret('rest.token', options.token ?? peer.fill.admintoken)}" }`
      : `username: ${options.user}, password: { file: "${secret('rest.password', `${options.user}pw`)}" }`;
  const cache =
    options.cache === undefined
      ? ''
      : `, cache: { redis: { file: "${secret('cache.url', options.cache)}" } }`;
  const database = secret('db.url', options.database ?? peer.databaseUrl());
  mkdirSync(join(folder, '.config/tokenctl'), { recursive: true });
  writeFileSync(
    join(folder, '.config/tokenctl/tokenctl.yaml'),
    `currentContext: ${options.current ?? 'rest'}
contexts:
  rest: { url: "${peer.url}", ${credential}${options.paired === true ? ', databaseContext: db' : ''} }
  db: { database: { file: "${database}" }${cache} }
`,
  );
  const env = { HOME: folder };
  const run = (...args: string[]) => tokenctl(args, { env });
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
    start: (...args) => startTokenctl(args, { env }),
  };
}

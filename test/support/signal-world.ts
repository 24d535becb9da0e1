import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import {
  ADMIN,
  basic,
  bearer,
  Client,
  serviceDatabase,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { AUDIENCE, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { until } from '@tokenctl/testing/until.ts';
import type { Signal } from '../../src/operations/ports/signals.ts';
import { openSignals } from '../../src/signals/signal-store.ts';
import { bundledProgram } from './bundled-program.ts';

/** The receiver in one file; a test file makes it for its tests. */
export const receiverProgram = () =>
  bundledProgram(join(import.meta.dirname, '../unit/signals/signals-process.ts'));

/** A user of the service, with a token. */
interface Member {
  readonly name: string;
  readonly email: string;
  readonly id: number;
  readonly token: string;
}

/** A receiver in a process of its own. */
export interface RunningReceiver extends AsyncDisposable {
  readonly url: string;
  said(): string;
  readonly pid: number;
  /** When the process has ended, however. */
  readonly exited: Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
}

/** A service, a transmitter, and a configuration of tokenctl for both. */
export interface SignalWorld extends AsyncDisposable {
  readonly service: RunningService;
  readonly transmitter: Transmitter;
  readonly folder: string;
  readonly config: string;
  /** Creates a user with a token. The account is one of the provider `test`, unless it is to be local. */
  member(name: string, options?: { readonly local?: boolean; readonly email?: string }): Promise<Member>;
  /** Gives a user another token. */
  newToken(member: Member): Promise<string>;
  /** Whether the service accepts a token. */
  accepts(token: string): Promise<boolean>;
  /** Replaces a text of the configuration, and starts a receiver with that. */
  receiveWith(text: string, replacement: string): Promise<RunningReceiver>;
  /** Starts a receiver; `death` are the arguments of signals-process.ts that say when it dies. */
  receive(...death: string[]): Promise<RunningReceiver>;
  push(receiver: RunningReceiver, token: string, more?: Readonly<Record<string, string>>): Promise<Response>;
  signals(): Promise<readonly Signal[]>;
  auditLog(): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const STREAM_TOKEN = 'the-token-of-the-stream';
/** What the client of the transmitter's management API sends. */
export const MANAGEMENT_TOKEN = 'the-token-of-the-client';
const PASSWORD = 'a pass phrase of the tests';

/**
 * @param program What {@link receiverProgram} made.
 * @param more Further lines of the section `signals`, indented by two.
 */
export async function signalWorld({
  program,
  more = '  localUsers: act',
  transmitterLines = '',
  context = 'database',
  contexts = '',
  delivery = '      audience: https://tokenctl.example.com\n      push: { token: { file: stream.token } }',
  serve,
}: {
  program: ReturnType<typeof receiverProgram>;
  more?: string;
  transmitterLines?: string;
  context?: 'database' | 'rest';
  /** Lines of further contexts. */
  contexts?: string;
  /** How events arrive: lines of the transmitter, indented by six. */
  delivery?: string | ((url: string) => string);
  serve?: Parameters<typeof startTransmitter>[0];
}): Promise<SignalWorld> {
  const url = await serviceDatabase();
  const service = await startTestService({ database: { url: new Secret(url) } });
  const transmitter = await startTransmitter(serve);
  const folder = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  const config = at('tokenctl.yaml');
  await writeFile(at('database.url'), url, { mode: 0o600 });
  await writeFile(at('admin.password'), ADMIN.password, { mode: 0o600 });
  await writeFile(at('stream.token'), STREAM_TOKEN, { mode: 0o600 });
  await writeFile(at('management.token'), MANAGEMENT_TOKEN, { mode: 0o600 });
  await writeFile(
    config,
    `currentContext: ${context}
contexts:
  database: { database: { file: database.url } }
  rest: { url: "${service.url}", username: ${ADMIN.username}, password: { file: admin.password } }
${contexts}
auditLog: { file: audit.jsonl }
signals:
  port: 0
  queue: { file: signals.sqlite }
${more}
  transmitters:
    idp:
      issuer: ${transmitter.issuer}
      jwks: ${transmitter.jwks}
${typeof delivery === 'string' ? delivery : delivery(transmitter.issuer)}
      revocation: { audience: ${AUDIENCE} }
      logout: { audience: ${AUDIENCE} }
      accounts: { provider: test, uid: "{sub}" }
${transmitterLines}
`,
  );
  const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  await admin.patch('/api/v2/settings/all/', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
  const opened: RunningReceiver[] = [];
  const newToken = async (name: string) => {
    const client = new Client(service.url, basic(name, PASSWORD));
    const { json } = await client.post('/api/v2/tokens/', { scope: 'write' });
    return json.token;
  };
  const world: SignalWorld = {
    service,
    transmitter,
    folder: folder.path,
    config,
    async member(name, { local = false, email = `${name}@example.org` } = {}) {
      const { json } = await admin.post('/api/v2/users/', { username: name, password: PASSWORD, email });
      const { id } = json;
      const token = await newToken(name);
      if (!local) {
        await service.database.execute(
          `INSERT INTO social_auth_usersocialauth (provider, uid, extra_data, user_id, created, modified)
           VALUES ('test', $1, '{}', $2, now(), now())`,
          [`uid-${name}`, id],
        );
      }
      return { name, email, id, token };
    },
    newToken: ({ name }) => newToken(name),
    async accepts(token) {
      const { status } = await new Client(service.url, bearer(token)).get('/api/v2/me/');
      return status === 200;
    },
    async receiveWith(text, replacement) {
      const written = await readFile(config, 'utf8');
      await writeFile(config, written.replace(text, replacement));
      return await world.receive();
    },
    async receive(...death) {
      const child = spawn(process.execPath, [program.path(), config, ...death], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, HOME: folder.path, XDG_STATE_HOME: join(folder.path, 'state') },
      });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      const exited = once(child, 'exit');
      const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
      const address = / at (http:\S+)\. Press/;
      const found = address.exec(
        await until(
          () => said,
          (text) => address.test(text) || hasEnded(),
        ),
      );
      if (found === null) throw new Error(`the receiver did not start: ${said}`);
      const receiver: RunningReceiver = {
        url: found[1] ?? '',
        said: () => said,
        pid: child.pid ?? 0,
        exited,
        kill: (signal) => void child.kill(signal),
        async [Symbol.asyncDispose]() {
          child.kill('SIGKILL');
          await exited;
        },
      };
      opened.push(receiver);
      return receiver;
    },
    push: (receiver, token, headers = {}) =>
      fetch(`${receiver.url}/signals/idp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/secevent+jwt',
          authorization: `Bearer ${STREAM_TOKEN}`,
          ...headers,
        },
        body: token,
      }),
    async signals() {
      const store = await openSignals(at('signals.sqlite'));
      try {
        return await store.list({ limit: 100_000 });
      } finally {
        await store.close();
      }
    },
    async auditLog() {
      const text = await readFile(at('audit.jsonl'), 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    async [Symbol.asyncDispose]() {
      for (const receiver of opened) await receiver[Symbol.asyncDispose]();
      await transmitter.close();
      await service.close();
      await folder[Symbol.asyncDispose]();
    },
  };
  return world;
}

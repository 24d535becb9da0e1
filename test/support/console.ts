import { fileURLToPath } from 'node:url';
import { until } from '@tokenctl/testing/until.ts';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { onTestFinished } from 'vitest';
import { ConsoleAccess, cookieName, KEY_HEADER } from '../../src/console/access.ts';
import type { IncidentList } from '../../src/console/case/read-incidents.ts';
import type { OperationState } from '../../src/console/operations.ts';
import type { Fleet } from '../../src/console/overview.ts';
import { openPlaces } from '../../src/console/places.ts';
import { type BuiltConsole, buildConsole } from '../../src/console/server.ts';
import type { TokenPage } from '../../src/console/tokens/token-table.ts';

const HOST = '127.0.0.1:8000';

/** A console of a test; it does not listen until it is asked to. */
export interface TestConsole extends BuiltConsole {
  readonly access: ConsoleAccess;
  /** Its routes: method and path. */
  readonly routes: readonly { readonly method: string; readonly url: string }[];
  /** The headers of its page in a browser that opened its address. */
  readonly headers: Readonly<Record<string, string>>;
  /** Listens on a free port, and gives an address for a browser. */
  readonly listen: () => Promise<string>;
  readonly send: (url: string, body?: object) => Promise<LightMyRequestResponse>;
  /** Waits until an operation is in one of these states. */
  readonly reached: (id: string, ...states: readonly OperationState['state'][]) => Promise<OperationState>;
}

/** Builds a console for a home folder. */
export async function testConsole(options: {
  readonly home: string;
  readonly config?: string;
  readonly context?: string;
  readonly allContexts?: boolean;
  readonly readOnly?: boolean;
  readonly now?: () => number;
  readonly logFile?: string;
  /** Besides HOME. */
  readonly environment?: Readonly<Record<string, string>>;
}): Promise<TestConsole> {
  const { home, context, logFile, readOnly = false, now = () => 0 } = options;
  const places = await openPlaces({
    flags: { context, config: options.config, logFile, databaseFile: undefined },
    allContexts: options.allContexts ?? false,
    environment: { HOME: home, ...options.environment },
    version: '0.0.0',
  });
  const access = new ConsoleAccess(now);
  const routes: { method: string; url: string }[] = [];
  let host = HOST;
  const built = await buildConsole({
    places,
    readOnly,
    access,
    version: '0.0.0',
    root: fileURLToPath(new URL('../..', import.meta.url)),
    host: () => host,
    onRoute: ({ method, url }) => {
      for (const each of [method].flat()) routes.push({ method: each, url });
    },
  });
  await built.app.ready();
  const { cookie = '', key = '' } = access.redeem(access.newCode()) ?? {};
  const headers = {
    host: HOST,
    origin: `http://${HOST}`,
    cookie: `${cookieName(HOST)}=${cookie}`,
    [KEY_HEADER]: key,
  };
  const send = (url: string, body?: object) => {
    const request: InjectOptions = { url, headers, method: body === undefined ? 'GET' : 'POST' };
    return built.app.inject({ ...request, ...(body !== undefined && { payload: body }) });
  };
  return {
    ...built,
    access,
    routes,
    headers,
    send,
    async listen() {
      host = new URL(await built.app.listen({ host: '127.0.0.1', port: 0 })).host;
      return `http://${host}/open?code=${access.newCode()}`;
    },
    async reached(id, ...states) {
      for (;;) {
        const state = built.operations.get(id);
        if (states.includes(state.state)) return state;
        if (state.ended !== null) throw new Error(`${state.state}: ${state.failure?.message}`);
        await new Promise<void>((resolve) => {
          const stop = built.operations.watch(id, () => {
            stop();
            resolve();
          });
        });
      }
    },
  };
}

/** The console of a home folder, closed with the test. */
export async function consoleOf(
  { folder }: { folder: string },
  options: Partial<Parameters<typeof testConsole>[0]> = {},
): Promise<TestConsole> {
  const opened = await testConsole({ home: folder, ...options });
  onTestFinished(async () => {
    await opened.operations.close();
    await opened.app.close();
  });
  return opened;
}

/** Begins a change, and gives what it asks for, or how it ended without asking. */
export async function begin({ send, reached }: TestConsole, change: object): Promise<OperationState> {
  const begun = await send('/api/operations', change);
  if (begun.statusCode !== 201) throw new Error(`${begun.statusCode}: ${begun.body}`);
  const { id } = begun.json() as OperationState;
  return await reached(id, 'asking', 'done', 'failed');
}

/** Confirms what a change asks for, as often as it asks; gives how it ended. */
export async function confirmed(
  { send, reached }: TestConsole,
  asking: OperationState,
): Promise<OperationState> {
  let state = asking;
  while (state.state === 'asking' && state.asked !== null) {
    const { type: answer, digest } = state.asked;
    await send(`/api/operations/${state.id}/confirm`, { answer, digest });
    state = await reached(state.id, 'asking', 'done', 'failed', 'canceled');
  }
  return state;
}

/** The incidents of the first controller of a console, once they are read. */
export async function incidentsOf({ send }: Pick<TestConsole, 'send'>): Promise<Partial<IncidentList>> {
  type Read = Awaited<ReturnType<Fleet['incidents']>>;
  await send('/api/incidents?anew=true');
  const read = async () => (await send('/api/incidents')).json().controllers as Read;
  const [first] = await until(read, ([each]) => each?.list.waits === null);
  return first?.list.value ?? {};
}

/** The tokens of a console that match a query, once all are read. */
export async function tokensOf({ send }: Pick<TestConsole, 'send'>, more = ''): Promise<TokenPage> {
  const read = async () => (await send(`/api/tokens?limit=500${more}`)).json() as TokenPage;
  return await until(read, ({ readings }) => readings.every(({ state }) => state !== 'reading'));
}

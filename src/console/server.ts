import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import cookie from '@fastify/cookie';
import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { tryListening } from '@tokenctl/common/network/try-listening.ts';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { ZodError } from 'zod';
import type { RuntimeOptions } from '../app/runtime.ts';
import { catchSignals } from '../app/stop-signals.ts';
import { failureOf, failureToJson } from '../cli/errors/failure.ts';
import { stateFolder } from '../config/paths.ts';
import { ConsoleAccess, checkRequests, cookieName, KEY_HEADER, RequestRefused } from './access.ts';
import { Audits } from './audits.ts';
import { Controllers } from './controllers.ts';
import { type OperationState, Operations } from './operations.ts';
import { Fleet } from './overview.ts';
import { servePage } from './page-files.ts';
import { openPlaces, type PlacesOptions } from './places.ts';
import { type ConsoleParts, serveConsole } from './routes.ts';
import { TokenTable } from './tokens/token-table.ts';

const HOST = '127.0.0.1';
/** The maximum body size: a few thousand ids. */
const BODY_LIMIT = 128 * 1024;
/** The console stops after this time without a request. */
const IDLE_MS = 30 * 60_000;
const CHECK_IDLE_MS = 30_000;

export interface ConsoleOptions extends Pick<ConsoleParts, 'places' | 'readOnly' | 'version' | 'root'> {
  /** The host and port that it serves, once it listens. */
  readonly host: () => string;
  readonly access: ConsoleAccess;
  readonly onActivity?: () => void;
  /** Called for each route; for tests of all routes. */
  readonly onRoute?: (route: { readonly method: string | string[]; readonly url: string }) => void;
}

/** A console that does not listen yet. */
export interface BuiltConsole {
  readonly app: FastifyInstance;
  readonly operations: Operations;
}

/** Builds the console's server without listening. */
export async function buildConsole(options: ConsoleOptions): Promise<BuiltConsole> {
  const { places, readOnly, host, access, onActivity = () => undefined, onRoute } = options;
  const app = Fastify({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: 100 },
  });
  if (onRoute !== undefined) app.addHook('onRoute', onRoute);
  await app.register(cookie);
  checkRequests(app, { access, host, readOnly, onActivity });
  app.setErrorHandler((error, request, reply) => {
    const { status, body } = refusalOf(error);
    reply.code(status);
    return isForReading(request) ? reply.type(HTML).send(REFUSED_PAGE) : reply.send(body);
  });
  serveCode(app, access, host);
  servePage(app);
  const operations = new Operations(places);
  const [audits, controllers] = [new Audits(places), new Controllers(places)];
  const fleet = new Fleet({ places, controllers, audits });
  serveConsole(app, { ...options, operations, tokens: new TokenTable(places), audits, controllers, fleet });
  return { app, operations };
}

/**
 * Passes the key from the page of {@link serveCode} to the pages of the console (`src/web/console/api.ts`),
 * and continues to the first of them. No URL contains the key: browsers keep URLs in their history, even
 * those that a page replaces.
 */
const KEEP_KEY = `localStorage.setItem('console-key', document.querySelector('meta[name=console-key]').content);
location.replace('/');
`;

/** Exchanges the code in the URL for a cookie, and a key that a script of the response stores. */
function serveCode(app: FastifyInstance, access: ConsoleAccess, host: () => string): void {
  // A HEAD request, as link previews send it, must not use up the code.
  app.get('/open', { config: { open: 'code' }, exposeHeadRoute: false }, ({ query }, reply) => {
    const code = (query as Readonly<Record<string, unknown>>)['code'];
    const secrets = typeof code === 'string' ? access.redeem(code) : null;
    reply.type(HTML);
    if (secrets === null) {
      return reply
        .code(401)
        .send(
          document(
            "<p>This address was already used, or has expired.</p><p>Press Enter in the console's terminal to get a new one.</p>",
          ),
        );
    }
    reply.setCookie(cookieName(host()), secrets.cookie, { path: '/', httpOnly: true, sameSite: 'strict' });
    // A page that navigates on its own: a redirect would count as cross-site navigation, without the cookie.
    const keepKey = `<meta name="console-key" content="${secrets.key}"><script src="/open.js" defer></script>`;
    return reply.send(document(OPENING, keepKey));
  });
  app.get('/open.js', { config: { open: 'page' } }, (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(KEEP_KEY),
  );
}

/** Whether a browser requests a page: the requests of a page itself include its key. */
function isForReading({ method, headers }: FastifyRequest): boolean {
  return (
    method === 'GET' && headers[KEY_HEADER] === undefined && (headers.accept ?? '').includes('text/html')
  );
}

function document(main: string, more = ''): string {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width">${more}`;
  return `<!doctype html><html lang="en"><head>${head}<title>tokenctl console</title></head><body><main><h1>tokenctl console</h1>${main}</main></body></html>\n`;
}

const HTML = 'text/html; charset=utf-8';

const OPENING = '<p>Opening the console…</p>';

const REFUSED_PAGE = document(
  '<p>This address is not a page of the console.</p><p><a href="/">Go to the console</a>. If this browser has not opened the console yet, press Enter in the console\'s terminal to get an address that opens it.</p>',
);

const STATUS: Readonly<Partial<Record<TokenctlErrorCode, number>>> = {
  usage: 400,
  configuration: 400,
  plan_too_large: 400,
  lockout_refused: 409,
  plan_outdated: 409,
  store_changed: 409,
  not_confirmed: 409,
  not_found: 404,
  permission_refused: 403,
  unsupported: 403,
  busy: 409,
  // The controller refuses the account of a context, not the user of the console.
  credentials_refused: 502,
  target_unreachable: 502,
  target_misbehaved: 502,
  database_unreachable: 502,
};

function refusalOf(error: unknown): { readonly status: number; readonly body: object } {
  if (error instanceof ZodError) {
    const [issue] = error.issues;
    const where = issue === undefined ? '' : `${issue.path.join('.')}: ${issue.message}`;
    return { status: 400, body: { error: { code: 'usage', message: `Invalid request: ${where}` } } };
  }
  if (error instanceof RequestRefused) return { status: error.status, body: failureToJson(failureOf(error)) };
  if (error instanceof TokenctlError) {
    return { status: STATUS[error.code] ?? 500, body: failureToJson(failureOf(error)) };
  }
  // Errors of the framework: a body that is too large or not JSON.
  const status = (error as { readonly statusCode?: unknown } | null)?.statusCode;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return { status, body: { error: { code: 'usage', message: 'Invalid request' } } };
  }
  return { status: 500, body: failureToJson(failureOf(error)) };
}

/** The input of `tokenctl console`. */
export interface ConsoleRequest extends PlacesOptions, Pick<ConsoleOptions, 'readOnly' | 'root'> {
  /** 0 for any free port. */
  readonly port: number;
  readonly open: boolean;
  readonly notify: (line: string) => void;
  /** Whether a person reads stderr. */
  readonly attended: boolean;
  /** For tests: a monotonic clock in milliseconds, and how often it is read. */
  readonly idleClock?: { readonly now: () => number; readonly checkEveryMs: number };
}

/**
 * Runs the console until stopped, or until half an hour without requests. A change in progress is finished
 * and recorded first.
 * @throws TokenctlError `configuration`, `not_found`; `usage` if the port is in use.
 */
export async function runConsole(request: ConsoleRequest): Promise<void> {
  const { environment, notify } = request;
  const { now, checkEveryMs } = request.idleClock ?? {
    now: () => performance.now(),
    checkEveryMs: CHECK_IDLE_MS,
  };
  await tryListening({ host: HOST, port: request.port }).catch((cause: unknown) => {
    throw listenFailure(request.port, cause);
  });
  const places = await openPlaces(request);
  const access = new ConsoleAccess(() => performance.now());
  const { signal, release } = catchSignals(() =>
    notify('Stopping: a change in progress is finished and recorded first.'),
  );
  let host = '';
  let active = now();
  const { app, operations } = await buildConsole({
    ...request,
    places,
    access,
    host: () => host,
    onActivity: () => {
      active = now();
    },
  });
  const isIdle = () => {
    // The half hour begins once the report can be read.
    if (operations.isWorking) active = now();
    return now() - active > IDLE_MS;
  };
  const opener = new AddressFile(environment);
  try {
    host = await listen(app, request.port);
    const address = () => `http://${host}/open?code=${access.newCode()}`;
    notify(`The console listens on http://${host} (this machine only). Ctrl-C ends it.`);
    notify(`Open this address within five minutes: ${address()}`);
    if (request.open && request.attended) opener.open(address());
    const onEnter = () => notify(`Open this address within five minutes: ${address()}`);
    if (request.attended && process.stdin.isTTY) {
      notify('Press Enter to get another address.');
      process.stdin.on('data', onEnter);
    }
    await endOf(signal, { isIdle, checkEveryMs });
    process.stdin.off('data', onEnter).pause();
    if (!signal.aborted) notify('The console was not used for 30 minutes and is stopping.');
    const unfinished = operations.all().filter(({ state }) => state === 'working');
    await operations.close();
    for (const { id } of unfinished) notify(endText(operations.get(id)));
  } finally {
    opener.remove();
    await app.close();
    release();
  }
}

/** The result of a change that the page can no longer show. */
function endText({ kind, place, result, failure }: OperationState): string {
  const [first = ''] = result?.text.split('\n') ?? [];
  return `${kind} at ${place}: ${first || (failure?.message ?? 'ended')} See the audit log for the rest.`;
}

async function listen(app: FastifyInstance, port: number): Promise<string> {
  try {
    await app.listen({ host: HOST, port });
  } catch (cause) {
    throw listenFailure(port, cause);
  }
  return `${HOST}:${(app.server.address() as AddressInfo).port}`;
}

function listenFailure(port: number, cause: unknown): TokenctlError {
  const { code } = cause as NodeJS.ErrnoException;
  const why = code === 'EADDRINUSE' ? 'it is in use' : (code ?? 'unknown reason');
  return new TokenctlError('usage', `Cannot listen on port ${port} of ${HOST}: ${why}`, {
    hint: 'Choose another port with --port.',
    cause,
  });
}

function endOf(
  signal: AbortSignal,
  { isIdle, checkEveryMs }: { isIdle: () => boolean; checkEveryMs: number },
): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => isIdle() && end(), checkEveryMs);
    const end = () => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** Opens a URL through a file readable only by this user: a process's arguments are visible to all users. */
class AddressFile {
  readonly #path: string;
  readonly #environment: RuntimeOptions['environment'];

  constructor(environment: RuntimeOptions['environment']) {
    this.#environment = environment;
    this.#path = join(stateFolder(environment), `console-${process.pid}.html`);
  }

  open(address: string): void {
    const program = opener(this.#environment);
    if (program === null) return;
    mkdirSync(stateFolder(this.#environment), { recursive: true, mode: 0o700 });
    writeFileSync(this.#path, '', { mode: 0o600 });
    chmodSync(this.#path, 0o600);
    writeFileSync(this.#path, document(OPENING, `<meta http-equiv="refresh" content="0;url=${address}">`));
    // Without a browser, there is still the printed URL.
    spawn(program, [this.#path], { stdio: 'ignore', detached: true })
      .on('error', () => undefined)
      .unref();
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

function opener(environment: RuntimeOptions['environment']): string | null {
  if (process.platform === 'darwin') return 'open';
  if (process.platform !== 'linux') return null;
  return environment['DISPLAY'] || environment['WAYLAND_DISPLAY'] ? 'xdg-open' : null;
}

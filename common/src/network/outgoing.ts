import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { Agent, type Dispatcher, errors, Pool, ProxyAgent } from 'undici';
import { codeOf, TokenctlError } from '../errors.ts';
import { isLoopback } from '../network-address.ts';
import type { Secret } from '../secret.ts';
import { readSettingUrl, type SettingUrl } from '../setting-url.ts';

/** The proxy of a context; `none` connects directly, whatever the environment says. */
export type ProxySetting = 'none' | { readonly url: Secret; readonly caFile?: string | undefined };

export interface Outgoing {
  readonly dispatcher: Dispatcher;
  /** The proxy's address without credentials; null if there is none. */
  readonly proxy: string | null;
  /** The name, for messages, of the server that responded: without TLS, a proxy's response can look like the host's. */
  readonly answeredBy: (host: string) => string;
}

/**
 * Opens connections to a host: directly, or through the proxy of the setting or else of the environment
 * (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, lowercase first). This machine is always reached directly.
 * All of the program's HTTP traffic uses this.
 * @param options.connect TLS to the host itself. The proxy's own certificate is checked with the system's
 * authorities, or `caFile`.
 * @throws TokenctlError `configuration` for an unusable proxy
 */
export function openOutgoing(
  target: URL,
  options: Agent.Options & { readonly connect?: { readonly timeout?: number } } = {},
  setting?: ProxySetting | undefined,
): Outgoing {
  const found = proxyFor(target, setting);
  if (found === null) return { dispatcher: new Agent(options), proxy: null, answeredBy: (host) => host };
  const { url, host, username, password } = found;
  const shown = `${url.protocol}//${url.host}`;
  const ca = typeof setting === 'object' && setting.caFile !== undefined ? readCa(setting.caFile) : undefined;
  const timeout = options.connect?.timeout ?? PROXY_TIMEOUT_MS;
  const { connect: _, ...limits } = options;
  const dispatcher = new ProxyAgent({
    ...options,
    uri: `${shown}/`,
    ...(username !== '' && { token: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }),
    requestTls: { ...options.connect },
    proxyTls: { timeout, ...(ca !== undefined && { ca }), ...(isIP(host) === 0 && { servername: host }) },
    // A proxy that does not respond times out like a host.
    clientFactory: (origin, more) => tunnels(new Pool(origin, { ...more, headersTimeout: timeout }), shown),
    factory: (origin, more) =>
      new Pool(
        origin,
        new URL(origin).origin === url.origin ? { ...limits, ...forwarding(more, shown) } : more,
      ),
  });
  return target.protocol === 'http:'
    ? {
        dispatcher: dispatcher.compose(ownAnswers(shown)),
        proxy: shown,
        answeredBy: (host) => `${host}, or the proxy ${shown} in front of it,`,
      }
    : { dispatcher, proxy: shown, answeredBy: (host) => host };
}

const PROXY_TIMEOUT_MS = 10_000;

/** The hint if SMTP or LDAP does not reach its server while HTTP has a proxy; undefined without a proxy. */
export function directHint(what: 'SMTP' | 'LDAP'): string | undefined {
  const names = ['https_proxy', 'http_proxy', 'all_proxy'];
  const isSet = names.some((name) => variableOf(name) !== null);
  return isSet
    ? `${what} does not use the environment's proxy, so the server must be reachable directly.`
    : undefined;
}

/** The proxy's failure among the causes of an error; null if the proxy did not fail. */
export function proxyFailure(error: unknown): TokenctlError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProxyFailure) return cause;
  return null;
}

class ProxyFailure extends TokenctlError {
  constructor(proxy: string, what: string, hint: string, cause?: unknown) {
    super('target_unreachable', `The proxy ${proxy} ${what}`, { hint, cause });
  }
}

const WHERE = '`proxy` of the context, or the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY';

/** A pool of connections to a proxy. Failures to open a tunnel are attributed to the proxy. */
function tunnels(pool: Pool, proxy: string): Pool {
  const connect = pool.connect.bind(pool) as (options: object) => Promise<Dispatcher.ConnectData>;
  const named = async (options: { readonly path: string }) => {
    const answer = await connect(options).catch((cause: unknown) => {
      throw unreachable(proxy, cause);
    });
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => undefined).destroy();
    throw refusal(proxy, answer.statusCode, options.path);
  };
  return Object.assign(pool, { connect: named });
}

/** Options of a pool that sends plain requests to a proxy. Failures to connect are attributed to the proxy. */
function forwarding(options: object, proxy: string): object {
  const { connect } = options as {
    connect?: (to: object, done: (error: Error | null, socket: unknown) => void) => void;
  };
  if (connect === undefined) return options;
  const named: typeof connect = (to, done) =>
    connect(to, (error, socket) => done(error && unreachable(proxy, error), socket));
  return { ...options, connect: named };
}

function unreachable(proxy: string, cause: unknown): ProxyFailure {
  return new ProxyFailure(proxy, failureOf(cause), `Check ${WHERE}.`, cause);
}

function failureOf(cause: unknown): string {
  if (cause instanceof errors.HTTPParserError) return 'does not respond like an HTTP proxy';
  if (cause instanceof errors.HeadersTimeoutError) return 'did not connect to the host in time';
  if (cause instanceof errors.SocketError) return 'closed the connection';
  const code = codeOf(cause) ?? 'unknown reason';
  return `could not be reached (${code})`;
}

/** Distinguishes a proxy's own responses to plain requests from the target's, as far as proxies mark them. */
function ownAnswers(proxy: string): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const refused = (status: number) => refusal(proxy, status, new URL(String(options.origin)).host);
    return dispatch(options, {
      onRequestStart: (...given) => handler.onRequestStart?.(...given),
      onResponseStart: (controller, status, headers, message) => {
        if (status >= 300 && isProxys(headers)) controller.abort(refused(status));
        else handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData: (...given) => handler.onResponseData?.(...given),
      onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
      // undici does not pass on a 407, which only a proxy sends.
      onResponseError: (controller, error) =>
        handler.onResponseError?.(controller, / \(407\)$/.test(error.message) ? refused(407) : error),
    });
  };
}

/** squid adds its error, tinyproxy its name; RFC 9209 defines a header for others. */
function isProxys(headers: IncomingHttpHeaders): boolean {
  return (
    headers['x-squid-error'] !== undefined ||
    /^tinyproxy/i.test(String(headers['server'])) ||
    /;\s*error=/.test(String(headers['proxy-status']))
  );
}

function refusal(proxy: string, status: number, target: string): ProxyFailure {
  // tinyproxy answers 401 to wrong credentials.
  if (status === 407 || status === 401) {
    const hint = `Include a user name and a password in its URL: ${WHERE}.`;
    return new ProxyFailure(proxy, `requires different credentials (${status})`, hint);
  }
  const what = status >= 500 ? 'could not reach' : 'refused to connect to';
  return new ProxyFailure(proxy, `${what} ${target} (${status})`, `Check the proxy's rules, and ${WHERE}.`);
}

function proxyFor(target: URL, setting: ProxySetting | undefined) {
  if (setting === 'none' || isLoopback(target.hostname)) return null;
  if (setting !== undefined) return readProxy(setting.url.reveal(), '`proxy` of the context');
  if (isExempt(target, variableOf('no_proxy')?.text ?? '')) return null;
  const found =
    variableOf(target.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? variableOf('all_proxy');
  return found === null ? null : readProxy(found.text, `The proxy of ${found.name}`);
}

/** A proxy variable of the environment, in the meaning of curl, Go and Python. */
function variableOf(name: string) {
  for (const each of [name, name.toUpperCase()]) {
    const text = process.env[each];
    if (text !== undefined && text !== '') return { name: each, text };
  }
  return null;
}

/** curl and others assume http for a proxy without a scheme. */
function readProxy(text: string, name: string): SettingUrl {
  return readSettingUrl(text.includes('://') ? text : `http://${text}`, {
    name,
    schemes: ['http:', 'https:'],
    hint: 'Use http://[USER:PASSWORD@]HOST:PORT or https://…. Other kinds of proxies are not supported.',
  });
}

/** Whether NO_PROXY contains a host: `*`, a name with its subdomains, an address or a network, maybe with a port. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const to = port || (protocol === 'https:' ? '443' : '80');
  return list
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      const [, bracketed, plain, only] = /^(?:\[(.+)\]|([^:]*|.*:.*:.*))(?::(\d+))?$/.exec(entry) ?? [];
      const name = (bracketed ?? plain ?? '').replace(/^\*?\./, '').replace(/\.$/, '');
      if (name === '' || (only !== undefined && only !== to)) return false;
      return name === '*' || name === host || host.endsWith(`.${name}`) || isInNetwork(host, name);
    });
}

function isInNetwork(host: string, network: string): boolean {
  const [address = '', bits] = network.split('/');
  const families = [isIP(host), isIP(address)];
  if (bits === undefined || families[0] === 0 || families[0] !== families[1]) return false;
  if (!/^\d+$/.test(bits) || Number(bits) > (families[0] === 6 ? 128 : 32)) return false;
  const family = families[0] === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `Cannot read the proxy's CA file, ${path}`, { cause });
  }
}

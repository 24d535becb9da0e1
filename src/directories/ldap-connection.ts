import { createHash } from 'node:crypto';
import { connect as connectPlain, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorCode } from '@tokenctl/common/network/exchange.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import {
  BindRequest,
  BindResponse,
  type Control,
  ExtendedRequest,
  ExtendedResponse,
  type Filter,
  type Message,
  type MessageResponse,
  PagedResultsControl,
  PresenceFilter,
  SearchEntry,
  SearchReference,
  SearchRequest,
  SearchResponse,
} from 'ldapts';
import { refusal, unreachable } from './ldap-errors.ts';
import { LdapFrames } from './ldap-frames.ts';
import { type LdapMessage, readMessage } from './ldap-messages.ts';

export interface LdapServer {
  /** The directory's name in messages. */
  readonly name: string;
  /** `ldaps://` is encrypted from the first byte. `ldap://` needs `startTls`, except on this machine. */
  readonly url: URL;
  readonly startTls: boolean;
  /** The authority of its certificate in PEM. By default those of the system. */
  readonly ca?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: Partial<LdapLimits> | undefined;
}

/** Timeouts in milliseconds. */
export interface LdapLimits {
  /** For the connection including its encryption. */
  readonly connect: number;
  /** For the next message of a response. */
  readonly silence: number;
  /** For all requests on one connection. */
  readonly whole: number;
}

export interface LdapSearch {
  readonly base: string;
  readonly scope: 'base' | 'sub';
  readonly filter: Filter;
  readonly attributes: readonly string[];
}

const LIMITS: LdapLimits = { connect: 10_000, silence: 60_000, whole: 15 * 60_000 };
/** How long the server may work on one page, in seconds. It reports this limit before the client's timeout. */
const TIME_LIMIT_S = 50;
const PAGE_SIZE = 500;
/** The result of a search below a nonexistent name (RFC 4511 appendix A.1). */
export const NO_SUCH_OBJECT = 32;
/** Matches every entry. */
export const ANY_ENTRY: Filter = new PresenceFilter({ attribute: 'objectClass' });
const START_TLS = '1.3.6.1.4.1.1466.20037';

/**
 * A connection to a directory server, for simple binds and searches (RFC 4511). The messages are those of ldapts. Its
 * client is not used: it reconnects without a bind after an interruption, takes an empty page for the last one, and
 * waits for an encrypted connection without a limit. Each of these can make an incomplete list look complete, or a
 * run hang. Referrals are not followed, and aliases are not resolved. After any error the connection is unusable.
 */
export class LdapConnection {
  readonly #server: LdapServer;
  readonly #limits: LdapLimits;
  #socket: Socket;
  #frames = new LdapFrames();
  readonly #waiting: { take: () => void; fail: (error: TokenctlError) => void }[] = [];
  readonly #messages: LdapMessage[] = [];
  #failure: TokenctlError | null = null;
  #lastId = 0;
  readonly #whole: NodeJS.Timeout;
  readonly #abort = () => this.#fail(new TokenctlError('interrupted', 'Interrupted'));

  private constructor(server: LdapServer, socket: Socket, limits: LdapLimits) {
    this.#server = server;
    this.#limits = limits;
    this.#socket = socket;
    this.#whole = setTimeout(
      () => this.#fail(unreachable(server.name, `did not end within ${limits.whole / 60_000} min`)),
      limits.whole,
    );
    this.#listen();
    server.signal?.addEventListener('abort', this.#abort);
  }

  /** Connects with encryption. Throws `target_unreachable`, `configuration` without encryption, `interrupted`. */
  static async open(server: LdapServer): Promise<LdapConnection> {
    const { url, startTls, signal, name } = server;
    requireEncryption(server);
    if (signal?.aborted) throw new TokenctlError('interrupted', 'Interrupted');
    const limits = { ...LIMITS, ...server.limits };
    const isTls = url.protocol === 'ldaps:';
    const host = hostOf(url);
    const port = Number(url.port) || (isTls ? 636 : 389);
    const socket = isTls ? connectTls({ host, port, ...tlsOptions(server) }) : connectPlain({ host, port });
    await opened(socket, isTls ? 'secureConnect' : 'connect', { name, limits, signal });
    const connection = new LdapConnection(server, socket, limits);
    try {
      if (startTls) await connection.#startTls();
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  /** Binds with a name and a password (RFC 4513 §5.1.3). Throws `credentials_refused`. */
  async bind(dn: string, password: Secret): Promise<void> {
    const messageId = this.#send((id) => new BindRequest({ messageId: id, dn, password: password.reveal() }));
    const { message: answer } = await this.#next(messageId);
    if (!(answer instanceof BindResponse))
      throw this.#misbehaved('responded to a bind with a different message');
    if (answer.status !== 0) throw this.#refused(answer);
  }

  /**
   * Searches page by page (RFC 2696), yielding each entry as it arrives.
   * @throws TokenctlError for an incomplete response: interrupted, ended early, or with references to other servers,
   * whose entries are missing. References to the parts of Active Directory without users are ignored.
   */
  async *search({ base, scope, filter, attributes }: LdapSearch): AsyncGenerator<SearchEntry, void> {
    const paging = new PagedResultsControl({ critical: true, value: { size: PAGE_SIZE } });
    const controls: Control[] = scope === 'base' ? [] : [paging];
    const pages = new Set<string>();
    for (;;) {
      const messageId = this.#send(
        (id) =>
          new SearchRequest({
            messageId: id,
            baseDN: base,
            scope,
            filter,
            attributes: [...attributes],
            controls,
            timeLimit: TIME_LIMIT_S,
            derefAliases: 'never',
          }),
      );
      const { cookie, first, count } = yield* this.#page(messageId, base);
      // A server or proxy that omits the control does not announce further pages (RFC 2696 §3: it is required).
      if (cookie === null && scope !== 'base' && count === PAGE_SIZE)
        throw this.#misbehaved(
          `sent a full page of ${PAGE_SIZE} entries without saying whether there are more`,
        );
      // RFC 2696 §3: an empty cookie ends it. A page without entries does not.
      if (cookie === null || cookie.length === 0) return;
      // Samba sends the same cookie for all pages of a search: only with the same entries it is the same
      // page. Hashed, because the server determines the length of a cookie and a name.
      const page = createHash('sha256')
        .update(`${cookie.toString('base64')} ${first}`)
        .digest('base64');
      if (pages.has(page)) throw this.#misbehaved('sent the same next page twice');
      pages.add(page);
      paging.value = { size: PAGE_SIZE, cookie };
    }
  }

  /** One entry by its name; null if it does not exist. Throws as {@link search}. */
  async entry(dn: string, attributes: readonly string[]): Promise<SearchEntry | null> {
    try {
      const found = this.search({ base: dn, scope: 'base', filter: ANY_ENTRY, attributes });
      return (await Array.fromAsync(found))[0] ?? null;
    } catch (error) {
      if (error instanceof TokenctlError && error.details?.['result'] === NO_SUCH_OBJECT) return null;
      throw error;
    }
  }

  /** @returns the cookie of the next page, the name of this page's first entry, and the number of its entries */
  async *#page(messageId: number, base: string) {
    let first = '';
    let count = 0;
    for (;;) {
      const { message, cookie } = await this.#next(messageId);
      if (message instanceof SearchEntry) {
        first ||= message.name;
        count += 1;
        yield message;
      } else if (message instanceof SearchReference) this.#requireNoUsers(message.uris);
      else if (message instanceof SearchResponse) {
        if (message.status !== 0) throw this.#refused(message, base);
        return { cookie, first, count };
      } else throw this.#misbehaved('responded to a search with a different message');
    }
  }

  /** Closes the connection without waiting. */
  close(): void {
    clearTimeout(this.#whole);
    this.#server.signal?.removeEventListener('abort', this.#abort);
    this.#failure ??= unreachable(this.#server.name, 'was closed');
    this.#socket.destroy();
  }

  async #startTls(): Promise<void> {
    const { name, signal } = this.#server;
    const messageId = this.#send((id) => new ExtendedRequest({ messageId: id, oid: START_TLS }));
    const { message: answer } = await this.#next(messageId);
    if (!(answer instanceof ExtendedResponse))
      throw this.#misbehaved('responded to StartTLS with a different message');
    if (answer.status !== 0) throw this.#refused(answer);
    // Anyone could have sent unencrypted data before the encryption started.
    if (this.#messages.length > 0 || this.#frames.isPartial) {
      throw this.#misbehaved('sent extra data before the encryption started');
    }
    const plain = this.#socket;
    plain.removeAllListeners('data');
    const secure = connectTls({ socket: plain, host: hostOf(this.#server.url), ...tlsOptions(this.#server) });
    try {
      await opened(secure, 'secureConnect', { name, limits: this.#limits, signal });
    } catch (error) {
      plain.destroy();
      throw error;
    }
    this.#socket = secure;
    this.#listen();
  }

  #listen(): void {
    const { name } = this.#server;
    const socket = this.#socket;
    socket.on('data', (data: Buffer) => {
      try {
        for (const frame of this.#frames.take(data)) this.#messages.push(readMessage(frame));
      } catch {
        this.#fail(this.#misbehaved('sent a message that cannot be parsed'));
      }
      for (const { take } of this.#waiting.splice(0)) take();
    });
    socket.on('error', (cause) =>
      this.#fail(unreachable(name, `could not be reached (${errorCode(cause)})`, cause)),
    );
    socket.on('close', () => {
      if (socket === this.#socket)
        this.#fail(unreachable(name, 'closed the connection before the response was complete'));
    });
  }

  #send(request: (id: number) => Message): number {
    if (this.#failure !== null) throw this.#failure;
    this.#lastId += 1;
    this.#socket.write(request(this.#lastId).write());
    return this.#lastId;
  }

  /** The next message of a response, in order of arrival. */
  async #next(messageId: number): Promise<LdapMessage> {
    for (;;) {
      const next = this.#messages.shift();
      if (next !== undefined) {
        const { message } = next;
        if (message.messageId === messageId) return next;
        // RFC 4511 §4.4.1: the notice of disconnection belongs to no request.
        throw message.messageId === 0
          ? this.#refused(message)
          : this.#misbehaved('sent a response that was not requested');
      }
      if (this.#failure !== null) throw this.#failure;
      await this.#arrival();
    }
  }

  async #arrival(): Promise<void> {
    const { silence } = this.#limits;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((take, fail) => {
        this.#waiting.push({ take, fail });
        timer = setTimeout(
          () => this.#fail(unreachable(this.#server.name, `sent nothing for ${silence / 1000} s`)),
          silence,
        );
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(error: TokenctlError): void {
    this.#failure ??= error;
    const failure = this.#failure;
    for (const { fail } of this.#waiting.splice(0)) fail(failure);
    this.#socket.destroy();
  }

  #requireNoUsers(references: readonly string[]): void {
    const others = references.filter((uri) => !WITHOUT_USERS.test(nameIn(uri)));
    if (others.length === 0) return;
    throw new TokenctlError(
      'target_misbehaved',
      `${this.#server.name} refers to another server for ${nameIn(others[0] ?? '')}. The users there are not in its response`,
      { hint: 'Set one or more bases that this server contains completely.' },
    );
  }

  #refused(answer: MessageResponse, base?: string): TokenctlError {
    return refusal(this.#server.name, answer, base);
  }

  #misbehaved(what: string): TokenctlError {
    return new TokenctlError('target_misbehaved', `${this.#server.name} ${what}`);
  }
}

/** The partitions of Active Directory to which every search of a domain refers. */
const WITHOUT_USERS = /^(?:DC=(?:Domain|Forest)DnsZones|CN=Configuration),/i;

function nameIn(reference: string): string {
  const [, path = ''] = /^ldaps?:\/\/[^/]*\/([^?]*)/i.exec(reference) ?? [];
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function requireEncryption({ url, startTls }: LdapServer): void {
  const isHere = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'ldaps:' || startTls || isHere) return;
  throw new TokenctlError('configuration', `The connection to ${url.host} would not be encrypted`, {
    hint: 'Use ldaps:// or `startTls: true` because the bind sends a password.',
  });
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function tlsOptions({ url, ca }: LdapServer): ConnectionOptions {
  const host = hostOf(url);
  const isName = !/^[\d.]+$|:/.test(host);
  return { minVersion: 'TLSv1.2', ...(isName && { servername: host }), ...(ca !== undefined && { ca }) };
}

async function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  { name, limits, signal }: { name: string; limits: LdapLimits; signal: AbortSignal | undefined },
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(unreachable(name, 'could not be reached (timeout)')), limits.connect);
      abort = () => reject(new TokenctlError('interrupted', 'Interrupted'));
      signal?.addEventListener('abort', abort);
      socket.once(event, resolve);
      socket.once('error', (cause) =>
        reject(unreachable(name, `could not be reached (${errorCode(cause)})`, cause)),
      );
      socket.once('close', () => reject(unreachable(name, 'closed the connection immediately')));
    });
    socket.removeAllListeners('error');
    socket.removeAllListeners('close');
  } catch (error) {
    socket.removeAllListeners('error');
    socket.on('error', () => undefined);
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) signal?.removeEventListener('abort', abort);
  }
}

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { openPostgres, type PostgresDatabase } from '@tokenctl/common/db/postgres.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { Environment } from '../../src/config/paths.ts';
import { databaseConnection, readSecret } from '../../src/config/secrets.ts';
import type { Consent, Description } from './description.ts';
import { logIn, type Session } from './log-in.ts';
import { type Answer, type As, expectStatus, type RequestOptions, Requests } from './requests.ts';

/** What the name of everything that a run makes begins with. */
export const PREFIX = 'tokenctl-acceptance-';

/** An application of the run's own. */
export interface Client {
  readonly id: number;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
}

/** What a run of tokenctl printed. */
export interface Printed {
  readonly command: string;
  readonly text: string;
}

/** Where a code is sent. No one goes there: the tests read the code from the redirect. */
export const REDIRECT_URI = 'https://tokenctl-acceptance.invalid/callback';

/** A described installation with an access token of its superuser, and what a run makes there. */
export class Installation {
  readonly description: Description;
  readonly requests: Requests;
  readonly environment: Environment;
  readonly isGateway: boolean;
  /** Whether a gateway stands before a controller at this address. */
  readonly isPlatform: boolean;
  /** The path of the API, with a slash at both ends. */
  readonly api: string;
  /** The path of the OAuth2 endpoints. */
  readonly oauth: string;
  readonly loginPath: string;
  /** What it calls itself, with its version. */
  readonly title: string;
  /** Whether requests that fail record no use of their token, as is known of controller 24.6.1. */
  readonly isQuiet: boolean;
  /** Whether its answers say that it is a controller; the bundled service does not. */
  readonly isRealController: boolean;
  readonly database: PostgresDatabase | null;
  /** What everything that this run makes is called, before its own name. */
  readonly prefix = `${PREFIX}${randomBytes(3).toString('hex')}-`;
  /** Every value that lets someone in, as the run got it. */
  readonly secrets = new Set<string>();
  readonly secretFiles = new Set<string>();
  readonly printed: Printed[] = [];
  /** The folders of the homes that tokenctl ran in. */
  readonly homes: string[] = [];
  #admin: { readonly token: string; readonly tokenId: number; readonly name: string } | null = null;
  #described: As = null;
  readonly applications = new Map<'password' | 'code', Client>();
  organization = 0;

  private constructor(parts: {
    readonly description: Description;
    readonly requests: Requests;
    readonly environment: Environment;
    readonly isGateway: boolean;
    readonly isPlatform: boolean;
    readonly version: string;
    readonly isController: boolean;
    readonly database: PostgresDatabase | null;
  }) {
    const { isGateway, isPlatform } = parts;
    this.description = parts.description;
    this.requests = parts.requests;
    this.environment = parts.environment;
    this.database = parts.database;
    this.isQuiet = !isPlatform && parts.isController && parts.version === '24.6.1';
    this.isRealController = !isGateway && parts.isController;
    this.isGateway = isGateway;
    this.isPlatform = isPlatform;
    const controller = isPlatform ? '/api/controller' : '/api';
    this.api = isGateway ? '/api/gateway/v1/' : `${controller}/v2/`;
    this.oauth = isGateway ? '/o/' : `${controller}/o/`;
    this.loginPath = isGateway ? '/api/gateway/v1/login/' : `${controller}/login/`;
    this.title = `${isGateway ? 'gateway' : 'controller'} ${parts.version}`;
  }

  /**
   * Connects to an installation, and changes nothing there.
   * @throws TokenctlError if it cannot be reached, or is not a controller or gateway
   */
  static async open(description: Description, environment: Environment): Promise<Installation> {
    const requests = new Requests(description.rest);
    const root = await requests.send('/api/', null).catch((cause: unknown) => {
      throw new TokenctlError(
        'target_unreachable',
        `${requests.url} cannot be reached: ${reasonOf(cause)}.`,
        { cause },
      );
    });
    const { apis, current_version: current } = root.body;
    if (apis === undefined && current === undefined) {
      throw new TokenctlError(
        'target_misbehaved',
        `${requests.url} does not respond like a controller or gateway: ${root.status} at /api/.`,
      );
    }
    const isGateway = apis !== undefined && description.rest.component !== 'controller';
    const ping = isGateway
      ? '/api/gateway/v1/ping/'
      : `${apis === undefined ? '/api' : '/api/controller'}/v2/ping/`;
    const pong = await requests.send(ping, null);
    const { version } = pong.body;
    const database =
      description.database === undefined
        ? null
        : await openPostgres({
            url: databaseConnection(description.database.database, environment),
            applicationName: 'tokenctl acceptance tests',
          });
    return new Installation({
      ...{ description, requests, environment, isGateway, database },
      isPlatform: apis !== undefined,
      isController: pong.isController,
      version: typeof version === 'string' ? version : 'of an unknown version',
    });
  }

  /**
   * As its superuser, with the credential of the description: a token, or a password, with a session where
   * Basic authentication is off, as a killed run may leave it.
   * @throws TokenctlError `configuration` or `credentials_refused`
   */
  async described(): Promise<As> {
    this.#described ??= await this.#logInAsDescribed();
    return this.#described;
  }

  async #logInAsDescribed(): Promise<As> {
    const { token, username = '', password: kept } = this.description.rest;
    if (token !== undefined) return { token: readSecret(token, this.environment).reveal() };
    if (kept === undefined) {
      const problem = `${this.description.file}: rest has neither a token nor a password.`;
      throw new TokenctlError('configuration', problem);
    }
    const password = readSecret(kept, this.environment).reveal();
    const basic = { user: username, password };
    if ((await this.request('me/', basic)).status === 200) return basic;
    const session = await this.logIn({ name: username, password });
    if (session !== null) return session;
    const { url } = this.requests;
    throw new TokenctlError('credentials_refused', `${url} does not accept the password of ${username}.`);
  }

  /** As its superuser, with the token of this run. */
  get admin(): { readonly token: string } {
    return { token: this.#own.token };
  }

  get adminName(): string {
    return this.#own.name;
  }

  get adminTokenId(): number {
    return this.#own.tokenId;
  }

  get #own() {
    if (this.#admin === null) throw new Error('the run has not begun');
    return this.#admin;
  }

  /** Logs in as a browser does. Gives null where the login is refused. */
  async logIn(account: { readonly name: string; readonly password: string }): Promise<Session | null> {
    const session = await logIn(this.requests, this.loginPath, account);
    if (session !== null) this.keep(session.id);
    return session;
  }

  /** Makes a token of the superuser for this run, also in place of one that ended. */
  async makeAdminToken(): Promise<void> {
    this.#described = null;
    const as = await this.described();
    const me = expectStatus(await this.request('me/', as), 200);
    const [{ username } = { username: '' }] = me.body['results'] as readonly { username: string }[];
    const body = { scope: 'write', description: this.prefix, application: null };
    const made = expectStatus(await this.request('tokens/', as, { body }), 201).body;
    const token = this.keep(String(made['token']));
    this.#admin = { token, tokenId: Number(made['id']), name: username };
  }

  /** Whether the caller agreed to this. */
  allows(consent: Consent): boolean {
    return this.description.destroy[consent];
  }

  /** A name of this run's own. */
  name(own: string): string {
    return `${this.prefix}${own}`;
  }

  /** Notes a secret, which then must not be printed anywhere. */
  keep(secret: string): string {
    this.secrets.add(secret);
    return secret;
  }

  /** Notes the secret that tokenctl wrote to a file, and gives it. */
  keepFile(path: string): string {
    this.secretFiles.add(path);
    return this.keep(readFileSync(path, 'utf8').trim());
  }

  /** Sends a request to the API. */
  request(path: string, as: As, options?: RequestOptions): Promise<Answer> {
    return this.requests.send(path.startsWith('/') ? path : `${this.api}${path}`, as, options);
  }

  /** Creates something as the superuser, and gives it as the API does. */
  async create(
    path: string,
    body: object,
  ): Promise<Readonly<Record<string, unknown>> & { readonly id: number }> {
    const made = expectStatus(await this.request(path, this.admin, { body }), 201).body;
    return { ...made, id: Number(made['id']) };
  }

  /** All items of a list, as the superuser sees them. */
  async all(path: string, as: As = this.admin): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const items: Readonly<Record<string, unknown>>[] = [];
    let next: string | null = `${this.api}${path}${path.includes('?') ? '&' : '?'}page_size=200`;
    while (next !== null) {
      const { body } = expectStatus(await this.requests.send(next, as), 200);
      items.push(...((body['results'] ?? []) as object[] as Readonly<Record<string, unknown>>[]));
      next = typeof body['next'] === 'string' ? body['next'] : null;
    }
    return items;
  }

  /** Runs SQL with the role of the description. */
  async sql<Row extends object = Readonly<Record<string, unknown>>>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (this.database === null) throw new Error('the description has no database');
    return this.database.query<Row>(text, values);
  }

  /** How tokenctl is to reach the database: the URL itself, which holds a password. */
  get databaseUrl(): string {
    const { database } = this.description;
    if (database === undefined) throw new Error('the description has no database');
    return databaseConnection(database.database, this.environment).reveal();
  }

  /** The environment's variables of PostgreSQL, with the files that it finds in the home folder. */
  get databaseEnvironment(): Readonly<Record<string, string>> {
    const files = { PGPASSFILE: '.pgpass', PGSERVICEFILE: '.pg_service.conf' };
    const found = Object.entries(files).filter(([, name]) => existsSync(join(homedir(), name)));
    const given = Object.entries(this.environment).filter(
      (entry): entry is [string, string] => entry[0].startsWith('PG') && entry[1] !== undefined,
    );
    return {
      ...Object.fromEntries(found.map(([name, file]) => [name, join(homedir(), file)])),
      ...Object.fromEntries(given),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.requests.close(), this.database?.close()]);
  }
}

/** A password that the rules of installations accept. */
export function newPassword(): string {
  return `Aa1-${new Secret(randomBytes(12).toString('base64url')).reveal()}`;
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' ? code : String(message);
}

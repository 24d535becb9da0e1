import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '@tokenctl/common/db/database.ts';
import { hashPassword } from '@tokenctl/service/auth/secret-hashes.ts';
import { basic, bearer, Client } from '@tokenctl/testing/client.ts';
import { until } from '@tokenctl/testing/until.ts';

/** The ways in that are used. */
export const WAYS = ['token', 'refresh grant', 'session', 'basic authentication'] as const;

export type Way = (typeof WAYS)[number];

const PASSWORD = 'secret-of-everyone';
const CLIENT = 'incident-load';

/** Users, each with a token, and tokens besides. */
export interface LoadSize {
  readonly users: number;
  readonly tokens: number;
}

/** Puts users with one password into a service's database, with tokens, and an application of the password grant. */
export async function fillForLoad(database: Database, { users, tokens }: LoadSize): Promise<void> {
  const hash = await hashPassword(PASSWORD);
  await database.execute(
    `INSERT INTO auth_user (username, password) SELECT 'load-' || n, $2 FROM generate_series(1, $1::int) n`,
    [users, hash],
  );
  await database.execute(
    `WITH organization AS (INSERT INTO main_organization (name) VALUES ('load') RETURNING id),
       member AS (
         INSERT INTO service_role (user_id, role, organization_id)
         SELECT u.id, 'member', o.id FROM auth_user u, organization o WHERE u.username LIKE 'load-%')
     INSERT INTO main_oauth2application
       (client_id, client_type, authorization_grant_type, client_secret, name, organization_id)
     SELECT '${CLIENT}', 'public', 'password', '', 'load', o.id FROM organization o`,
  );
  await database.execute(
    `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
     SELECT encode(sha256(('token-' || n)::bytea), 'hex'), now() + interval '1 day', 'write', u.id
     FROM generate_series(1, $1::int) n JOIN auth_user u ON u.username = 'load-' || (1 + n % $2::int)`,
    [tokens, users],
  );
}

/** When something was accepted. */
export interface Acceptance {
  readonly way: Way;
  /** Of `performance.now()`, when the answer was there: for benchmarks. */
  readonly at: number;
  /** The number of its request, in the order in which they were sent. */
  readonly sent: number;
}

/** Users at work on a service, each by every way in at the same time, until stopped. */
export class IncidentLoad {
  /** The last acceptance by each way. */
  readonly last = new Map<Way, Acceptance>();
  /** How many were accepted by each way. */
  readonly accepted = new Map<Way, number>();
  readonly #url: string;
  readonly #work: Promise<void>[] = [];
  /** How many requests were sent. */
  #sent = 0;
  /** The last request that was answered, by each way. */
  readonly #answered = new Map<Way, number>();
  #stopped = false;
  #failure: Error | null = null;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Logs everyone in, begins, and returns once something was accepted by each way. */
  static async start(url: string, size: LoadSize): Promise<IncidentLoad> {
    const load = new IncidentLoad(url);
    try {
      await load.#begin(size);
      return load;
    } catch (error) {
      await load.stop().catch(() => undefined);
      throw error;
    }
  }

  async #begin({ users, tokens }: LoadSize): Promise<void> {
    const begin: (() => void)[] = [];
    for (let user = 1; user <= users; user += 1) {
      const browser = new Client(this.#url);
      const login = await browser.logIn(`load-${user}`, PASSWORD);
      if (login.status >= 400) throw new Error(`no login: ${login.status} ${login.text}`);
      const pair = await this.#grant({
        grant_type: 'password',
        username: `load-${user}`,
        password: PASSWORD,
      });
      if (pair === null) throw new Error('no pair of tokens');
      const header = basic(`load-${user}`, PASSWORD);
      begin.push(() => {
        this.#repeat('session', async () => (await browser.get('/api/v2/me/')).status === 200);
        this.#repeat('basic authentication', () => this.#me(header));
        this.#repeat('token', () => this.#me(bearer(`token-${1 + Math.floor(Math.random() * tokens)}`)));
        this.#refresh(pair);
      });
    }
    // No one begins before all are logged in: logins among the work of the others would take minutes.
    for (const user of begin) user();
    await until(() => this.#failure !== null || WAYS.every((way) => this.accepted.has(way)));
  }

  /** Ends it and waits for the in-flight requests. Throws if a request had no answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#work);
    if (this.#failure !== null) throw this.#failure;
  }

  /** How many requests were sent so far. */
  get sent(): number {
    return this.#sent;
  }

  /** The last acceptance by each way, of the requests after the first `sent`; waits until each way was tried again. */
  async acceptedAfter(sent: number): Promise<readonly Acceptance[]> {
    const isTried = (way: Way) => (this.#answered.get(way) ?? 0) > sent + 4 * WAYS.length;
    await until(() => this.#failure !== null || WAYS.every(isTried));
    await this.stop();
    return [...this.last.values()].filter((each) => each.sent > sent);
  }

  #repeat(way: Way, attempt: () => Promise<boolean>): void {
    this.#work.push(
      (async () => {
        while (!this.#stopped && this.#failure === null) {
          this.#sent += 1;
          const sent = this.#sent;
          const isAccepted = await attempt().catch((cause: unknown) => {
            this.#failure ??= new Error(`no answer by ${way}`, { cause });
            return false;
          });
          this.#answered.set(way, sent);
          if (isAccepted) this.#note(way, sent);
          // Whoever is refused goes on trying, and leaves the service some time to answer others.
          await pause(isAccepted ? 5 : 100);
        }
      })(),
    );
  }

  /** Refreshes again and again, each time with the newest refresh token, and uses the newest access token. */
  #refresh(first: Pair): void {
    let pair = first;
    this.#repeat('refresh grant', async () => {
      const next = await this.#grant({ grant_type: 'refresh_token', refresh_token: pair.refresh });
      if (next !== null) pair = next;
      return next !== null;
    });
    this.#repeat('token', () => this.#me(bearer(pair.access)));
  }

  #note(way: Way, sent: number): void {
    this.last.set(way, { way, sent, at: performance.now() });
    this.accepted.set(way, (this.accepted.get(way) ?? 0) + 1);
  }

  async #me(headers: Readonly<Record<string, string>>): Promise<boolean> {
    return (await new Client(this.#url, headers).get('/api/v2/me/')).status === 200;
  }

  #grant(form: Readonly<Record<string, string>>): Promise<Pair | null> {
    return grant(this.#url, form);
  }
}

/** Clients that do nothing but refresh, each as soon as it has the answer, until they are refused. */
export class RefreshStorm {
  /** Ends when all are refused. */
  readonly refused: Promise<unknown>;
  #refreshed = 0;
  #stopped = false;

  private constructor(url: string, pairs: readonly Pair[]) {
    this.refused = Promise.all(pairs.map((pair) => this.#refresh(url, pair)));
  }

  /** Logs so many users in, one client each, and begins. */
  static async start(url: string, users: number): Promise<RefreshStorm> {
    const pairs: Pair[] = [];
    for (let user = 1; user <= users; user += 1) {
      const form = { grant_type: 'password', username: `load-${user}`, password: PASSWORD };
      const pair = await grant(url, form);
      if (pair === null) throw new Error('no pair of tokens');
      pairs.push(pair);
    }
    return new RefreshStorm(url, pairs);
  }

  /** Waits until so many refreshes more were answered, or all are refused. */
  async turns(count: number): Promise<void> {
    const enough = this.#refreshed + count;
    await Promise.race([this.refused, until(() => this.#refreshed >= enough || this.#stopped)]);
  }

  /** Ends it and waits for the in-flight requests. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.refused;
  }

  async #refresh(url: string, first: Pair): Promise<void> {
    for (let pair: Pair | null = first; pair !== null && !this.#stopped; ) {
      pair = await grant(url, { grant_type: 'refresh_token', refresh_token: pair.refresh });
      this.#refreshed += 1;
    }
  }
}

/** A user who logs in, makes tokens and refreshes without pause, and keeps every credential. */
export class PersistentUser {
  readonly #url: string;
  readonly #username: string;
  readonly #access: string[] = [];
  readonly #refresh: string[] = [];
  readonly #browsers: Client[] = [];
  readonly #work: Promise<void>[];
  #stopped = false;

  private constructor(url: string, username: string) {
    this.#url = url;
    this.#username = username;
    this.#work = [this.#mint(), this.#logIn(), this.#goOn()];
  }

  /** Begins, and returns once the user holds a credential of each kind. */
  static async start(url: string, username: string): Promise<PersistentUser> {
    const user = new PersistentUser(url, username);
    await until(() => user.#access.length >= 3 && user.#refresh.length >= 2 && user.#browsers.length > 0);
    return user;
  }

  /** How many credentials the user holds. */
  get held(): number {
    return this.#access.length + this.#refresh.length + this.#browsers.length;
  }

  /** Ends it and waits for the in-flight requests. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#work);
  }

  /** Tries every credential; the kinds of those that are accepted. */
  async accepted(): Promise<string[]> {
    const found: string[] = [];
    const me = async (client: Client) => (await client.get('/api/v2/me/')).status === 200;
    for (const token of this.#access)
      if (await me(new Client(this.#url, bearer(token)))) found.push('access token');
    for (const token of this.#refresh)
      if ((await grant(this.#url, { grant_type: 'refresh_token', refresh_token: token })) !== null)
        found.push('refresh token');
    for (const browser of this.#browsers) if (await me(browser)) found.push('session');
    if (await me(new Client(this.#url, basic(this.#username, PASSWORD)))) found.push('password');
    return found;
  }

  /** Makes tokens with the newest access token. */
  async #mint(): Promise<void> {
    await this.#repeat(async () => {
      const newest = this.#access.at(-1);
      if (newest === undefined) return;
      const client = new Client(this.#url, bearer(newest));
      const { status, json } = await client.post('/api/v2/tokens/', { scope: 'write' });
      if (status === 201) this.#access.push(json.token);
    });
  }

  async #logIn(): Promise<void> {
    await this.#repeat(async () => {
      const browser = new Client(this.#url);
      if ((await browser.logIn(this.#username, PASSWORD)).status < 400) this.#browsers.push(browser);
    });
  }

  /** Refreshes the newest pair, and begins with a new one once it is refused. */
  async #goOn(): Promise<void> {
    let pair: Pair | null = null;
    await this.#repeat(async () => {
      const form: Record<string, string> =
        pair === null
          ? { grant_type: 'password', username: this.#username, password: PASSWORD }
          : { grant_type: 'refresh_token', refresh_token: pair.refresh };
      pair = await grant(this.#url, form);
      if (pair === null) return;
      this.#access.push(pair.access);
      this.#refresh.push(pair.refresh);
    });
  }

  async #repeat(attempt: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      await attempt();
      await pause(2);
    }
  }
}

/** A pair of tokens by a grant; null where it is refused. */
async function grant(url: string, form: Readonly<Record<string, string>>): Promise<Pair | null> {
  const answer = await new Client(url).send('POST', '/api/o/token/', {
    form: { ...form, client_id: CLIENT },
  });
  if (answer.status !== 200) return null;
  const { access_token: access, refresh_token: refresh } = answer.json;
  return { access: String(access), refresh: String(refresh) };
}

interface Pair {
  readonly access: string;
  readonly refresh: string;
}

import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '@tokenctl/common/db/database.ts';
import { hashPassword, hashToken } from '@tokenctl/service/auth/secret-hashes.ts';
import { basic, bearer, Client } from '@tokenctl/testing/client.ts';

const NAME = 'eve';
const PASSWORD = 'password-of-eve';
const SECRET = 'secret-of-the-client';

/** The applications of {@link Adversary}: without a secret, and with one. */
const APPLICATIONS = ['eve-public', 'eve-secret'] as const;

/** How the adversary gets tokens. */
export const MINTS = [
  'basic authentication',
  'password grant',
  'refresh grant',
  "refresh grant with the client's secret",
  'access token',
] as const;

type Mint = (typeof MINTS)[number];

interface Pair {
  readonly access: string;
  readonly refresh: string;
}

/** Puts the adversary and two applications into a service's database. */
export async function fillForAdversary(database: Database): Promise<void> {
  await database.execute('INSERT INTO auth_user (username, password) VALUES ($1, $2)', [
    NAME,
    await hashPassword(PASSWORD),
  ]);
  await database.execute(
    `WITH organization AS (INSERT INTO main_organization (name) VALUES ('eve') RETURNING id),
       member AS (
         INSERT INTO service_role (user_id, role, organization_id)
         SELECT u.id, 'member', o.id FROM auth_user u, organization o WHERE u.username = $4)
     INSERT INTO main_oauth2application
       (client_id, client_type, authorization_grant_type, client_secret, name, organization_id)
     SELECT a.name, a.type, 'password', a.secret, a.name, o.id FROM organization o,
       (VALUES ($1, 'public', ''), ($2, 'confidential', $3)) AS a (name, type, secret)`,
    [...APPLICATIONS, hashToken(SECRET), NAME],
  );
}

/** A user who mints tokens without pause, by every way at the same time, and keeps every credential. */
export class Adversary {
  /** When something was last accepted, of `performance.now()`. */
  last = 0;
  /** How many tokens each way gave. */
  readonly minted = new Map<Mint, number>();
  readonly #url: string;
  readonly #access: string[] = [];
  readonly #refresh: { readonly application: string; readonly token: string }[] = [];
  readonly #work: Promise<void>[] = [];
  #stopped = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** Begins, and returns once each way has given a token. */
  async begin(): Promise<void> {
    this.#repeat('basic authentication', () => this.#post(basic(NAME, PASSWORD)));
    this.#repeat('password grant', async () => (await this.#login('eve-public')) !== null);
    this.#goOn('refresh grant', 'eve-public');
    this.#goOn("refresh grant with the client's secret", 'eve-secret');
    this.#repeat('access token', async () => {
      const newest = this.#access.at(-1);
      return newest !== undefined && (await this.#post(bearer(newest)));
    });
    while (MINTS.some((mint) => !this.minted.has(mint))) await pause(10);
  }

  /** Ends it and waits for the requests in flight. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#work);
  }

  /** How many tokens it got. */
  get held(): number {
    return this.#access.length;
  }

  /** Tries every credential; the kinds of those that are accepted. */
  async accepted(): Promise<string[]> {
    const found: string[] = [];
    for (const token of this.#access) if (await this.#me(bearer(token))) found.push('access token');
    for (const { application, token } of this.#refresh)
      if ((await this.#grant(application, { grant_type: 'refresh_token', refresh_token: token })) !== null)
        found.push('refresh token');
    if (await this.#me(basic(NAME, PASSWORD))) found.push('password');
    for (const application of APPLICATIONS)
      if ((await this.#login(application)) !== null) found.push(`password grant of ${application}`);
    return found;
  }

  #repeat(mint: Mint, attempt: () => Promise<boolean>): void {
    this.#work.push(
      (async () => {
        while (!this.#stopped) {
          const isAccepted = await attempt();
          if (isAccepted) {
            this.last = performance.now();
            this.minted.set(mint, (this.minted.get(mint) ?? 0) + 1);
          } else await pause(20);
        }
      })(),
    );
  }

  /** Refreshes the newest pair, and begins with a new one once it is refused. */
  #goOn(mint: Mint, application: string): void {
    let pair: Pair | null = null;
    this.#repeat(mint, async () => {
      const before: Pair | null = pair;
      pair =
        before === null
          ? await this.#login(application)
          : await this.#grant(application, { grant_type: 'refresh_token', refresh_token: before.refresh });
      return pair !== null;
    });
  }

  #login(application: string): Promise<Pair | null> {
    return this.#grant(application, { grant_type: 'password', username: NAME, password: PASSWORD });
  }

  async #grant(application: string, form: Readonly<Record<string, string>>): Promise<Pair | null> {
    const client = application === 'eve-secret' ? { client_secret: SECRET } : {};
    const answer = await new Client(this.#url).send('POST', '/api/o/token/', {
      form: { ...form, ...client, client_id: application },
    });
    if (answer.status !== 200) return null;
    const pair = { access: String(answer.json.access_token), refresh: String(answer.json.refresh_token) };
    this.#access.push(pair.access);
    this.#refresh.push({ application, token: pair.refresh });
    return pair;
  }

  async #post(headers: Readonly<Record<string, string>>): Promise<boolean> {
    const { status, json } = await new Client(this.#url, headers).post('/api/v2/tokens/', { scope: 'write' });
    if (status === 201) this.#access.push(String(json.token));
    return status === 201;
  }

  async #me(headers: Readonly<Record<string, string>>): Promise<boolean> {
    return (await new Client(this.#url, headers).get('/api/v2/me/')).status === 200;
  }
}

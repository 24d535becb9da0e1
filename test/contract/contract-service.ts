import { inject } from 'vitest';
import { Secret } from '../../src/domain/secret.ts';
import type { DialectName } from '../../src/service/dialects/dialect.ts';
import type { RunningService } from '../../src/service/server.ts';
import { createDatabase } from '../support/embedded-postgres.ts';
import { ADMIN, type Answer, basic, bearer, Client, startTestService } from '../support/service.ts';

const PASSWORD = 'secret-of-everyone';

/** Where the dialects have what the contract uses. */
const PATHS = {
  controller: { api: '/api/v2/', token: '/api/o/token/', login: '/api/login/' },
  gateway: { api: '/api/gateway/v1/', token: '/o/token/', login: '/api/gateway/v1/login/' },
};

/** A pair of tokens as the service issued it. */
export interface Pair {
  readonly accessTokenId: number;
  readonly access: Secret;
  readonly refresh: string;
}

/**
 * The service that all targets of the contract administer, on a PostgreSQL database: with the users `alice`
 * (local) and `leaver` (deactivated), and an application `pipeline` that takes passwords.
 */
export class ContractService {
  readonly databaseUrl: string;
  readonly #service: RunningService;
  readonly #paths: (typeof PATHS)[DialectName];
  #clientId = '';

  private constructor(service: RunningService, options: { databaseUrl: string; dialect: DialectName }) {
    this.#service = service;
    this.databaseUrl = options.databaseUrl;
    this.#paths = PATHS[options.dialect];
  }

  static async start({
    dialect = 'controller',
  }: {
    readonly dialect?: DialectName;
  } = {}): Promise<ContractService> {
    const databaseUrl = await createDatabase(inject('postgresUrl'));
    const service = await startTestService('PostgreSQL', {
      database: { url: new Secret(databaseUrl) },
      dialect,
    });
    const contract = new ContractService(service, { databaseUrl, dialect });
    await contract.#post('users', { username: 'alice', password: PASSWORD });
    const leaver = await contract.#post('users', { username: 'leaver', password: PASSWORD });
    await service.database.execute('UPDATE auth_user SET is_active = false WHERE id = $1', [leaver['id']]);
    const organization = await contract.#post('organizations', { name: 'Acme' });
    const application = await contract.#post('applications', {
      name: 'pipeline',
      organization: organization['id'],
      client_type: 'public',
      authorization_grant_type: 'password',
    });
    contract.#clientId = String(application['client_id']);
    return contract;
  }

  get url(): string {
    return this.#service.url;
  }

  async #post(collection: string, fields: object): Promise<Readonly<Record<string, unknown>>> {
    const admin = new Client(this.url, basic(ADMIN.username, ADMIN.password));
    const answer = await admin.post(`${this.#paths.api}${collection}/`, fields);
    if (answer.status !== 201) throw new Error(`It could not be made: ${answer.text}`);
    return answer.json;
  }

  /** The password of every user but the administrator. */
  get password(): Secret {
    return new Secret(PASSWORD);
  }

  /** Makes that many tokens of alice. Resolves with their ids, ascending. */
  async makeTokens(count: number, scope: 'read' | 'write' = 'write'): Promise<number[]> {
    const rows = await this.#service.database.query<{ id: number }>(
      `INSERT INTO main_oauth2accesstoken (token, user_id, scope, description, created, modified, expires)
       SELECT gen_random_uuid()::text, u.id, $2, '', now(), now(), now() + interval '1 year'
       FROM auth_user u, generate_series(1, $1::int) WHERE u.username = 'alice' RETURNING id`,
      [count, scope],
    );
    return rows.map(({ id }) => id).sort((a, b) => a - b);
  }

  /** Puts a token's last use that many days back. */
  async age(tokenId: number, days: number): Promise<void> {
    await this.#service.database.execute(
      `UPDATE main_oauth2accesstoken SET last_used = now() - make_interval(days => $2),
         created = least(created, now() - make_interval(days => $2)) WHERE id = $1`,
      [tokenId, days],
    );
  }

  /** Has the application get a pair of tokens for alice. */
  async makePair(): Promise<Pair> {
    const answer = await this.#token({ grant_type: 'password', username: 'alice', password: PASSWORD });
    if (!granted(answer)) throw new Error(`There is no pair: ${answer.text}`);
    const [row] = await this.#service.database.query<{ id: number }>(
      'SELECT max(id) AS id FROM main_oauth2accesstoken',
    );
    return {
      accessTokenId: row?.id ?? 0,
      access: new Secret(String(answer.json['access_token'])),
      refresh: String(answer.json['refresh_token']),
    };
  }

  /** Whether a refresh token mints another pair. */
  async refreshes(refresh: string): Promise<boolean> {
    return granted(await this.#token({ grant_type: 'refresh_token', refresh_token: refresh }));
  }

  #token(form: Readonly<Record<string, string>>) {
    return new Client(this.url).send('POST', this.#paths.token, {
      form: { ...form, client_id: this.#clientId },
    });
  }

  /** Whether a token lets its bearer in. */
  async accepts(token: Secret): Promise<boolean> {
    return (await new Client(this.url, bearer(token.reveal())).get(`${this.#paths.api}me/`)).status === 200;
  }

  /** Logs alice in with a browser; tells whether it is still logged in. */
  async logIn(): Promise<() => Promise<boolean>> {
    const browser = new Client(this.url);
    await browser.logIn('alice', PASSWORD, { path: this.#paths.login });
    return async () => (await browser.get(`${this.#paths.api}me/`)).status === 200;
  }

  close(): Promise<void> {
    return this.#service.close();
  }
}

/** Whether the token endpoint gave tokens: a controller says 200 then, a gateway 201. */
function granted({ status }: Answer): boolean {
  return status === 200 || status === 201;
}

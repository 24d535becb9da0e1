import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import {
  ADMIN,
  type Answer,
  basic,
  bearer,
  Client,
  serviceDatabase,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import { Gateway } from '../../../support/gateway.ts';

const PASSWORD = 'secret-of-everyone';

/** Where a controller and a gateway have what the contract uses. */
const CONTROLLER = {
  api: '/api/v2/',
  token: '/api/o/token/',
  login: '/api/login/',
  tokens: 'main_oauth2accesstoken',
  users: 'auth_user',
};
const GATEWAY: typeof CONTROLLER = {
  api: '/api/gateway/v1/',
  token: '/o/token/',
  login: '/api/gateway/v1/login/',
  tokens: 'dab_oauth2_provider_oauth2accesstoken',
  users: 'aap_gateway_api_user',
};

/** A pair of tokens as the service issued it. */
export interface Pair {
  readonly accessTokenId: number;
  readonly access: Secret;
  readonly refresh: string;
}

/** What a target of the contract administers, with its clients: users `alice` and `leaver`, and an application `pipeline`. */
export type Administered = Pick<
  ContractService,
  'acceptsInactiveUsers' | 'makeTokens' | 'age' | 'makePair' | 'refreshes' | 'accepts' | 'logIn'
>;

/**
 * What the targets of the contract administer, on a PostgreSQL database: a controller or a gateway with the users
 * `alice` (local) and `leaver` (deactivated), and an application `pipeline` with the password grant.
 */
export class ContractService {
  readonly url: string;
  readonly databaseUrl: string;
  /** Whether it accepts the tokens of a deactivated user, as a gateway does. */
  readonly acceptsInactiveUsers: boolean;
  readonly #service: { readonly database: Database; close(): Promise<void> };
  readonly #names: typeof CONTROLLER;
  readonly #clientId: string;

  private constructor(
    service: { readonly url: string; readonly database: Database; close(): Promise<void> },
    facts: { readonly databaseUrl: string; readonly names: typeof CONTROLLER; readonly clientId: string },
  ) {
    this.#service = service;
    this.url = service.url;
    this.databaseUrl = facts.databaseUrl;
    this.#names = facts.names;
    this.#clientId = facts.clientId;
    this.acceptsInactiveUsers = facts.names === GATEWAY;
  }

  /** Starts tokenctl's own service. */
  static async startController(): Promise<ContractService> {
    const databaseUrl = await serviceDatabase();
    const service = await startTestService({ database: { url: new Secret(databaseUrl) } });
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const post = async (collection: string, fields: object) => {
      const answer = await admin.post(`${CONTROLLER.api}${collection}/`, fields);
      if (answer.status !== 201) throw new Error(`POST ${collection} failed: ${answer.text}`);
      return answer.json;
    };
    const organization = (await post('organizations', { name: 'Acme' })).id;
    await post(`organizations/${organization}/users`, { username: 'alice', password: PASSWORD });
    const { id } = await post('users', { username: 'leaver', password: PASSWORD });
    await service.database.execute('UPDATE auth_user SET is_active = false WHERE id = $1', [id]);
    const application = await post('applications', {
      name: 'pipeline',
      organization,
      client_type: 'public',
      authorization_grant_type: 'password',
    });
    const clientId = String(application['client_id']);
    return new ContractService(service, { databaseUrl, names: CONTROLLER, clientId });
  }

  /** Starts a gateway. */
  static async startGateway(): Promise<ContractService> {
    const gateway = await Gateway.start();
    await gateway.addUser({ username: 'alice', password: PASSWORD });
    await gateway.addUser({ username: 'leaver', password: PASSWORD, isActive: false });
    await gateway.addApplication('pipeline', 'pipeline-client');
    const { databaseUrl } = gateway;
    return new ContractService(gateway, { databaseUrl, names: GATEWAY, clientId: 'pipeline-client' });
  }

  /** The password of every user but the administrator. */
  get password(): Secret {
    return new Secret(PASSWORD);
  }

  /** Makes that many tokens of alice. Resolves with their ids, ascending. */
  async makeTokens(count: number, scope: 'read' | 'write' = 'write'): Promise<number[]> {
    const rows = await this.#service.database.query<{ id: number }>(
      `INSERT INTO ${this.#names.tokens} (token, user_id, scope, description, created, modified, expires)
       SELECT gen_random_uuid()::text, u.id, $2, '', now(), now(), now() + interval '1 year'
       FROM ${this.#names.users} u, generate_series(1, $1::int) WHERE u.username = 'alice' RETURNING id`,
      [count, scope],
    );
    return rows.map(({ id }) => id).sort((a, b) => a - b);
  }

  /** Puts a token's last use that many days back. */
  async age(tokenId: number, days: number): Promise<void> {
    await this.#service.database.execute(
      `UPDATE ${this.#names.tokens} SET last_used = now() - make_interval(days => $2),
         created = least(created, now() - make_interval(days => $2)) WHERE id = $1`,
      [tokenId, days],
    );
  }

  /** Has the application get a pair of tokens for alice. */
  async makePair(): Promise<Pair> {
    const answer = await this.#token({ grant_type: 'password', username: 'alice', password: PASSWORD });
    if (!granted(answer)) throw new Error(`There is no pair: ${answer.text}`);
    const [row] = await this.#service.database.query<{ id: number }>(
      `SELECT max(id) AS id FROM ${this.#names.tokens}`,
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
    return new Client(this.url).send('POST', this.#names.token, {
      form: { ...form, client_id: this.#clientId },
    });
  }

  /** Whether a token lets its bearer in. */
  async accepts(token: Secret): Promise<boolean> {
    return (await new Client(this.url, bearer(token.reveal())).get(`${this.#names.api}me/`)).status === 200;
  }

  /** Logs alice in with a browser; tells whether it is still logged in. */
  async logIn(): Promise<() => Promise<boolean>> {
    const browser = new Client(this.url);
    await browser.logIn('alice', PASSWORD, { path: this.#names.login });
    return async () => (await browser.get(`${this.#names.api}me/`)).status === 200;
  }

  close(): Promise<void> {
    return this.#service.close();
  }
}

/** Whether the token endpoint gave tokens: a controller says 200 then, a gateway 201. */
function granted({ status }: Answer): boolean {
  return status === 200 || status === 201;
}

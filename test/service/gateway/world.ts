import type { RunningService } from '../../../src/service/server.ts';
import { ADMIN, basic, bearer, Client, type DATABASES, startTestService } from '../../support/service.ts';

/** Below what a gateway's collections are. */
export const API = '/api/gateway/v1/';
/** Where a gateway's login is. */
export const LOGIN = `${API}login/`;
/** The password of everybody but the superuser. */
export const PASSWORD = 'password of everybody';

/** A service that speaks the gateway's dialect, with its superuser. */
export class Gateway {
  readonly service: RunningService;
  readonly admin: Client;

  private constructor(service: RunningService) {
    this.service = service;
    this.admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  }

  static async start(kind: (typeof DATABASES)[number]): Promise<Gateway> {
    return new Gateway(await startTestService(kind, { dialect: 'gateway' }));
  }

  /** Nobody, who may become somebody by logging in. */
  stranger(): Client {
    return new Client(this.service.url);
  }

  /** Makes a user, who signs in with the password. */
  async user(username: string, facts: object = {}): Promise<{ id: number; client: Client }> {
    const { json } = await this.admin.post(`${API}users/`, { username, password: PASSWORD, ...facts });
    return { id: json.id, client: new Client(this.service.url, basic(username, PASSWORD)) };
  }

  /** Makes a token of the superuser, and who presents it. */
  async token(fields: object): Promise<{ id: number; value: string; client: Client }> {
    const { id, token } = (await this.admin.post(`${API}tokens/`, fields)).json;
    return { id, value: token, client: new Client(this.service.url, bearer(token)) };
  }

  /** Registers a public application that takes passwords. */
  async application(name: string): Promise<{ id: number; clientId: string }> {
    const { json } = await this.admin.post(`${API}applications/`, {
      name,
      organization: 1,
      client_type: 'public',
      authorization_grant_type: 'password',
    });
    return { id: json.id, clientId: String(json['client_id']) };
  }
}

// oidc-provider comes without types: what the tests use of it.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  class Grant {
    constructor(properties: { readonly clientId: string; readonly accountId: string });
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  /** A client as the provider keeps it. */
  class Client {
    static find(clientId: string): Promise<Client | undefined>;
    /** Sends a logout token; `sid` is left out unless the client requires it. */
    backchannelLogout(sub: string, sid?: string): Promise<void>;
  }

  /** An OpenID provider. */
  export default class Provider {
    readonly Grant: typeof Grant;
    readonly Client: typeof Client;
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Readonly<Record<string, unknown>>,
      options: { readonly mergeWithLastSubmission: boolean },
    ): Promise<void>;
  }
}

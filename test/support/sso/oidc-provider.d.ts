// oidc-provider comes without types: what the tests use of it.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  /** A grant as the provider keeps it. */
  class Grant {
    constructor(properties: { readonly clientId: string; readonly accountId: string });
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  /** An OpenID provider. */
  export default class Provider {
    readonly Grant: typeof Grant;
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

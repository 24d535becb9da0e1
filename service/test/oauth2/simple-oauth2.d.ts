// simple-oauth2 comes without types: what the tests use of it.
declare module 'simple-oauth2' {
  /** A token that the library keeps for a user. */
  interface AccessToken {
    readonly token: Readonly<Record<string, unknown>>;
    refresh(parameters?: { readonly scope?: string }): Promise<AccessToken>;
    revoke(type: 'access_token' | 'refresh_token'): Promise<void>;
    revokeAll(): Promise<void>;
  }

  /** A client and its endpoints. */
  interface ModuleOptions {
    readonly client: { readonly id: string; readonly secret: string };
    readonly auth: Readonly<Record<'tokenHost' | 'tokenPath' | 'revokePath', string>> & {
      readonly authorizePath?: string;
    };
    readonly options?: { readonly authorizationMethod?: 'header' | 'body' };
  }

  /** The authorization code grant. */
  export class AuthorizationCode {
    constructor(options: ModuleOptions);
    authorizeURL(parameters: Readonly<Record<string, string>>): string;
    getToken(parameters: Readonly<Record<string, string>>): Promise<AccessToken>;
  }

  /** The password grant. */
  export class ResourceOwnerPassword {
    constructor(options: ModuleOptions);
    getToken(parameters: Readonly<Record<string, string>>): Promise<AccessToken>;
  }
}

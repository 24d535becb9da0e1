/**
 * The authentication settings that tokenctl knows, in the controller's names. Null is what the target has no
 * such setting for: a platform gateway keeps the lifetimes of tokens in a file, and knows no others of these.
 */
export interface AuthenticationSettings {
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean;
  readonly SESSION_COOKIE_AGE: number;
  readonly SESSIONS_PER_USER: number | null;
  readonly DISABLE_LOCAL_AUTH: boolean | null;
  readonly OAUTH2_PROVIDER: TokenLifetimes | null;
  readonly LOGIN_REDIRECT_OVERRIDE: string;
  readonly ALLOW_METRICS_FOR_ANONYMOUS_USERS: boolean | null;
}

/** How long what is issued from now on lives, in seconds. */
export interface TokenLifetimes {
  readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
  readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
  readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
}

/** The controller's authentication settings that tokenctl knows, in the controller's names. */
export interface AuthenticationSettings {
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean;
  readonly SESSION_COOKIE_AGE: number;
  readonly SESSIONS_PER_USER: number;
  readonly DISABLE_LOCAL_AUTH: boolean;
  readonly OAUTH2_PROVIDER: {
    readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
    readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
    readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
  };
  readonly LOGIN_REDIRECT_OVERRIDE: string;
  readonly ALLOW_METRICS_FOR_ANONYMOUS_USERS: boolean;
}

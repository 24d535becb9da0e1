/** The ways to log in through an identity provider, by the controller's names. */
export const BACKENDS = ['google-oauth2', 'azuread-oauth2', 'github', 'saml'] as const;

/** One of them. */
export type Backend = (typeof BACKENDS)[number];

/** How the settings of a backend begin. */
export const PREFIXES: Readonly<Record<Backend, string>> = {
  'google-oauth2': 'SOCIAL_AUTH_GOOGLE_OAUTH2',
  'azuread-oauth2': 'SOCIAL_AUTH_AZUREAD_OAUTH2',
  github: 'SOCIAL_AUTH_GITHUB',
  saml: 'SOCIAL_AUTH_SAML',
};

/** What people call a backend. */
export const LABELS: Readonly<Record<Backend, string>> = {
  'google-oauth2': 'Google',
  'azuread-oauth2': 'Microsoft',
  github: 'GitHub',
  saml: 'SAML',
};

/** The backend of this name, or null. */
export function backendOf(name: string | undefined): Backend | null {
  return BACKENDS.find((backend) => backend === name) ?? null;
}

/** Who somebody is at an identity provider, as far as that was verified. */
export interface Identity {
  readonly backend: Backend;
  /** The account's one name there that never changes, and is nobody else's. */
  readonly uid: string;
  /** What the user may be called here, if it is free. */
  readonly username: string;
  /** A verified address; empty where there is none. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Names and addresses that the provider vouches for: what maps are compared with. */
  readonly names: readonly string[];
  /** Attributes or claims, each with its values as text. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

/** The longest name of an account that the table of links holds. */
export const LONGEST_UID = 255;

/** Attributes from claims: texts, numbers and booleans, and lists of them. Everything else is left out. */
export function attributesOf(
  claims: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, readonly string[]> {
  const text = (value: unknown) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [String(value)] : [];
  return new Map(
    Object.entries(claims).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.flatMap(text) : text(value),
    ]),
  );
}

/** Why a login through an identity provider did not come about: what the user is told. */
export type SsoReason =
  /** The provider is not set up here. */
  | 'not_configured'
  /** What is set up cannot be used: a key is wrong, or metadata make no sense. */
  | 'misconfigured'
  /** The provider could not be reached, or did not answer in time. */
  | 'unreachable'
  /** No such login was begun in this browser; it took too long, or was answered before. */
  | 'no_such_login'
  /** The provider itself says no. */
  | 'refused_by_provider'
  /** What came back could not be verified. */
  | 'unverified'
  /** The account at the provider is none of those that may log in here. */
  | 'not_allowed'
  /** There is no account here yet, and none is made. */
  | 'no_new_users'
  /** The account here is deactivated. */
  | 'deactivated';

/** A login through an identity provider that ends here. The detail is for the log, and holds no secret. */
export class SsoFailure extends Error {
  override readonly name = 'SsoFailure';
  readonly reason: SsoReason;

  constructor(reason: SsoReason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** The ways to log in through an identity provider, under the controller's names (python-social-auth's backends). */
export const BACKENDS = ['google-oauth2', 'azuread-oauth2', 'oidc', 'github', 'saml'] as const;

export type Backend = (typeof BACKENDS)[number];

/** The tolerated difference between a provider's clock and ours, in seconds. */
export const CLOCK_TOLERANCE_S = 60;

export const PREFIXES: Readonly<Record<Backend, string>> = {
  'google-oauth2': 'SOCIAL_AUTH_GOOGLE_OAUTH2',
  'azuread-oauth2': 'SOCIAL_AUTH_AZUREAD_OAUTH2',
  oidc: 'SOCIAL_AUTH_OIDC',
  github: 'SOCIAL_AUTH_GITHUB',
  saml: 'SOCIAL_AUTH_SAML',
};

export const LABELS: Readonly<Record<Backend, string>> = {
  'google-oauth2': 'Google',
  'azuread-oauth2': 'Microsoft',
  oidc: 'OpenID Connect',
  github: 'GitHub',
  saml: 'SAML',
};

/** The OpenID providers among them. */
export const OPENID_BACKENDS = ['google-oauth2', 'azuread-oauth2', 'oidc'] as const;

export function backendOf(name: string | undefined): Backend | null {
  return BACKENDS.find((backend) => backend === name) ?? null;
}

/** The verified identity of a user at an identity provider. */
export interface Identity {
  readonly backend: Backend;
  /** The account's permanent, unique id at the provider. */
  readonly uid: string;
  /** The preferred user name. It may already be taken here. */
  readonly username: string;
  /** A verified address, or empty. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Names and addresses that the provider has verified, for comparison with maps. */
  readonly names: readonly string[];
  /** Attributes or claims, each with a list of values. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** Attributes or claims whose values the provider did not send: {@link withheldBy}. */
  readonly withheld?: readonly string[];
  /** Why no user is created for this account: it may be another id of an existing user. Absent if one may be. */
  readonly noNewUser?: string | undefined;
}

/** Entra's default name for a user's groups in SAML. */
const ENTRA_GROUPS = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups';
/** Instead of the groups, Entra sends a URL to read them from: in SAML for more than 150. */
const ENTRA_GROUPS_LINK = 'http://schemas.microsoft.com/claims/groups.link';

/**
 * The claims whose values the provider has but did not send, so their absence means nothing. These are claims
 * that it has elsewhere (OpenID Connect Core 1.0, section 5.6.2, `_claim_names`; `groups:src1` in Entra's
 * tables), and groups that Entra omits if a user has too many (`hasgroups` in OpenID Connect, `groups.link`
 * in SAML). An application can rename the groups of SAML: then they could be any absent attribute, and all
 * absent attributes count as withheld, as for sources (`_claim_sources`) without names. Claims that contain
 * objects also count, because maps and flags cannot read them.
 * @param mapped The claims that maps and flags use.
 */
export function withheldBy(
  claims: Readonly<Record<string, unknown>>,
  mapped: ReadonlySet<string>,
): readonly string[] {
  const elsewhere = claims['_claim_names'];
  const named = isObject(elsewhere)
    ? Object.keys(elsewhere)
    : Object.keys(claims).flatMap((name) => /^(.+):src\d+$/.exec(name)?.[1] ?? []);
  const hasGroups = isTrue(claims['hasgroups']) ? ['groups'] : [];
  const isLinked = Object.hasOwn(claims, ENTRA_GROUPS_LINK);
  const hasUnnamed = isLinked || (isObject(claims['_claim_sources']) && !isObject(elsewhere));
  const absent = hasUnnamed ? [...mapped].filter((name) => !Object.hasOwn(claims, name)) : [];
  const unread = [...mapped].filter((name) => [claims[name]].flat().some(isObject));
  return [...new Set([...named, ...hasGroups, ...(isLinked ? [ENTRA_GROUPS] : []), ...absent, ...unread])];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The maximum length of a uid in the table of linked accounts. */
export const MAX_UID_LENGTH = 255;

/** Whether a claim is true. Several providers send booleans as text. */
export function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true';
}

/** Converts claims to attributes: strings, numbers, booleans, and lists of them. Other values are omitted. */
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

/** Why a login through an identity provider failed. The error page explains each reason to the user. */
export type SsoReason =
  | 'not_configured'
  /** The configuration cannot be used, for example because of a wrong key. */
  | 'misconfigured'
  /** The provider could not be reached, or timed out. */
  | 'unreachable'
  /** This browser has no pending login with this state: it never started one, it expired, or it was completed. */
  | 'no_such_login'
  | 'refused_by_provider'
  /** The provider's response could not be verified. */
  | 'unverified'
  /** The account at the provider may not log in here. */
  | 'not_allowed'
  /** The user has no account here, and creating accounts is off. */
  | 'no_new_users'
  | 'deactivated';

/** A failed login through an identity provider. The message is for the log and contains no secrets. */
export class SsoFailure extends Error {
  override readonly name = 'SsoFailure';
  readonly reason: SsoReason;

  constructor(reason: SsoReason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

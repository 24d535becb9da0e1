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

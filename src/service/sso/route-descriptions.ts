import type { RouteDescription } from '../openapi/route-description.ts';

/** What `/sso/login/<backend>/` says about itself. */
export const BEGIN: RouteDescription = {
  summary: 'Log in through an identity provider',
  description: 'Begins a login with google-oauth2, azuread-oauth2, github or saml.',
  produces: 'text/html',
  anonymous: true,
  query: {
    next: { description: 'Where to go afterwards: a path of this service.' },
    idp: { description: 'With SAML: the short name of the identity provider.' },
  },
  answers: {
    302: 'To the provider, or to /sso/error/.',
    429: 'Too many logins were begun from one network.',
  },
};

/** What `/sso/complete/<backend>/` says about itself for OAuth2. */
export const COMPLETE: RouteDescription = {
  summary: 'Come back from an identity provider',
  produces: 'text/html',
  anonymous: true,
  query: {
    state: { description: 'What the login was begun with.' },
    code: { description: 'The authorization code.' },
  },
  answers: { 302: 'Logged in, or to /sso/error/.', 429: 'Too many logins from one network were refused.' },
};

/** What `/sso/complete/saml/` says about itself. */
export const COMPLETE_SAML: RouteDescription = {
  summary: 'Come back from a SAML identity provider',
  description: 'The assertion consumer service (SAML 2.0), with the POST binding.',
  produces: 'text/html',
  anonymous: true,
  form: {
    SAMLResponse: { description: 'The answer, in base64.', required: true },
    RelayState: { description: 'What the request was sent with.' },
  },
  answers: { 302: 'Logged in, or to /sso/error/.', 429: 'Too many logins from one network were refused.' },
};

/** What `/sso/metadata/saml/` says about itself. */
export const METADATA: RouteDescription = {
  summary: 'The SAML metadata of this service',
  produces: 'application/xml',
  anonymous: true,
  answers: { 200: 'The metadata.', 302: 'To /sso/error/, where SAML is not set up.' },
};

/** What `/sso/error/` says about itself. */
export const ERROR: RouteDescription = {
  summary: 'Why a login through an identity provider failed',
  produces: 'text/html',
  anonymous: true,
  query: { reason: { description: 'A word for what went wrong.' } },
  answers: { 400: 'The page.', 403: 'The page.', 500: 'The page.', 502: 'The page.' },
};

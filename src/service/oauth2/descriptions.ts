import type { RouteDescription } from '../openapi/route-description.ts';

const CLIENT = {
  client_id: { description: 'The client, unless HTTP Basic names it.' },
  client_secret: { description: 'Its secret, unless HTTP Basic holds it; none for a public client.' },
};
const ANSWERS = {
  200: 'Done.',
  400: 'An error of RFC 6749, section 5.2.',
  401: 'The client could not be authenticated.',
  429: 'Too many refused requests; again after the seconds that Retry-After says.',
};
const AUTHORIZATION = {
  response_type: { description: 'code; token where the implicit grant is allowed.', required: true },
  client_id: { description: 'The application.', required: true },
  redirect_uri: { description: 'One of those of the application, exactly; its only one unless given.' },
  scope: { description: 'read, write, or both with a space between.' },
  state: { description: 'Comes back as it is.' },
  code_challenge: { description: 'RFC 7636, section 4.3.' },
  code_challenge_method: { description: 'S256 or plain.' },
} as const;

/** The authorization endpoint. */
export const AUTHORIZE: RouteDescription = {
  summary: 'Authorize an application (RFC 6749, section 3.1)',
  description: 'A page for a person who is logged in. GET asks for consent, POST answers the application.',
  produces: 'text/html',
  query: AUTHORIZATION,
  form: AUTHORIZATION,
  answers: {
    200: 'The page that asks for consent.',
    302: 'To the application with the answer, or to the login.',
    400: 'A page that says what is wrong with the request.',
  },
};

/** `/.well-known/oauth-authorization-server`. */
export const SERVER_METADATA: RouteDescription = {
  summary: 'Metadata of the authorization server (RFC 8414)',
  anonymous: true,
};

/** The endpoints that take forms from clients, by what they are called below the root. */
export const FORM_ENDPOINTS = {
  token: {
    summary: 'Obtain or refresh tokens (RFC 6749, section 3.2)',
    methods: ['POST'],
    form: {
      grant_type: { description: 'password, authorization_code or refresh_token.', required: true },
      ...CLIENT,
      username: { description: 'With password.' },
      password: { description: 'With password.' },
      code: { description: 'With authorization_code.' },
      redirect_uri: { description: 'With authorization_code: as in the authorization request.' },
      code_verifier: { description: 'With authorization_code: RFC 7636, section 4.5.' },
      refresh_token: { description: 'With refresh_token. It is used up: the answer holds a new one.' },
      scope: { description: 'read, write, or both with a space between.' },
    },
    anonymous: true,
    answers: ANSWERS,
  },
  revoke_token: {
    summary: 'Revoke a token (RFC 7009)',
    methods: ['POST'],
    form: {
      token: { description: 'An access or refresh token.', required: true },
      token_type_hint: { description: 'access_token or refresh_token.' },
      ...CLIENT,
    },
    anonymous: true,
    answers: ANSWERS,
  },
  introspect: {
    summary: 'Ask about a token (RFC 7662)',
    methods: ['POST'],
    form: {
      token: { description: 'An access or refresh token.', required: true },
      token_type_hint: { description: 'access_token or refresh_token.' },
      ...CLIENT,
    },
    anonymous: true,
    answers: ANSWERS,
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;

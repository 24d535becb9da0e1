import type { RouteDescription } from '../openapi/route-description.ts';

/** What the login says about itself. */
export const LOGIN: RouteDescription = {
  summary: 'Log in',
  description: 'GET shows the page and sets the CSRF cookie; POST starts a session.',
  produces: 'text/html',
  anonymous: true,
  form: {
    username: { description: 'The name of a local user.', required: true },
    password: { description: 'The password.', required: true },
    next: { description: 'Where to go afterwards: a path of this service.' },
    csrfmiddlewaretoken: { description: 'The value of the CSRF cookie, unless X-CSRFToken holds it.' },
  },
  answers: {
    200: 'The login page.',
    302: 'Logged in.',
    401: 'The user name or the password is wrong.',
    403: 'The CSRF token is missing or wrong.',
    429: 'Too many wrong passwords; again after the seconds that Retry-After says.',
  },
};

/** What the logout says about itself. */
export const LOGOUT: RouteDescription = {
  summary: 'Log out',
  anonymous: true,
  form: { csrfmiddlewaretoken: { description: 'The value of the CSRF cookie.', required: true } },
  answers: { 302: 'Logged out.', 403: 'The CSRF token is missing or wrong.' },
};

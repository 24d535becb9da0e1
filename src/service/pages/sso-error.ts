import type { FastifyReply } from 'fastify';
import type { SsoReason } from '../sso/backends.ts';
import { sendPage } from './page.ts';

const AGAIN = 'Open the login page and try again.';
const ADMINISTRATOR = 'Contact your administrator.';

/** What a user is told, and what there is to do about it. */
const REASONS: Readonly<
  Record<SsoReason, { readonly status: number; readonly said: string; readonly todo: string }>
> = {
  not_configured: {
    status: 400,
    said: 'This service is not set up for logins through this provider.',
    todo: 'Choose another way to log in.',
  },
  misconfigured: {
    status: 500,
    said: 'Logins through this provider are not set up correctly.',
    todo: ADMINISTRATOR,
  },
  unreachable: {
    status: 502,
    said: 'The provider is unavailable or timed out.',
    todo: 'Try again in a little while.',
  },
  no_such_login: {
    status: 403,
    said: 'This login was started in another browser, timed out, or was already used.',
    todo: `${AGAIN} Cookies must be allowed for it.`,
  },
  refused_by_provider: {
    status: 403,
    said: 'The provider did not log you in.',
    todo: `${AGAIN} If you did not cancel it, contact the provider's administrator.`,
  },
  unverified: {
    status: 403,
    said: 'The answer of the provider could not be verified, and was refused.',
    todo: `${AGAIN} If this happens again, contact your administrator.`,
  },
  not_allowed: {
    status: 403,
    said: 'Your account at the provider may not log in here.',
    todo: 'Log in with another account of the provider, or contact your administrator.',
  },
  no_new_users: {
    status: 403,
    said: 'You have no account here, and logging in does not create one.',
    todo: ADMINISTRATOR,
  },
  deactivated: {
    status: 403,
    said: 'Your account here is deactivated.',
    todo: ADMINISTRATOR,
  },
};

/** Where a login that failed for this reason ends. */
export function errorPath(reason: SsoReason): string {
  return `/sso/error/?reason=${reason}`;
}

/** Tells a user in words why a login through a provider did not come about. */
export function sendSsoError(reply: FastifyReply, login: string, reason: unknown): FastifyReply {
  const known = Object.entries(REASONS).find(([name]) => name === reason);
  const [, { status, said, todo }] = known ?? ['', { status: 400, said: 'The login failed.', todo: AGAIN }];
  return sendPage(reply, {
    status,
    title: 'You are not logged in',
    main: `<p role="alert">${said}</p>
<p>${todo}</p>
<p><a class="button" href="${login}">To the login page</a></p>`,
  });
}

import { escapeHtml } from '@tokenctl/common/text.ts';
import type { FastifyReply } from 'fastify';
import type { RequestFailure } from '../failure.ts';
import type { SsoReason } from '../sso/backends.ts';
import { sendPage, textHtml } from './page.ts';

const AGAIN = 'Open the login page and try again.';
const ADMINISTRATOR = 'Contact your administrator.';

/** What the user reads: the problem, and what to do about it. */
const REASONS: Readonly<Record<SsoReason, readonly [status: number, said: string, todo: string]>> = {
  not_configured: [
    400,
    'This service is not set up for logins through this provider.',
    'Choose another way to log in.',
  ],
  misconfigured: [500, 'Logins through this provider are not configured correctly.', ADMINISTRATOR],
  unreachable: [502, 'The provider is unavailable or timed out.', 'Try again in a few minutes.'],
  no_such_login: [
    403,
    'This login was started in another browser, timed out, or was already used.',
    `${AGAIN} Your browser must allow cookies.`,
  ],
  refused_by_provider: [
    403,
    'The provider did not log you in.',
    `${AGAIN} If you did not cancel it, contact the provider's administrator.`,
  ],
  unverified: [
    403,
    "The provider's response could not be verified and was rejected.",
    `${AGAIN} If this happens again, contact your administrator.`,
  ],
  not_allowed: [
    403,
    'Your account at the provider is not allowed to log in here.',
    'Log in with another account, or contact your administrator.',
  ],
  no_new_users: [403, 'You have no account here, and logging in does not create one.', ADMINISTRATOR],
  deactivated: [403, 'Your account here is deactivated.', ADMINISTRATOR],
};

/** The error page for a login that failed for this reason. It shows the request's id; the log has the cause. */
export function errorPath(reason: SsoReason, id: string): string {
  return `/sso/error/?reason=${reason}&request=${encodeURIComponent(id)}`;
}

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Explains why a login through a provider failed, with the request's id for the administrator. */
export function sendSsoError(reply: FastifyReply, reason: unknown, id: unknown): FastifyReply {
  const known = Object.entries(REASONS).find(([name]) => name === reason);
  const [status, said, todo] = known?.[1] ?? [400, 'The login failed.', AGAIN];
  const reference =
    typeof id === 'string' && REQUEST_ID.test(id) ? `<p>Request ID: <code>${id}</code></p>` : '';
  return sendLoginProblem(reply, {
    status,
    main: `<p role="alert">${said}</p>\n<p>${todo}</p>\n${reference}`,
  });
}

/** The page for a login request that was refused before the provider was involved, for example by a limit. */
export function sendSsoFailure(reply: FastifyReply, { status, headers, body }: RequestFailure): FastifyReply {
  const { detail } = body;
  const said = typeof detail === 'string' ? detail : 'The request could not be parsed.';
  return sendLoginProblem(reply.headers(headers), { status, main: `<p role="alert">${textHtml(said)}</p>` });
}

function sendLoginProblem(reply: FastifyReply, { status, main }: { status: number; main: string }) {
  return sendPage(reply, {
    status,
    title: 'You are not logged in',
    main: `${main}\n<p><a class="button" href="/api/login/">Go to the login page</a></p>`,
  });
}

/** What the page after a logout says about the identity provider. */
interface LoggedOut {
  readonly provider: {
    readonly label: string;
    /** Where to log out at the provider; null if the provider does not offer that. */
    readonly url: string | null;
  };
  /** Whether the provider confirmed, in a signed response, that its session ended; undefined if it was not asked. */
  readonly isConfirmed?: boolean;
}

/** The page after logging out of a session from an identity provider, where a session may continue. */
export function sendLoggedOut(reply: FastifyReply, { provider, isConfirmed }: LoggedOut): FastifyReply {
  const label = textHtml(provider.label);
  const remaining =
    isConfirmed === undefined
      ? `Your session at ${label} continues: a user of this browser can log in again without a password.`
      : isConfirmed
        ? `${label} confirmed the logout.`
        : `${label} did not confirm the logout, so your session there may continue.`;
  const button =
    provider.url === null
      ? ''
      : `<p><a class="button" href="${escapeHtml(provider.url)}">Log out at ${label} too</a></p>\n`;
  return sendPage(reply, {
    status: 200,
    title: 'You are logged out',
    main: `<p>You are logged out of this service. ${remaining}</p>
${button}<p><a href="/api/login/">Go to the login page</a></p>`,
  });
}

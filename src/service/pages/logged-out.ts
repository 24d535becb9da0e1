import type { FastifyReply } from 'fastify';
import { escapeHtml, sendPage } from './page.ts';

/** What the page after a logout says of the identity provider. */
interface LoggedOut {
  readonly provider: {
    readonly label: string;
    /** Where to log out at the provider; null if that is not offered. */
    readonly url: string | null;
  };
  /** Whether the provider confirmed, signed, that the session there ended; undefined if it was not asked. */
  readonly isConfirmed?: boolean;
}

/** The page after the logout from a session that was started through an identity provider, where a session may go on. */
export function sendLoggedOut(reply: FastifyReply, { provider, isConfirmed }: LoggedOut): FastifyReply {
  const label = escapeHtml(provider.label);
  const remaining =
    isConfirmed === undefined
      ? `Your session at ${label} goes on: a user of this browser can log in again without a password.`
      : isConfirmed
        ? `${label} confirmed the logout.`
        : `${label} did not confirm the logout: your session there may go on.`;
  const button =
    provider.url === null
      ? ''
      : `<p><a class="button" href="${escapeHtml(provider.url)}">Log out at ${label} too</a></p>\n`;
  return sendPage(reply, {
    status: 200,
    title: 'You are logged out',
    main: `<p>You are logged out of this service. ${remaining}</p>
${button}<p><a href="/api/login/">To the login page</a></p>`,
  });
}

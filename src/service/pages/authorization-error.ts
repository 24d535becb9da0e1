import type { FastifyReply } from 'fastify';
import { escapeHtml, sendPage } from './page.ts';

/** Tells a user that an application's request cannot be answered, not even to the application. */
export function sendAuthorizationError(reply: FastifyReply, problem: string): FastifyReply {
  return sendPage(reply, {
    status: 400,
    title: 'This application cannot be given access',
    main: `<p role="alert">${escapeHtml(problem)}</p>
<p>An application sent you here to ask for access to your account, and its request is wrong. Nothing was
granted, and you were not sent on. If this goes on, tell whoever runs the application.</p>
<p><a href="/accounts/profile/">Back to your profile</a></p>`,
  });
}

/** Tells a user that an answer was not taken because it may not have been his or her own. */
export function sendForgeryError(reply: FastifyReply, problem: string): FastifyReply {
  return sendPage(reply, {
    status: 403,
    title: 'This answer was refused',
    main: `<p role="alert">It could have been sent by another site in your name: ${escapeHtml(problem)}</p>
<p>Nothing was granted. Go back to the application and start again. Cookies must be allowed for it.</p>`,
  });
}

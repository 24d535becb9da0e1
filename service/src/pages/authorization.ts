import { escapeHtml } from '@tokenctl/common/text.ts';
import type { FastifyReply } from 'fastify';
import { addressHtml, sendPage, textHtml } from './page.ts';

interface ConsentQuestion {
  readonly application: string;
  readonly username: string;
  readonly scope: string;
  readonly redirectUri: string;
  /** The Content-Security-Policy source of the redirect URI. */
  readonly formAction: string;
  readonly csrfToken: string;
  /** The authorization request, sent along with the answer. */
  readonly carried: readonly (readonly [name: string, value: string])[];
}

/** Asks users whether an application may act for them: shows the application, the scope, and the redirect URI. */
export function sendConsent(reply: FastifyReply, question: ConsentQuestion): FastifyReply {
  const { application, username, scope, redirectUri, formAction, csrfToken, carried } = question;
  const hidden = [['csrfmiddlewaretoken', csrfToken] as const, ...carried].map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  return sendPage(reply, {
    status: 200,
    title: `Allow ${application} to use your account?`,
    formAction,
    main: `<p>You are logged in as <strong>${textHtml(username)}</strong>. The application \
<strong>${textHtml(application)}</strong> wants to do this as you:</p>
<ul>${powers(scope)}</ul>
<p>You will be sent to <strong>${addressHtml(redirectUri)}</strong>. If you did not start this yourself, \
cancel.</p>
<form method="post" action="/api/o/authorize/">
${hidden.join('\n')}
<button type="submit" name="allow" value="Authorize">Allow</button>
<button type="submit">Cancel</button>
</form>`,
  });
}

function powers(scope: string): string {
  const words = scope.split(' ');
  const said = [
    'See everything that you can see',
    ...(words.includes('write') ? ['Change everything that you can change, and launch jobs'] : []),
  ];
  return said.map((power) => `<li>${power}</li>`).join('');
}

/** Shows that an application's request cannot be answered, not even to the application. */
export function sendAuthorizationError(reply: FastifyReply, problem: string): FastifyReply {
  return sendPage(reply, {
    status: 400,
    title: 'This application cannot be given access',
    main: `<p role="alert">${textHtml(problem)}</p>
<p>An application sent you here to ask for access to your account, but its request is invalid. Nothing was
granted, and you were not redirected. If this happens again, contact the application's administrator.</p>
<p><a href="/">Go to the start page</a></p>`,
  });
}

/** Shows that an answer was not accepted because the user may not have sent it. */
export function sendForgeryError(reply: FastifyReply, problem: string): FastifyReply {
  return sendPage(reply, {
    status: 403,
    title: 'Your answer was rejected',
    main: `<p role="alert">Another site could have sent it on your behalf: ${textHtml(problem)}</p>
<p>Nothing was granted. Go back to the application and start again. Your browser must allow cookies.</p>`,
  });
}

import type { FastifyReply } from 'fastify';
import { escapeHtml, sendPage } from './page.ts';

/** What a user is asked to agree to. */
export interface ConsentQuestion {
  /** The path that the answer is sent to. */
  readonly endpoint: string;
  readonly application: string;
  readonly username: string;
  readonly scope: string;
  readonly redirectUri: string;
  /** The Content-Security-Policy source of the redirect URI. */
  readonly formAction: string;
  readonly csrfToken: string;
  /** The authorization request, to be sent along with the answer. */
  readonly carried: readonly (readonly [name: string, value: string])[];
}

/** Asks a user whether an application may act in his or her name. It says who asks, for what, and where the answer goes. */
export function sendConsent(reply: FastifyReply, question: ConsentQuestion): FastifyReply {
  const { endpoint, application, username, scope, redirectUri, formAction, csrfToken, carried } = question;
  const hidden = [['csrfmiddlewaretoken', csrfToken] as const, ...carried].map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  return sendPage(reply, {
    status: 200,
    title: `Allow ${application} to use your account?`,
    formAction,
    main: `<p>You are logged in as <strong>${escapeHtml(username)}</strong>. The application <strong>${escapeHtml(
      application,
    )}</strong> asks to do this in your name:</p>
<ul>${powers(scope)}</ul>
<p>You will be sent to <strong>${escapeHtml(redirectUri)}</strong>. If you did not start this yourself, cancel.</p>
<form method="post" action="${endpoint}">
${hidden.join('\n')}
<button type="submit" name="allow" value="Authorize">Allow</button>
<button type="submit">Cancel</button>
</form>`,
  });
}

function powers(scope: string): string {
  const words = scope.split(' ');
  const said = [
    'See everything that you may see',
    ...(words.includes('write') ? ['Change everything that you may change, and launch jobs'] : []),
  ];
  return said.map((power) => `<li>${power}</li>`).join('');
}

import type { FastifyInstance } from 'fastify';
import { csrfToken, prolongSession, sessionOf } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { redirectWithoutSlash } from '../endpoint.ts';
import type { RouteDescription } from '../openapi/route-description.ts';
import { escapeHtml, sendPage } from './page.ts';
import { STYLE } from './style.ts';

const START: RouteDescription = {
  summary: 'To the profile page',
  anonymous: true,
  answers: { 302: 'To /accounts/profile/.' },
};
const STYLE_SHEET: RouteDescription = {
  summary: 'The style sheet of the pages',
  produces: 'text/css',
  anonymous: true,
};
const PROFILE: RouteDescription = {
  summary: 'Who is logged in',
  produces: 'text/html',
  answers: { 200: 'The page.', 302: 'To the login.' },
};

/** `/`, `/accounts/profile/` and the style sheet. */
export function serveProfile(app: FastifyInstance, service: ServiceContext): void {
  app.get('/', { config: { describes: START } }, (_request, reply) => reply.redirect('/accounts/profile/'));
  app.get('/static/service.css', { config: { describes: STYLE_SHEET } }, (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('Cache-Control', 'public, max-age=3600').send(STYLE),
  );
  app.get('/accounts/profile/', { config: { describes: PROFILE } }, async (request, reply) => {
    const session = await sessionOf(service, request, reply);
    if (session === null) return reply.redirect(`/api/login/?next=/accounts/profile/`);
    await prolongSession(service, { request, reply, session });
    const { owner } = session;
    const token = csrfToken(request, reply);
    const tokens = `/api/v2/users/${owner.id}/tokens/`;
    const role = owner.is_superuser ? 'superuser' : owner.is_system_auditor ? 'system auditor' : 'user';
    return sendPage(reply, {
      status: 200,
      title: `You are logged in as ${owner.username}`,
      main: `<dl><dt>Role</dt><dd>${role}</dd><dt>API</dt><dd><a href="/api/v2/">/api/v2/</a></dd>
<dt>Your tokens</dt><dd><a href="${tokens}">${tokens}</a></dd></dl>
<form method="post" action="/api/logout/">
<input type="hidden" name="csrfmiddlewaretoken" value="${escapeHtml(token)}">
<button type="submit">Log out</button>
</form>`,
    });
  });
  redirectWithoutSlash(app, '/accounts/profile/');
}

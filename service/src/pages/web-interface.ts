import { type BuiltFile, BuiltFiles } from '@tokenctl/common/network/built-files.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { csrfToken, findRequestSession, renewSession } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { currentSettings } from '../settings/settings.ts';
import { sendPage } from './page.ts';

/** The first path segments of the web interface's pages (service/web/pages.tsx). Others are not found. */
const SECTIONS: readonly string[] = [
  ...['users', 'organizations', 'teams', 'applications', 'tokens', 'settings', 'activity'],
  ...['inventories', 'hosts', 'groups', 'projects', 'credentials', 'templates', 'jobs'],
];

/** Scripts and styles only from this service, nothing inline, no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where the build puts the web interface, relative to this file: in `src`, in `dist/chunks`, or next to a command. */
const FOLDERS = ['../web/', '../../web/', '../../../web/', '../../../dist/web/'].map(
  (path) => new URL(path, import.meta.url),
);

/** The pages of the web interface: one also starts the dashboard's requests, the other serves all other addresses. */
type PageFile = 'dashboard.html' | 'index.html';

/** Serves the files of the web interface: hashed files may be cached forever, the page not at all. */
function serveWebFiles(app: FastifyInstance): {
  readonly sendPageFile: (page: PageFile, request: FastifyRequest, reply: FastifyReply) => FastifyReply;
} {
  // Only the build creates this page: the sources are not served.
  const files = new BuiltFiles(FOLDERS, 'dashboard.html');
  const send = (file: BuiltFile | null, reply: FastifyReply): FastifyReply => {
    if (file !== null) return reply.headers(file.headers).send(file.body);
    reply.callNotFound();
    return reply;
  };
  app.get('/assets/:file', { config: { page: true } }, ({ params, headers }, reply) =>
    send(files.findAsset((params as { readonly file: string }).file, headers['accept-encoding']), reply),
  );
  app.get('/favicon.svg', { config: { page: true } }, ({ headers }, reply) =>
    send(
      files.find('favicon.svg', headers['accept-encoding']),
      reply.header('Cache-Control', 'public, max-age=86400'),
    ),
  );
  return {
    sendPageFile: (page, request, reply) => {
      const file = files.find(page, request.headers['accept-encoding']);
      if (file === null) {
        const main =
          '<p>Build it with <code>npm run build</code>. The API starts at <a href="/api/">/api/</a>.</p>';
        const status = 503;
        return sendPage(reply, { status, title: 'The web interface is not built', main });
      }
      return send(file, reply.header('Content-Security-Policy', POLICY));
    },
  };
}

/** Whether a browser requests a page to show, not a part of one. */
function isVisit({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/html');
}

/** The page of an unknown address for clients without a session. Others see it inside the web interface. */
function sendNotFound(reply: FastifyReply): FastifyReply {
  const main =
    '<p>There is no page at this address.</p>' +
    '<p><a href="/">Go to the web interface</a>. The API starts at <a href="/api/">/api/</a>.</p>';
  return sendPage(reply, { status: 404, title: 'Page not found', main });
}

/**
 * Serves the web interface at `/` and at the addresses of its pages. Without a session, they redirect to the
 * login page, or to LOGIN_REDIRECT_OVERRIDE, and back. With a session, it also serves unknown addresses.
 */
export function serveWebInterface(app: FastifyInstance, service: ServiceContext): void {
  const { sendPageFile } = serveWebFiles(app);
  app.setNotFoundHandler(async (request, reply) => {
    if (request.url.startsWith('/api/')) return sendNotFound(reply);
    csrfToken(request, reply);
    const session = isVisit(request) ? await findRequestSession(service, request, reply) : null;
    return session === null ? sendNotFound(reply) : sendPageFile('index.html', request, reply.code(404));
  });
  for (const path of ['/', ...SECTIONS.flatMap((section) => [`/${section}`, `/${section}/*`])]) {
    app.get(path, { config: { page: true } }, async (request, reply) => {
      const session = await findRequestSession(service, request, reply);
      if (session === null) {
        const { LOGIN_REDIRECT_OVERRIDE } = await currentSettings(service.database);
        const login = `/api/login/?next=${encodeURIComponent(request.url)}`;
        return reply.redirect(LOGIN_REDIRECT_OVERRIDE === '' ? login : LOGIN_REDIRECT_OVERRIDE);
      }
      await renewSession(service, { request, reply, session });
      csrfToken(request, reply);
      return sendPageFile(path === '/' ? 'dashboard.html' : 'index.html', request, reply);
    });
  }
}

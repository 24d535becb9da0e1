import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';

/** The built page: seen from this file, which is bundled into a folder of `dist`, or is in `src/console`. */
const FOLDERS = ['../web-console/', '../../dist/web-console/'].map((path) => new URL(path, import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The addresses of the page's own views: each is the same document, which says of any other address that it has no such page. */
const VIEWS = '/ /theft /tokens /incidents /case /investigation /audit /log /jobs /operations /plans'.split(
  ' ',
);

/**
 * Serves the page. Its files hold nothing of a target: only the requests of the page are checked for the cookie and the key.
 */
export function servePage(app: FastifyInstance): void {
  const files = pageFiles();
  const read = (name: string) => {
    const content = files.get(name);
    if (content === undefined) throw notFound();
    return content;
  };
  for (const url of VIEWS) {
    app.get(url, { config: { open: 'page' } }, (_request, reply) =>
      reply.type(TYPES['.html'] ?? '').send(read('index.html')),
    );
  }
  app.get<{ Params: { file: string } }>(
    '/assets/:file',
    { config: { open: 'page' } },
    ({ params }, reply) => {
      const { file } = params;
      const type = TYPES[extname(file)];
      if (type === undefined) throw notFound();
      // The name of a file holds the hash of its content.
      return reply
        .type(type)
        .header('Cache-Control', 'private, max-age=31536000, immutable')
        .send(read(`assets/${file}`));
    },
  );
  app.get(
    '/*',
    { config: { open: 'page' }, exposeHeadRoute: false },
    ({ headers: { accept = '' } }, reply) => {
      if (!accept.includes('text/html')) throw notFound();
      return reply
        .code(404)
        .type(TYPES['.html'] ?? '')
        .send(read('index.html'));
    },
  );
  // Of the requests of the page, none is answered without the cookie and the key.
  app.get('/api/*', () => {
    throw notFound();
  });
  app.setNotFoundHandler(() => {
    throw notFound();
  });
}

/** The contents of the files by name, read once: an upgrade replaces them, and a page of two builds does not work. */
function pageFiles(): ReadonlyMap<string, Buffer> {
  const folder = FOLDERS.find((each) => existsSync(new URL('index.html', each)));
  if (folder === undefined) return new Map();
  return new Map(
    readdirSync(folder, { recursive: true })
      .map((name) => String(name).replaceAll('\\', '/'))
      .filter((name) => TYPES[extname(name)] !== undefined)
      .map((name) => [name, readFileSync(new URL(name, folder))]),
  );
}

function notFound(): TokenctlError {
  return new TokenctlError('not_found', 'No such page');
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type BuiltFile, BuiltFiles } from '@tokenctl/common/network/built-files.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The built page, relative to this file, which is bundled into a folder of `dist`, or in `src/console`. */
const FOLDERS = ['../web-console/', '../../dist/web-console/'].map((path) => new URL(path, import.meta.url));

/** The paths of the page's views, all with the same document; it reports any other path as missing. */
const VIEWS =
  '/ /theft /tokens /incidents /case /investigation /audit /lifetimes /log /jobs /operations /plans /help'.split(
    ' ',
  );

/** Serves the page. Its files contain no target data: only the page's requests require cookie and key. */
export function servePage(app: FastifyInstance): void {
  const files = new BuiltFiles(FOLDERS, 'index.html');
  const send = (reply: FastifyReply, file: BuiltFile | null) => {
    if (file === null) throw notFound();
    return reply.headers(file.headers).send(file.body);
  };
  const open = { config: { open: 'page' as const } };
  for (const url of VIEWS) {
    app.get(url, open, ({ headers }, reply) =>
      send(reply, files.find('index.html', headers['accept-encoding'])),
    );
  }
  app.get<{ Params: { file: string } }>('/assets/:file', open, ({ params, headers }, reply) =>
    send(reply, files.findAsset(params.file, headers['accept-encoding'])),
  );
  app.get('/*', { ...open, exposeHeadRoute: false }, ({ headers }, reply) => {
    if (!(headers.accept ?? '').includes('text/html')) throw notFound();
    return send(reply.code(404), files.find('index.html', headers['accept-encoding']));
  });
  // No request of the page is answered without the cookie and the key.
  app.get('/api/*', () => {
    throw notFound();
  });
  app.setNotFoundHandler(() => {
    throw notFound();
  });
}

function notFound(): TokenctlError {
  return new TokenctlError('not_found', 'No such page');
}

import type { FastifyReply } from 'fastify';

/**
 * Text for HTML, with what has a meaning there escaped.
 */
export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** What a page is made of. */
interface Page {
  readonly status: number;
  readonly title: string;
  /** HTML. */
  readonly main: string;
  /** Where else the page's form may end, by a redirect: a source of the Content-Security-Policy. */
  readonly formAction?: string;
}

/** Sends a page: no script, styles from this service alone, in no frame, forms to this service only. */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const formAction = ["'self'", ...(page.formAction === undefined ? [] : [page.formAction])].join(' ');
  return reply
    .code(page.status)
    .type('text/html; charset=utf-8')
    .header(
      'Content-Security-Policy',
      `default-src 'none'; style-src 'self'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
    )
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)}</title>
<link rel="stylesheet" href="/static/service.css">
</head>
<body>
<main>
<h1>${escapeHtml(page.title)}</h1>
${page.main}
</main>
</body>
</html>
`);
}

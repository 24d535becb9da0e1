import { escapeHtml, escapeUnsafe } from '@tokenctl/common/text.ts';
import type { FastifyReply } from 'fastify';

/** Text for people in HTML: direction marks and invisible characters cannot make a name look like another. */
export function textHtml(text: string): string {
  return escapeHtml(escapeUnsafe(text, '\n\t'));
}

/** An address that people read, for HTML: where it is too long for a line, it breaks after a separator and not within a name. */
export function addressHtml(address: string): string {
  return address
    .split(/(?<=[/.?&=])(?=[\w-])/)
    .map(textHtml)
    .join('<wbr>');
}

interface Page {
  readonly status: number;
  readonly title: string;
  readonly main: string;
  /** A source of the Content-Security-Policy: where else the page's form may end after a redirect. */
  readonly formAction?: string | undefined;
}

/** Sends a page: no scripts, styles only from this service, no framing, forms only to this service. */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const formAction = ["'self'", ...(page.formAction === undefined ? [] : [page.formAction])].join(' ');
  return reply
    .code(page.status)
    .type('text/html; charset=utf-8')
    .header(
      'Content-Security-Policy',
      `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
    )
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${textHtml(page.title)}</title>
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<link rel="stylesheet" href="/static/service.css">
</head>
<body>
<header><p class="brand">Automation service</p></header>
<main>
<h1>${textHtml(page.title)}</h1>
${page.main}
</main>
</body>
</html>
`);
}

/** The only style sheet, light or dark as the browser prefers, with the contrast of WCAG 2.2 level AA. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #151515; --soft: #4d4d4d; --paper: #ffffff; --ground: #f2f2f2; --line: #707070; --accent: #0066cc; --on-accent: #ffffff; --bad: #731f00; --bad-ground: #ffe3d9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ffffff; --soft: #c7c7c7; --paper: #292929; --ground: #151515; --line: #a3a3a3; --accent: #92c5f9; --on-accent: #1f1f1f; --bad: #fbbea8; --bad-ground: #4c1405; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; justify-items: center; gap: 1.5rem; padding: 1rem 0; background: var(--ground); color: var(--ink); font: .875rem/1.5 system-ui, sans-serif; }
.brand { margin: 0; font-size: 1.125rem; font-weight: 700; }
main { width: min(26rem, calc(100vw - 2rem)); padding: 2rem; background: var(--paper); border-radius: 1rem; overflow-wrap: anywhere; }
main > :last-child { margin-bottom: 0; }
h1 { margin: 0 0 1.25rem; font-size: 1.375rem; line-height: 1.3; }
p { margin: 0 0 1rem; }
a { color: var(--accent); }
label { display: block; margin: 0 0 .5rem; font-weight: 700; }
input { width: 100%; margin: 0 0 1.5rem; padding: .5rem 1rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 6px; }
button, .button { display: block; width: 100%; padding: .5rem 1.5rem; font: inherit; text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: 999px; cursor: pointer; }
button + button { margin-top: .75rem; }
button + button, .button { color: var(--accent); background: transparent; border-color: var(--accent); }
button:hover, .button:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.25rem 0; color: var(--soft); }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); opacity: .5; }
.providers { display: grid; gap: .75rem; margin: 0; padding: 0; list-style: none; }
[role=alert] { margin: 0 0 1rem; padding: .75rem 1rem; border-radius: 6px; background: var(--bad-ground); color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { font-weight: 700; }
dd { margin: 0; }
`;

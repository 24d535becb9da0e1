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

/** The one style sheet: readable, light and dark as the browser wishes. Text and lines keep the contrast that WCAG 2.2 asks for at level AA. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #4a525b; --paper: #ffffff; --ground: #eef1f4; --line: #6b7480; --accent: #0b5cad; --on-accent: #ffffff; --bad: #a3160a; --bad-ground: #fdf0ee; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebee; --soft: #b3bbc4; --paper: #1c2127; --ground: #12161a; --line: #8b949e; --accent: #6cb2ff; --on-accent: #10151a; --bad: #ff9a8f; --bad-ground: #2b1d1c; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: min(24rem, calc(100vw - 2rem)); padding: 2rem; background: var(--paper); border-radius: .5rem; box-shadow: 0 1px 4px #0003; overflow-wrap: anywhere; }
main > :last-child { margin-bottom: 0; }
h1 { margin: 0 0 1.25rem; font-size: 1.35rem; line-height: 1.3; }
p { margin: 0 0 1rem; }
a { color: var(--accent); }
label { display: block; margin: 0 0 .25rem; font-weight: 600; }
input { width: 100%; margin: 0 0 1rem; padding: .6rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .3rem; }
button, .button { display: block; width: 100%; padding: .7rem; font: inherit; font-weight: 600; text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: .3rem; cursor: pointer; }
button + button { margin-top: .75rem; }
button + button, .button { color: inherit; background: transparent; border-color: var(--line); }
button:hover, .button:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.25rem 0; color: var(--soft); }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); opacity: .5; }
.providers { display: grid; gap: .75rem; margin: 0; padding: 0; list-style: none; }
[role=alert] { margin: 0 0 1rem; padding: .6rem .8rem; border-left: 4px solid var(--bad); background: var(--bad-ground); color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; }
`;

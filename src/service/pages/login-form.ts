import type { LoginProvider } from '../sso/configuration.ts';
import { escapeHtml } from './page.ts';

/** The form for a user name and a password, in HTML. */
export function passwordForm(form: {
  /** The path that it is sent to. */
  readonly action: string;
  readonly csrf: string;
  readonly next: string | null;
  /** Whether what was entered before was refused; then the page says so above, under the id `problem`. */
  readonly refused: boolean;
}): string {
  const { action, csrf, next, refused } = form;
  const described = refused ? ' aria-describedby="problem"' : '';
  return `<form method="post" action="${action}">
<input type="hidden" name="csrfmiddlewaretoken" value="${escapeHtml(csrf)}">
${next === null ? '' : `<input type="hidden" name="next" value="${escapeHtml(next)}">`}
<label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus${described}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${described}>
<button type="submit">Log in</button>
</form>`;
}

/** A link for each provider, in HTML. Links need no script, and can be opened as the user likes. */
export function providerLinks(
  providers: readonly LoginProvider[],
  { next, alone }: { readonly next: string | null; readonly alone: boolean },
): string {
  if (providers.length === 0) {
    return alone ? '<p>There is no way to log in here at present. Tell whoever runs this service.</p>' : '';
  }
  const links = providers.map(({ label, path }) => {
    const separator = path.includes('?') ? '&' : '?';
    const address = next === null ? path : `${path}${separator}next=${encodeURIComponent(next)}`;
    return `<li><a class="button" href="${escapeHtml(address)}">Log in with ${escapeHtml(label)}</a></li>`;
  });
  return `<nav aria-label="Other ways to log in">
${alone ? '' : '<p class="or">or</p>'}
<ul class="providers">
${links.join('\n')}
</ul>
</nav>`;
}

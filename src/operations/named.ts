import { TokenctlError } from '../core/errors.ts';
import type { Selector } from '../core/selector.ts';
import type { Target } from './ports.ts';

/**
 * Makes sure that the users and applications that a selector names exist: a typing error must not pass
 * for "this user has no tokens".
 *
 * @throws TokenctlError `not_found` naming what is missing.
 */
export async function requireNamed(target: Target, selector: Selector): Promise<void> {
  if (selector.users !== undefined) {
    const found = new Set<string>();
    for await (const user of target.users({ names: selector.users })) found.add(user.username);
    refuseMissing('user', selector.users, found);
  }
  if (selector.applications !== undefined) {
    const found = await target.applications(selector.applications);
    refuseMissing('application', selector.applications, new Set(found.map(({ name }) => name)));
  }
}

function refuseMissing(kind: string, names: readonly string[], found: ReadonlySet<string>): void {
  const missing = names.filter((name) => !found.has(name));
  if (missing.length === 0) return;
  throw new TokenctlError('not_found', `There is no ${kind} named ${missing.join(', ')} that you may see`, {
    hint: `Check the spelling, upper and lower case included. Deleting the ${kind} has deleted its tokens as well.`,
    details: { kind, names: missing },
  });
}

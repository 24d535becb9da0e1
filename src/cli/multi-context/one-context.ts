import { TokenctlError } from '../../domain/errors.ts';

/**
 * Refuses a number that names something in one place and something else in the next.
 *
 * @param flag The flag that gives it.
 * @throws TokenctlError `usage` where several contexts, or components of a platform, are worked in.
 */
export function requireOneContext(
  { several, context }: { readonly several: boolean; readonly context: string },
  flag: string,
): void {
  if (!several) return;
  throw new TokenctlError('usage', `${flag} names another token in each place, and several are meant`, {
    hint: context.includes('/')
      ? 'Make a context of one component of the platform: `tokenctl context add NAME --component controller`.'
      : 'Name one context with --context.',
  });
}

import { compiled, type Expression } from '../settings/sso-schemas.ts';
import type { Identity } from './backends.ts';

/** Whether an expression of a map means this user; null where it says nothing. */
export function means(expression: Expression | undefined, identity: Identity): boolean | null {
  if (expression === undefined || expression === null) return null;
  if (typeof expression === 'boolean') return expression;
  if (typeof expression === 'string') return names(expression, identity);
  if (Array.isArray(expression)) return expression.some((one) => names(one, identity));
  return Object.entries(expression).some(([attribute, wanted]) => hasValue(identity, attribute, wanted));
}

/** Whether an attribute of a user has one of some values. */
export function hasValue(
  { attributes }: Identity,
  attribute: string,
  wanted: string | readonly string[],
): boolean {
  const values = attributes.get(attribute) ?? [];
  return (typeof wanted === 'string' ? [wanted] : wanted).some((value) => values.includes(value));
}

/** Whether a name, or an expression between slashes, means one of the names that the provider vouches for. */
function names(pattern: string, identity: Identity): boolean {
  const expression = compiled(pattern);
  return identity.names.some((name) => (expression === null ? name === pattern : expression.test(name)));
}

import { TokenctlError } from './errors.ts';

/**
 * Selects tokens. A token must match every criterion that is present; of a criterion with several values it must match
 * one. A selector without criteria is invalid: selecting every token takes `all: true`, so that missing flags never
 * revoke everything.
 */
export interface Selector {
  /** Every token of the target. Excludes all other criteria. */
  readonly all?: true;
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly users?: readonly string[];
  /** Application names, exactly. */
  readonly applications?: readonly string[];
  /** Tokens whose scope includes this word. */
  readonly scope?: 'read' | 'write';
  /** Made before this instant. */
  readonly createdBefore?: Date;
  /** Last used before this instant, or never used and made before it. */
  readonly unusedSince?: Date;
  /** Never used at all. */
  readonly neverUsed?: true;
  /** Expired at or before this instant. */
  readonly expiredAt?: Date;
}

/**
 * Rejects an invalid selector: without criteria, with an empty criterion, or with `all` and other criteria.
 *
 * @throws TokenctlError `usage`
 */
export function validateSelector(selector: Selector): void {
  const criteria = Object.entries(selector).filter(([, value]) => value !== undefined);
  if (criteria.length === 0) {
    throw new TokenctlError('usage', 'No tokens are selected', {
      hint: 'Give at least one criterion, or select all tokens.',
    });
  }
  if (selector.all === true && criteria.length > 1) {
    throw new TokenctlError('usage', 'All tokens and another criterion are selected', {
      hint: 'Leave one of them out.',
    });
  }
  for (const [name, value] of criteria) requireValue(name, value);
}

function requireValue(name: string, value: unknown): void {
  if (Array.isArray(value) && value.length === 0) {
    throw new TokenctlError('usage', `The criterion ${name} has no value`);
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw new TokenctlError('usage', `The criterion ${name} is not a date`);
  }
  if (name === 'ids' && Array.isArray(value)) {
    const wrong: unknown = value.find((id) => !Number.isSafeInteger(id) || id < 1);
    if (wrong !== undefined) throw new TokenctlError('usage', `Invalid token id: ${String(wrong)}`);
  }
}

/** How many values are named before "and N more". */
const NAMED = 5;

/** The selector in words, as one phrase: for plans, questions and the audit log. */
export function describeSelector(selector: Selector): string {
  if (selector.all === true) return 'every token';
  const { ids, users, applications, scope, createdBefore, unusedSince, neverUsed, expiredAt } = selector;
  const parts = [
    ids && `with id ${formatAlternatives(ids)}`,
    users && `of ${formatAlternatives(users)}`,
    applications && `issued to ${formatAlternatives(applications)}`,
    scope && `with scope ${scope}`,
    createdBefore && `created before ${createdBefore.toISOString()}`,
    unusedSince && `not used since ${unusedSince.toISOString()}`,
    neverUsed && 'never used',
    expiredAt && `expired at ${expiredAt.toISOString()}`,
  ];
  return `tokens ${parts.filter((part) => part !== undefined).join(', ')}`;
}

/** Values as alternatives, a few of them by name: `alice, bob or 3 more`. */
export function formatAlternatives(values: readonly (string | number)[]): string {
  const named = values.slice(0, NAMED);
  const more = values.length - named.length;
  return more === 0 ? named.join(' or ') : `${named.join(', ')} or ${more} more`;
}

import { allowsWriting } from '../token.ts';
import type { Rule } from './rule.ts';

/** Finds tokens that may change things: all that are made without naming a scope. */
export const writeScope: Rule = ({ token }) =>
  allowsWriting(token) ? 'It may change whatever its owner may change.' : null;

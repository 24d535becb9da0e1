import type { Token } from '../token.ts';
import { DAY, type Rule } from './rule.ts';

const HUNDRED_YEARS = 36_525 * DAY;

/**
 * Finds tokens that outlive everybody: the controller's default lifetime is a thousand years.
 */
export const neverExpires: Rule = ({ token, facts }) =>
  expiresNever(token, facts.now) ? `It expires in the year ${token.expires.getUTCFullYear()}: never.` : null;

/** Whether a token expires more than a hundred years from now. */
export function expiresNever(token: Pick<Token, 'expires'>, now: Date): boolean {
  return token.expires.getTime() - now.getTime() > HUNDRED_YEARS;
}

import { custom } from '@oclif/core/args';
import { TokenctlError } from '../../domain/errors.ts';

/** An argument that takes a whole number above 0. */
export const countArgument = custom<number>({
  parse: async (input) => wholeNumber(input),
});

function wholeNumber(input: string): number {
  const value = /^\d{1,15}$/.test(input) ? Number(input) : 0;
  if (value > 0) return value;
  throw new TokenctlError('usage', `Invalid token id "${input}": expected a whole number above 0`);
}

import { expect } from 'vitest';
import type { TokenctlErrorCode } from '../../src/domain/errors.ts';

/** What an error has to be for `toMatchObject`: its code, and a text that its message contains. */
export function refused(code: TokenctlErrorCode, text: string) {
  return { code, message: expect.stringContaining(text) as unknown };
}

import type { TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { expect } from 'vitest';

/** What an error has to be for `toMatchObject`: its code, and a text that its message contains. */
export function refused(code: TokenctlErrorCode, text: string) {
  return { code, message: expect.stringContaining(text) as unknown };
}

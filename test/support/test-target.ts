import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import {
  type ControllerApiOptions,
  openControllerApi,
} from '../../src/targets/controller-api/controller-api.ts';

/** A target at an address, by default authenticated with a password. */
export function openTestTarget(address: string, other: Partial<ControllerApiOptions> = {}) {
  return openControllerApi({
    context: 'test',
    address,
    credential: { kind: 'password', username: 'admin', password: new Secret('secret-password') },
    verifyTls: true,
    ...other,
  });
}

/** A bearer credential. */
export const bearer = { kind: 'token', token: new Secret('secret-bearer') } as const;

/** All items of a stream. */
export async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** The TokenctlError that a promise rejects with. It must contain no secret. */
export async function errorOf(work: Promise<unknown>): Promise<TokenctlError> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    const told = JSON.stringify([error.message, error.hint, error.details]);
    if (told.includes('secret-')) throw new Error(`A secret in an error: ${told}`);
    return error;
  }
  throw new Error('It did not fail');
}

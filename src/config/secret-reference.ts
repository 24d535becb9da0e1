import { z } from 'zod';

const file = z.strictObject({ file: z.string().min(1) });
const env = z.strictObject({ env: z.string().min(1) });

/** The shape of a {@link SecretReference}. */
export const secretReference = z
  .union([file, env], { error: 'names where the secret is: { file: PATH } or { env: VARIABLE }' })
  .describe('Where a secret is kept. The configuration never holds the secret itself.');

/** Where a secret is kept: a file of mode 0600, or a variable of the environment. */
export type SecretReference = z.output<typeof secretReference>;

import { z } from 'zod';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const pattern = /^(\d+)([smhd])$/;
const problem = 'must be a length of time: 30s, 10m, 12h or 7d';

/** A length of time in a configuration, as `90s`, `10m`, `12h` or `7d`; in seconds once it was read. */
export const duration = z
  .string({ error: problem })
  .regex(pattern, problem)
  .transform((text) => {
    const [, number, unit] = pattern.exec(text) ?? [];
    return Number(number) * SECONDS[unit as keyof typeof SECONDS];
  });

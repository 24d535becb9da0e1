import { z } from 'zod';
import type { Entry } from '../operations/ports/audit-log.ts';

const count = z.number().int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const words = z.record(z.string(), z.string());

const schema = z.strictObject({
  v: z.literal(1),
  seq: count.min(1),
  at: z.iso.datetime({ precision: 3 }),
  previous: hash,
  open: z.array(count),
  kind: z.enum(['intent', 'outcome', 'note']),
  operation: z.string().min(1),
  run: z.string().min(1),
  actor: words,
  target: words,
  data: z.record(z.string(), z.unknown()),
  closes: count.optional(),
});

/**
 * Reads a line of the log.
 *
 * @returns The entry, or null where the line is none.
 */
export function parseEntry(line: Buffer): Entry | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    // The value itself, not the schema's copy: a copy leaves out keys such as `__proto__`.
    return isEntry(value) ? value : null;
  } catch {
    return null;
  }
}

function isEntry(value: unknown): value is Entry {
  return schema.safeParse(value).success;
}

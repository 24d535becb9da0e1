import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { TokenctlError } from '../../domain/errors.ts';
import type { Investigation } from '../../domain/investigation/investigation.ts';
import { requireReadable } from '../flags.ts';

/** The largest file that is read, in bytes: 20,000 items take about 40 MB. */
const MAX_BYTES = 128 * 1024 * 1024;

const file = z.looseObject({
  format: z.literal('tokenctl-investigation'),
  version: z.literal(1),
  madeAt: z.iso.datetime(),
  target: z.looseObject({ context: z.string(), address: z.string(), installUuid: z.string().nullable() }),
  incident: z.string().nullable(),
  subject: z.looseObject({ kind: z.enum(['user', 'token', 'application']) }),
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  items: z.array(z.looseObject({ id: z.string(), entries: z.array(z.number()) })),
});

/**
 * Saves an investigation to a new file that only its owner can read.
 *
 * @throws TokenctlError `configuration` for a file that exists or cannot be written.
 */
export function writeInvestigationFile(path: string, investigation: Investigation): void {
  try {
    const text = `${JSON.stringify(investigation, null, 2)}\n`;
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError(
      'configuration',
      code === 'EEXIST'
        ? `The file of --out, ${path}, exists`
        : `Cannot write the investigation to ${path} (${code})`,
      { hint: 'Give the name of a new file in a directory that you can write.', cause },
    );
  }
}

/**
 * Reads a saved investigation.
 *
 * @throws TokenctlError `configuration` for a file that cannot be read, or holds no investigation.
 */
export function readInvestigationFile(path: string): Investigation {
  requireReadable(path, 'The file of --from');
  const saved = statSync(path).size > MAX_BYTES ? undefined : file.safeParse(parsed(path)).data;
  if (saved !== undefined) return saved as unknown as Investigation;
  throw new TokenctlError('configuration', `${path} is not an investigation of this version of tokenctl`, {
    hint: 'Make one with `tokenctl incident investigate --out FILE`.',
  });
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { TokenctlError } from '../../domain/errors.ts';
import { Baseline } from '../../domain/policy/judge.ts';

/** The first line of a baseline. */
const HEADING = '# tokenctl baseline 1';

/**
 * Reads a baseline: under its heading a finding a line, as `never-used token:17`; what begins with `#` is a
 * remark.
 *
 * @throws TokenctlError `configuration` if it cannot be read or is not a baseline
 */
export async function readBaseline(path: string): Promise<Baseline> {
  const baseline = new Baseline();
  let number = 0;
  try {
    const input = createReadStream(path, 'utf8');
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (number === 1 && !line.startsWith(HEADING)) throw notBaseline(path, 1);
      if (line === '' || line.startsWith('#')) continue;
      if (!isKey(line)) throw notBaseline(path, number);
      baseline.add(line);
    }
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The baseline ${path} ${why}`, { cause });
  }
  if (number === 0) throw notBaseline(path, 1);
  return baseline;
}

/** Of a rule that an earlier or later version knows as well. */
function isKey(line: string): boolean {
  return /^[a-z0-9-]+ [a-z-]+:\S+$/.test(line);
}

function notBaseline(path: string, line: number): TokenctlError {
  return new TokenctlError('configuration', `${path}:${line}: not a tokenctl baseline`, {
    hint: 'Create one with tokenctl tokens audit --write-baseline FILE.',
  });
}

/** The heading of a baseline written at an instant. */
export function baselineHeading(now: Date): string {
  return `${HEADING}, written ${now.toISOString()}\n# One finding per line. These findings do not count; delete a line to count it again.\n`;
}

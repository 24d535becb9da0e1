import { readFileSync } from 'node:fs';
import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import {
  initLogKey,
  makeCheckpoint,
  proveInclusion,
  rotateLogKey,
} from '../../operations/audit-log/checkpoints.ts';
import { pendingFile, writeReport } from '../../reports/report-file.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText } from '../../reports/tables/text.ts';

/**
 * Signs the log, and keeps the checkpoint in a file or prints it. One that the file has already must be of the
 * same log.
 *
 * @throws TokenctlError as `makeCheckpoint`, `configuration`
 */
export async function checkpointFlow(
  runtime: Runtime,
  { output }: { readonly output?: string | undefined },
): Promise<Report> {
  const previous = output === undefined ? undefined : textFileIfThere(output, 'The checkpoint');
  const { note, origin, size, root } = await makeCheckpoint({
    log: await runtime.auditLog(),
    keys: await runtime.logKeys(),
    ...(previous !== undefined && { previous }),
  });
  if (output !== undefined) await writeReport(output, once(note));
  const kept = `${output} has the checkpoint of ${countText(size, 'entry', 'entries')}. Keep it where who writes the log cannot write.\n`;
  return report({
    json: { checkpoint: note, origin, size, root },
    text: () => (output === undefined ? note : kept),
  });
}

/** The flags of a proof. */
interface ProofFlags {
  readonly checkpoint?: string | undefined;
  readonly output?: string | undefined;
}

/**
 * Proves that an entry is in the log: prints the proof, or writes it and the entry's line into files.
 *
 * @throws TokenctlError as `proveInclusion`, `configuration`
 */
export async function proofFlow(
  runtime: Runtime,
  seq: number,
  { checkpoint, output }: ProofFlags,
): Promise<Report> {
  const proved = await proveInclusion({
    log: await runtime.auditLog(),
    keys: await runtime.logKeys(),
    seq,
    ...(checkpoint !== undefined && { checkpoint: textFile(checkpoint, 'The checkpoint') }),
  });
  const { line, proof, origin, size } = proved;
  if (output !== undefined) {
    await writeReport(output, once(proof));
    await writeReport(`${output}.entry`, once(line));
  }
  const kept = `${output} has the proof that entry ${seq} is among the ${size} of ${origin}, and ${output}.entry the entry.\n`;
  return report({
    json: { seq, entry: line, proof, origin, size },
    text: () => (output === undefined ? proof : kept),
  });
}

async function* once(text: string): AsyncIterable<string> {
  yield text;
}

/** The flags of making a key. */
interface KeyFlags {
  readonly name?: string | undefined;
  readonly rotate?: boolean | undefined;
  readonly output?: string | undefined;
}

/**
 * Makes the key that signs checkpoints, or replaces it.
 *
 * @throws TokenctlError as the operations
 */
export async function keyFlow(runtime: Runtime, { name, rotate, output }: KeyFlags): Promise<Report> {
  const options = { log: await runtime.auditLog(), keys: await runtime.logKeys(), actor: runtime.operator };
  if (rotate !== true) {
    const { verifier, entry } = await initLogKey({
      ...options,
      name: name ?? `${runtime.operator['host'] ?? 'localhost'}/audit`,
    });
    const text = `${verifier}\n\nThis is the public key: give it to whoever is to verify checkpoints. Entry ${entry.seq} says which it is.\n`;
    return report({ json: { verifier, seq: entry.seq }, text: () => text });
  }
  // Made before, so that a checkpoint which nobody can be given again has somewhere to go.
  const file = output === undefined ? null : pendingFile(output, 'The checkpoint');
  try {
    const { verifier, replaced, entry, checkpoint } = await rotateLogKey(options);
    file?.write(checkpoint);
    file?.commit();
    const kept = output === undefined ? `\n${checkpoint}` : ` It is in ${output}.\n`;
    return report({
      json: { verifier, replaced, seq: entry.seq, checkpoint },
      text: () =>
        `${verifier}\n\nThis public key replaces ${replaced}. Keep the checkpoint that both keys signed: who trusts the old key may trust the new one by it.\n${kept}`,
    });
  } finally {
    file?.discard();
  }
}

/**
 * Reads a small text, such as a checkpoint.
 *
 * @param what How the file is called in errors: `The checkpoint`.
 * @throws TokenctlError `configuration` where it cannot be read
 */
export function textFile(path: string, what: string): string {
  const text = textFileIfThere(path, what);
  if (text !== undefined) return text;
  throw new TokenctlError('configuration', `${what} ${path} does not exist`);
}

/** The same; undefined where there is no such file. */
export function textFileIfThere(path: string, what: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new TokenctlError('configuration', `${what} ${path} cannot be read (${code})`, { cause });
  }
}

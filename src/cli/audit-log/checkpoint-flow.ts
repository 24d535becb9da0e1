import type { Runtime } from '../../app/runtime.ts';
import { makeCheckpoint } from '../../operations/audit-log/make-checkpoint.ts';
import { proveInclusion } from '../../operations/audit-log/prove-inclusion.ts';
import { writeReport } from '../../reports/report-file.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText } from '../../reports/tables/text.ts';
import { textFile, textFileIfThere } from './note-file.ts';

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

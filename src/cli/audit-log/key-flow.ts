import type { Runtime } from '../../app/runtime.ts';
import { initLogKey, rotateLogKey } from '../../operations/audit-log/log-key.ts';
import { pendingFile } from '../../reports/report-file.ts';
import { type Report, report } from '../../reports/tables/result.ts';

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

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile } from '../../app/secret-file.ts';
import {
  initLogKey,
  makeCheckpoint,
  proveInclusion,
  rotateLogKey,
} from '../../operations/audit-log/checkpoints.ts';
import { code, lines, warning } from '../../reports/document.ts';
import { pendingFile, requireNewOrReplaced, writeReport } from '../../reports/report-file.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import type { KeyFlags, ProofFlags } from './log-flags.ts';

/** What `log checkpoint` prints with `--json`. */
export interface CheckpointJson {
  /** The signed note. */
  readonly checkpoint: string;
  /** The name of the log. */
  readonly origin: string;
  /** Its number of entries. */
  readonly size: number;
  /** The root hash of its Merkle tree, in hex. */
  readonly root: string;
}

/** What `log prove` prints with `--json`. */
export interface ProofJson {
  readonly seq: number;
  /** The line of the entry, as the log has it. */
  readonly entry: string;
  readonly proof: string;
  readonly origin: string;
  readonly size: number;
}

/** What `log init` prints with `--json`. */
export interface LogKeyJson {
  readonly verifier: string;
  /** With --rotate: the public key that it replaces. */
  readonly replaced?: string;
  /** The entry that records it. */
  readonly seq: number;
  /** With --rotate: a checkpoint that both keys signed. */
  readonly checkpoint?: string;
}

/**
 * Signs the log, and writes the checkpoint to a file or prints it. A checkpoint that the file already has
 * must match the log. Throws as `makeCheckpoint`, `configuration`.
 */
export async function checkpointFlow(
  runtime: Runtime,
  { output }: { output?: string | undefined },
): Promise<Report<CheckpointJson>> {
  const previous = output === undefined ? undefined : textFileIfExists(output, 'checkpoint');
  const { note, origin, size, root } = await makeCheckpoint({
    log: await runtime.auditLog(),
    keys: await runtime.logKeys(),
    previous,
  });
  if (output !== undefined) await writeReport(output, [note], 'public');
  const json = { checkpoint: note, origin, size, root };
  if (output === undefined) return report({ json, text: () => note, verbatim: true });
  const written = `Wrote the checkpoint of ${countText(size, 'entry', 'entries')} to ${output}.`;
  const keep = 'Keep a copy where users who can write the log have no access.';
  return report({ json, document: [lines(`${written} ${keep}`)] });
}

/**
 * Proves that an entry is in the log. Prints the proof, or writes it and the line of the entry to files.
 * Throws as `proveInclusion`, `configuration`, `usage` for a file that exists.
 */
export async function proofFlow(
  runtime: Runtime,
  seq: number,
  { checkpoint, output, replace = false }: ProofFlags,
): Promise<Report<ProofJson>> {
  for (const path of output === undefined ? [] : [output, `${output}.entry`])
    requireNewOrReplaced(path, replace);
  const proved = await proveInclusion({
    log: await runtime.auditLog(),
    keys: await runtime.logKeys(),
    seq,
    ...(checkpoint !== undefined && { checkpoint: textFile(checkpoint, 'checkpoint') }),
  });
  const { line, proof, origin, size } = proved;
  if (output !== undefined) {
    await writeReport(output, [proof]);
    await writeReport(`${output}.entry`, [line]);
  }
  const json = { seq, entry: line, proof, origin, size };
  if (output === undefined) return report({ json, text: () => proof, verbatim: true });
  const written = `Wrote the proof that entry ${seq} is one of the ${countText(size, 'entry', 'entries')} of ${origin} to ${output}`;
  return report({ json, document: [lines(`${written}, and wrote the entry to ${output}.entry.`)] });
}

/** Creates the key that signs checkpoints, or replaces it. */
export async function keyFlow(
  runtime: Runtime,
  { name, rotate, output }: KeyFlags,
): Promise<Report<LogKeyJson>> {
  const options = { log: await runtime.auditLog(), keys: await runtime.logKeys(), actor: runtime.operator };
  if (rotate !== true) {
    const { verifier, entry } = await initLogKey({
      ...options,
      name: name ?? `${runtime.operator['host'] ?? 'localhost'}/audit`,
    });
    return report({
      json: { verifier, seq: entry.seq },
      document: [
        code(verifier),
        lines(
          `This is the public key. Give it to anyone who verifies checkpoints. Entry ${entry.seq} records it.`,
          isBeside(runtime) && BESIDE,
        ),
      ],
    });
  }
  if (output !== undefined) requireNewFile(output);
  // Created first: the checkpoint cannot be made again if the file cannot be written.
  const file = output === undefined ? null : pendingFile(output, 'The checkpoint', 'public');
  try {
    const { verifier, replaced, entry, checkpoint } = await rotateLogKey(options);
    file?.write(checkpoint);
    file?.commit();
    return report({
      json: { verifier, replaced, seq: entry.seq, checkpoint },
      document: [
        code(verifier),
        lines(
          `This public key replaces ${replaced}. Keep the checkpoint signed by both keys: anyone who trusts the old key can use it to verify the new one.`,
          output !== undefined && `It is in ${output}.`,
        ),
        output === undefined && code(...checkpoint.trimEnd().split('\n')),
      ],
    });
  } finally {
    file?.discard();
  }
}

function isBeside({ configuration: { auditLog } }: Runtime): boolean {
  const { file, database, key } = auditLog;
  if (database !== undefined) return false;
  return key === undefined || file === undefined || dirname(key) === dirname(file);
}

const BESIDE = warning`Warning: the key is in the same directory as the log. A user who can write to both can rewrite the log and sign it again. Store checkpoints somewhere else (the job log-checkpoint), or set auditLog.key.`;

/** Reads a small text file, which errors call `what`. Throws `configuration` if it cannot be read. */
export function textFile(path: string, what: string): string {
  const text = textFileIfExists(path, what);
  if (text !== undefined) return text;
  throw new TokenctlError('configuration', `Could not read the ${what} ${path}: it does not exist`);
}

/** The same; undefined if the file does not exist. */
function textFileIfExists(path: string, what: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new TokenctlError('configuration', `Could not read the ${what} ${path}: ${code}`, { cause });
  }
}

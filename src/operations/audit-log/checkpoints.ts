import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { openCheckpoint, proofText, signCheckpoint, verifyProof } from '../../domain/checkpoint.ts';
import { generateNoteKey, parseSigner, parseVerifier } from '../../domain/note-key.ts';
import type { AuditLog, Entry, EntryDraft, LogKeys } from '../ports/audit-log.ts';
import { LogTree, requireCheckpoint, requireIntact } from './verify-log.ts';

interface MakeCheckpointOptions {
  readonly log: Pick<AuditLog, 'verify'>;
  readonly keys: Pick<LogKeys, 'signer' | 'verifiers'>;
  /** The last checkpoint. The new one must be consistent with it. */
  readonly previous?: string | undefined;
}

/**
 * Verifies the audit log, and signs the number of its entries and the hash of their Merkle tree.
 * @returns The signed note, to be kept elsewhere: it reveals later changes to the log. And what it says; the
 * root is in base64.
 * @throws TokenctlError `log_broken` if the log is broken or does not match the previous checkpoint,
 * `configuration` if there is no key, `audit_unavailable` if the log cannot be read.
 */
export async function makeCheckpoint(options: MakeCheckpointOptions) {
  const { log, keys, previous } = options;
  const signer = parseSigner(await keys.signer());
  const before =
    previous === undefined
      ? undefined
      : openCheckpoint(previous, (await keys.verifiers()).map(parseVerifier));
  const tree = new LogTree({ mark: before?.size });
  requireIntact(await log.verify(tree));
  if (before !== undefined) requireCheckpoint(before, tree);
  const root = tree.tree.root();
  const { size } = tree.tree;
  return {
    note: signCheckpoint({ size, root }, [signer]),
    origin: signer.verifier.name,
    size,
    root: root.toString('base64'),
  };
}

interface ProveInclusionOptions {
  readonly log: Pick<AuditLog, 'verify'>;
  readonly keys: Pick<LogKeys, 'signer' | 'verifiers'>;
  readonly seq: number;
  /** A checkpoint that covers the entry. Default: a new one. */
  readonly checkpoint?: string;
}

/**
 * Proves that an entry is in the audit log that a checkpoint covers.
 * @returns What can be verified without the log: the entry's line without its line feed, and the proof in the
 * format https://c2sp.org/tlog-proof, which includes the checkpoint, and the number of entries it covers.
 * @throws TokenctlError `not_found` if the checkpoint does not cover the entry, or retention removed it;
 * `log_broken`, `configuration` and `audit_unavailable` as `makeCheckpoint`.
 */
export async function proveInclusion(options: ProveInclusionOptions) {
  const { log, keys, seq } = options;
  const note = options.checkpoint ?? (await makeCheckpoint({ log, keys })).note;
  const checkpoint = openCheckpoint(note, (await keys.verifiers()).map(parseVerifier));
  const { origin, size } = checkpoint;
  const tree = new LogTree({ mark: size, prove: seq });
  const { removed = 0 } = requireIntact(await log.verify(tree));
  requireCheckpoint(checkpoint, tree);
  if (tree.path === null || tree.leaf === null) throw notCovered(seq, { size, removed });
  const proof = proofText({ index: seq - 1, path: tree.path, checkpoint: note });
  return { line: tree.leaf.toString('utf8'), proof, origin, size };
}

function notCovered(seq: number, { size, removed }: { size: number; removed: number }): TokenctlError {
  const why = seq <= removed ? 'log retention removed it' : `the checkpoint covers entries 1 to ${size}`;
  return new TokenctlError('not_found', `Could not prove entry ${seq}: ${why}`, {
    hint: 'List the entries with `tokenctl log list`.',
  });
}

interface VerifyInclusionOptions {
  readonly line: string;
  readonly proof: string;
  /** The trusted public keys, as `name+id+key`. */
  readonly keys: readonly string[];
}

/**
 * Verifies a proof of {@link proveInclusion}, without the log.
 * @throws TokenctlError `log_broken` if the proof does not match the entry, `configuration` for an invalid
 * proof or key.
 */
export function verifyInclusion({ line, proof, keys }: VerifyInclusionOptions): {
  readonly seq: number;
  readonly origin: string;
  readonly size: number;
} {
  const verifiers = keys.map(parseVerifier);
  const { index, checkpoint } = verifyProof({ proof, leaf: Buffer.from(line), verifiers });
  return { seq: index + 1, origin: checkpoint.origin, size: checkpoint.size };
}

interface LogKeyOptions {
  readonly log: Pick<AuditLog, 'append' | 'verify'>;
  readonly keys: LogKeys;
  readonly actor: EntryDraft['actor'];
}

interface MadeLogKey {
  /** The public key, as `name+id+key`, for users who verify checkpoints. */
  readonly verifier: string;
  /** The entry that records the public key. */
  readonly entry: Entry;
}

/**
 * Creates the key that signs checkpoints, and records its public key in the log.
 * @param options.name The name of the log in checkpoints, by convention a URL without its scheme.
 * @throws TokenctlError `configuration` if a key exists, `usage` for a name that signed notes do not allow,
 * `audit_unavailable`.
 */
export async function initLogKey(options: LogKeyOptions & { readonly name: string }): Promise<MadeLogKey> {
  const signer = generateNoteKey(options.name);
  const verifier = parseSigner(signer).verifier.text;
  await options.keys.create({ signer, verifier });
  return { verifier, entry: await options.log.append(keyNote(options, { verifier })) };
}

/** A key that replaced another one. */
interface HandedOverKey extends MadeLogKey {
  readonly replaced: string;
  /** A checkpoint that includes the entry of the new key, signed by both keys, to verify the new one. */
  readonly checkpoint: string;
}

/**
 * Replaces the key with a new one of the same name. The new key is recorded in the log before the old one
 * signs for the last time. On an error, the old key stays in use.
 * @throws TokenctlError `configuration` if there is no key, `log_broken`, `audit_unavailable`.
 */
export async function rotateLogKey(options: LogKeyOptions): Promise<HandedOverKey> {
  const { log, keys } = options;
  const old = parseSigner(await keys.signer());
  const key = generateNoteKey(old.verifier.name);
  const signer = parseSigner(key);
  await keys.stage(key);
  const verifier = signer.verifier.text;
  const replaced = old.verifier.text;
  const entry = await log.append(keyNote(options, { verifier, replaces: replaced }));
  const tree = new LogTree();
  requireIntact(await log.verify(tree));
  const { size } = tree.tree;
  const checkpoint = signCheckpoint({ size, root: tree.tree.root() }, [old, signer]);
  await keys.adopt(verifier);
  return { verifier, replaced, entry, checkpoint };
}

function keyNote({ actor }: LogKeyOptions, data: EntryDraft['data']): EntryDraft {
  return { kind: 'note', operation: 'log.key', run: randomUUID(), actor, target: {}, data };
}

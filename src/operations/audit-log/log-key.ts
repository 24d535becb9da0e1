import { randomUUID } from 'node:crypto';
import { signCheckpoint } from '../../domain/checkpoint.ts';
import { generateNoteKey, parseSigner } from '../../domain/note-key.ts';
import type { AuditLog, Entry, EntryDraft, LogKeys } from '../ports/audit-log.ts';
import { LogTree } from './log-tree.ts';
import { held } from './verify-log.ts';

/** For which log a key is made, by whom. */
export interface LogKeyOptions {
  readonly log: Pick<AuditLog, 'append' | 'verify'>;
  readonly keys: LogKeys;
  readonly actor: EntryDraft['actor'];
}

/** A new key. */
export interface MadeLogKey {
  /** The public key, as `name+id+key`: give it to whoever is to verify. */
  readonly verifier: string;
  /** The note in the log that says which key it is. */
  readonly entry: Entry;
}

/**
 * Makes the key that signs checkpoints, and notes its public half in the log.
 *
 * @param options.name What the log is called in checkpoints, by convention a URL without its scheme.
 * @throws TokenctlError `configuration` where there is a key already, `usage` for a name that notes cannot
 * hold, `audit_unavailable`.
 */
export async function initLogKey(options: LogKeyOptions & { readonly name: string }): Promise<MadeLogKey> {
  const signer = generateNoteKey(options.name);
  const verifier = parseSigner(signer).verifier.text;
  await options.keys.create({ signer, verifier });
  return { verifier, entry: await options.log.append(keyNote(options, { verifier })) };
}

/** A key that took over from another. */
export interface HandedOverKey extends MadeLogKey {
  readonly replaced: string;
  /**
   * A checkpoint of the log, with the note of the new key in it, signed by both keys: whoever trusts the
   * old one may trust the new one by it.
   */
  readonly checkpoint: string;
}

/**
 * Replaces the key by a new one of the same name. The new key stands in the log before the old one signs
 * for the last time.
 *
 * @throws TokenctlError `configuration` where there is no key, `log_broken`, `audit_unavailable`: the old
 * key then stays in use.
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
  held(await log.verify(tree));
  const { size } = tree.tree;
  const checkpoint = signCheckpoint({ size, root: tree.tree.root() }, [old, signer]);
  await keys.adopt(verifier);
  return { verifier, replaced, entry, checkpoint };
}

function keyNote({ actor }: LogKeyOptions, data: EntryDraft['data']): EntryDraft {
  return { kind: 'note', operation: 'log.key', run: randomUUID(), actor, target: {}, data };
}

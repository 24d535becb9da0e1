import { createHash, randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { EntryDraft } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { emptyHead, hashOf } from './chain.ts';
import { parseEntry } from './entry.ts';
import { auditRefused } from './failures.ts';
import { tailOf } from './lines.ts';
import { type ChainState, type Linked, linkGroup } from './link-group.ts';

/** A log file's end, as it stood when this process wrote to it last. */
export interface End extends ChainState {
  readonly device: number;
  readonly inode: number;
  readonly size: number;
}

/** What is appended, and to what. */
export interface GroupAppend {
  readonly path: string;
  readonly file: FileHandle;
  readonly drafts: readonly EntryDraft[];
  readonly clock: Clock;
  /** The end that this process remembers: trusted while the file is the same and as long. */
  readonly known: End | null;
}

/** What became of each draft, in their order, and the file's end after them. */
export interface GroupAppended {
  readonly links: readonly Linked[];
  readonly end: End;
}

/**
 * Appends several entries with one write and one sync. The caller holds the log's lock. What a crash
 * left behind the last whole line is cut away and noted.
 *
 * @throws The file system's error. The file is then as long as before.
 */
export async function appendGroup(options: GroupAppend): Promise<GroupAppended> {
  const { file, clock } = options;
  const { end, torn } = await findEnd(options);
  if (torn.length > 0) await file.truncate(end.size);
  const drafts = torn.length > 0 ? [repairNote(torn, options.drafts), ...options.drafts] : options.drafts;
  const { links, state } = linkGroup(drafts, { state: end, clock });
  const text = links.map((link) => ('line' in link ? `${link.line}\n` : '')).join('');
  const bytes = Buffer.from(text);
  await writeDurably(file, bytes, end.size);
  return {
    links: links.slice(drafts.length - options.drafts.length),
    end: { ...end, ...state, size: end.size + bytes.length },
  };
}

/** All or nothing: a write that fails is taken back, so that no half of it stays. */
async function writeDurably(file: FileHandle, bytes: Buffer, size: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
    }
    await file.datasync();
  } catch (error) {
    // Where taking back fails too, what stays was never acknowledged: the next append deals with it.
    await file.truncate(size).catch(() => undefined);
    await file.datasync().catch(() => undefined);
    throw error;
  }
}

async function findEnd({ path, file, known }: GroupAppend): Promise<{ end: End; torn: Buffer }> {
  const { dev, ino, size } = await file.stat();
  if (known !== null && known.device === dev && known.inode === ino && known.size === size) {
    return { end: known, torn: Buffer.alloc(0) };
  }
  const { line, torn } = await tailOf(file, size);
  return { end: { device: dev, inode: ino, size: size - torn.length, ...stateAfter(path, line) }, torn };
}

/** The head and the open intents after a last line; null for none. */
export function stateAfter(path: string, line: Buffer | null): ChainState {
  if (line === null) return { head: emptyHead, open: [] };
  const entry = parseEntry(line);
  if (entry === null) {
    throw auditRefused(
      path,
      'its last line is not an entry',
      'Find out with `tokenctl log verify`, keep the file, and configure another path.',
    );
  }
  return { head: { size: entry.seq, hash: hashOf(line) }, open: entry.open };
}

/** How much of a torn line the note quotes, in characters. */
const QUOTED = 1000;

function repairNote(torn: Buffer, drafts: readonly EntryDraft[]): EntryDraft {
  return {
    kind: 'note',
    operation: 'log.repair',
    run: randomUUID(),
    actor: drafts[0]?.actor ?? {},
    target: {},
    data: {
      what: 'An unfinished last line, which no operation relied on, was cut away.',
      bytes: torn.length,
      sha256: createHash('sha256').update(torn).digest('hex'),
      text: torn.toString('utf8').slice(0, QUOTED).toWellFormed(),
    },
  };
}

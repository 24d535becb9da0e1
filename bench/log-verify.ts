// Compares `log verify` for an audit log of 1,000,000 entries with hashing the same bytes entry by entry, which is the
// minimum for a chain of hashes. Without a goal: hashing the file as one stream, and verifying with a checkpoint, whose
// tree takes two more hashes per entry.
// Then the same for logs of 100 and 10,000 entries of 56 forms, in turns too: without the start of a process, and with functions
// that are compiled.
// Run: node bench/log-verify.ts [entries]
import { createHash, hash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { emptyHead, linkEntry } from '../src/audit-log/chain.ts';
import { openFileLog } from '../src/audit-log/file-log.ts';
import { generateNoteKey, parseSigner } from '../src/domain/note-key.ts';
import { makeCheckpoint } from '../src/operations/audit-log/checkpoints.ts';
import { verifyLog } from '../src/operations/audit-log/verify-log.ts';
import type { EntryDraft } from '../src/operations/ports/audit-log.ts';
import { judge, measureInTurn, median, perTurn, sized } from './support/ratio.ts';

const ENTRIES = Number(process.argv[2] ?? sized(1_000_000, 10_000));
const ROUNDS = sized(5, 1);
const CHUNK = 1024 * 1024;
const LINE_FEED = 0x0a;

/** Of 20 entries, two are of a batch of 250 tokens, the others of single tokens. */
const CYCLE = 20;
const BATCH = 250;

const actor = { user: 'operator', host: 'bastion.example.org', as: 'admin' };
const target = { context: 'production', address: 'https://controller.example.org' };

/** The drafts of a log after some years: most are of single tokens, some of batches. */
function draftAt(index: number, run: string): EntryDraft {
  const place = index % CYCLE;
  const kind = index % 2 === 0 ? 'intent' : 'outcome';
  const common = { kind, run, actor, target, ...(kind === 'outcome' && { closes: index }) } as const;
  const first = 10_000 + index;
  const ids = Array.from({ length: BATCH }, (_, offset) => first + offset * 3);
  const bulk = { ...common, operation: 'tokens.revoke' };
  if (place === 0) {
    return { ...bulk, data: { step: 'batch', tokens: [{ user: `robot-${index % 97}`, ids }] } };
  }
  if (place === 1) {
    return { ...bulk, data: { step: 'batch', revoked: ids, unchanged: [], failed: [], notTried: [] } };
  }
  const single = { ...common, operation: 'tokens.create' };
  if (kind === 'outcome')
    return { ...single, data: { result: 'done', id: first, fingerprint: '0f343b0931ab' } };
  const data = { user: `robot-${index % 97}`, scope: 'write', description: `nightly inventory ${index}` };
  return { ...single, data: { ...data, reason: 'rotation', ticket: `OPS-${index}` } };
}

/** Entries of 56 forms of 14 operations: other members, lists and values in each. */
function mixedDraftAt(index: number, run: string): EntryDraft {
  const form = index % 56;
  const members = Array.from({ length: 3 + (form % 13) }, (_, place) => {
    const values = [index, `value ${index}`, [{ id: index, user: 'alice', inner: { a: 1, b: 'c' } }]];
    return [`member${form}_${place}`, values[place % 3]];
  });
  const operation = `operation.${form % 14}`;
  return { kind: 'note', run, actor, target, operation, data: Object.fromEntries(members) };
}

async function writeLog(path: string, count: number, draftOf: typeof draftAt): Promise<void> {
  async function* lines(): AsyncIterable<string> {
    let head = emptyHead;
    let open: readonly number[] = [];
    let run = randomUUID();
    let text = '';
    for (let index = 0; index < count; index += 1) {
      if (index % CYCLE === 0 || index % 2 === 0) run = randomUUID();
      const at = new Date(Date.UTC(2026, 0, 1) + index * 977);
      const link = linkEntry(draftOf(index, run), { head, open, at });
      ({ head } = link);
      ({ open } = link.entry);
      text += `${link.line}\n`;
      if (text.length > CHUNK) {
        yield text;
        text = '';
      }
    }
    yield text;
  }
  await pipeline(lines(), createWriteStream(path, { mode: 0o600 }));
}

/** Reads a file into one buffer, chunk by chunk. */
async function* chunksOf(path: string): AsyncIterable<Buffer> {
  await using file = await open(path);
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK, (await file.stat()).size));
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function hashStream(path: string): Promise<void> {
  const whole = createHash('sha256');
  for await (const chunk of chunksOf(path)) whole.update(chunk);
  whole.digest('hex');
}

async function hashEntries(path: string): Promise<void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunksOf(path)) {
    const bytes = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      hash('sha256', bytes.subarray(start, end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
}

const folder = await mkdtemp(join(tmpdir(), 'tokenctl-log-verify-'));
try {
  const path = join(folder, 'audit.jsonl');
  await writeLog(path, ENTRIES, draftAt);
  const { size } = await stat(path);
  console.log(`${ENTRIES} entries, ${(size / 1e6).toFixed(0)} MB, ${(size / ENTRIES).toFixed(0)} bytes each`);
  const log = openFileLog({ path, clock: { now: () => new Date() } });
  const key = generateNoteKey('example.org/audit');
  const keys = [parseSigner(key).verifier.text];
  const { note } = await makeCheckpoint({
    log,
    keys: { signer: () => Promise.resolve(key), verifiers: () => Promise.resolve(keys) },
  });
  const times = await measureInTurn(ROUNDS, {
    stream: () => hashStream(path),
    entries: () => hashEntries(path),
    async verify() {
      const { entries } = await verifyLog({ log });
      if (entries !== ENTRIES) throw new Error(`Only ${entries} entries were verified`);
    },
    async checkpoint() {
      await verifyLog({ log, checkpoint: { note, keys } });
    },
  });
  const timesOf = (name: string) => times[name]?.times ?? [];
  const timeOf = (name: string) => median(timesOf(name));
  for (const name of Object.keys(times)) {
    const time = timeOf(name);
    console.log(`${name}: ${time.toFixed(0)} ms, ${(size / time / 1000).toFixed(0)} MB/s`);
  }
  judge('log verify against hashing entry by entry', perTurn(timesOf('entries'), timesOf('verify')), {
    atLeast: 0.5,
  });
  for (const count of [100, 10_000]) {
    const mixed = join(folder, `mixed-${count}.jsonl`);
    await writeLog(mixed, count, mixedDraftAt);
    // A small log is read many times a turn: one pass takes less than a millisecond.
    const passes = sized(20_000 / count, 1);
    const { entries, verify } = await measureInTurn(sized(25, 1), {
      async entries() {
        for (let pass = 0; pass < passes; pass += 1) await hashEntries(mixed);
      },
      async verify() {
        for (let pass = 0; pass < passes; pass += 1) {
          await verifyLog({ log: openFileLog({ path: mixed, clock: { now: () => new Date() } }) });
        }
      },
    });
    console.log(`${count} entries of 56 forms: ${(median(verify?.times ?? []) / passes).toFixed(1)} ms`);
    const what = `log verify of ${count} entries of 56 forms against hashing entry by entry`;
    judge(what, perTurn(entries?.times ?? [], verify?.times ?? []), { atLeast: 0.5 });
  }
  console.log(`against hashing as one stream: ${(timeOf('stream') / timeOf('verify')).toFixed(2)}`);
} finally {
  await rm(folder, { recursive: true });
}

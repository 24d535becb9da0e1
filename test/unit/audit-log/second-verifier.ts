import { createHash, createPublicKey, verify } from 'node:crypto';

// A second implementation of what docs/audit-log.md describes, written from that page alone: nothing of the
// program's own is used. It holds a log in memory and looks at everything twice.

/** Where a log does not hold, and how. */
export interface Finding {
  readonly line: number | null;
  readonly problem: string;
}

const sha256 = (...parts: readonly (string | Uint8Array)[]) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  // RFC 8785, section 3.2.2.2: half of a surrogate pair has no canonical form.
  if (typeof value === 'string' && !value.isWellFormed()) return '';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

interface Read {
  readonly text: string;
  readonly hash: string;
  readonly isCanonical: boolean;
  readonly seq: number;
  readonly previous: string;
  readonly kind: string;
  readonly closes: number | undefined;
  readonly open: readonly number[];
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isFilled = (value: unknown) => typeof value === 'string' && value !== '';
const areWords = (value: unknown) =>
  isObject(value) && Object.values(Object(value)).every((each) => typeof each === 'string');

const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  v: (value) => value === 1,
  seq: (value) => isCount(value) && value > 0,
  at: (value) => {
    if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return false;
    const date = new Date(value);
    return !Number.isNaN(date.getTime()) && date.toISOString() === value;
  },
  previous: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
  kind: (value) => ['intent', 'outcome', 'note'].includes(String(value)) && typeof value === 'string',
  operation: isFilled,
  run: isFilled,
  actor: areWords,
  target: areWords,
  data: isObject,
  open: (value) => Array.isArray(value) && value.every(isCount),
};

function read(text: string): Read | null {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value)) return null;
  const { closes, ...others } = value;
  const isEntry =
    Object.keys(others).length === Object.keys(forms).length &&
    Object.entries(forms).every(([key, isRight]) => isRight(others[key])) &&
    (!('closes' in value) || isCount(closes));
  if (!isEntry) return null;
  return {
    ...(others as unknown as Pick<Read, 'seq' | 'previous' | 'kind' | 'open'>),
    closes: closes as number | undefined,
    text,
    hash: sha256(text).toString('hex'),
    isCanonical: canonical(value as Json) === text,
  };
}

/** The first place at which the chain does not hold; null where it does. */
export function verifySecond(lines: readonly string[]): Finding | null {
  const entries = lines.map(read);
  let hash = '0'.repeat(64);
  let open: readonly number[] = [];
  for (const [index, entry] of entries.entries()) {
    const number = index + 1;
    if (entry === null) return { line: number, problem: 'unreadable' };
    if (!entry.isCanonical) return { line: number, problem: 'edited' };
    if (entry.previous !== hash) return explain(entries, index, hash);
    if (entry.seq !== number) return { line: number, problem: 'edited' };
    if (entry.kind === 'intent') open = [...open, number];
    else if (entry.closes !== undefined) open = open.filter((each) => each !== entry.closes);
    if (JSON.stringify(open) !== JSON.stringify(entry.open)) return { line: number, problem: 'edited' };
    hash = entry.hash;
  }
  return null;
}

function explain(entries: readonly (Read | null)[], index: number, hash: string): Finding {
  const entry = entries[index];
  if (entry == null) throw new Error('There is an entry at a line that does not follow');
  const number = index + 1;
  const here = (problem: string) => ({ line: number, problem });
  const behind = entries.slice(index + 1);
  const next = behind[0]?.previous;
  if (entry.seq > number) {
    if (!behind.some((each) => each?.seq === number)) return here('removed');
    return here(behind.some((each) => each?.text === entry.text) ? 'inserted' : 'reordered');
  }
  if (entry.seq === number) {
    if (next === hash) return here('inserted');
    const isOneBefore = number > 1 && (behind.length === 0 || next === entry.hash);
    return isOneBefore ? { line: number - 1, problem: 'edited' } : here('edited');
  }
  const before = entries[index - 1];
  const areRivals =
    entry.seq === number - 1 && entry.previous === before?.previous && entry.text !== before.text;
  return areRivals && next !== hash ? { line: number - 1, problem: 'inserted' } : here('inserted');
}

function root(leaves: readonly Buffer[]): Buffer {
  const [leaf] = leaves;
  if (leaf === undefined) return sha256();
  if (leaves.length === 1) return leaf;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return sha256(Uint8Array.of(1), root(leaves.slice(0, half)), root(leaves.slice(half)));
}

/** The same, with a checkpoint and the public key of its log. */
export function verifySecondAgainst(lines: readonly string[], note: string, key: string): Finding | null {
  const broken = verifySecond(lines);
  if (broken !== null) return broken;
  const [text = '', signature = ''] = note.split(/(?<=\n)\n(?=— )/);
  const [name = '', id = '', bytes = ''] = key.split('+');
  const publicKey = Buffer.from(key.slice(name.length + id.length + 2) || bytes, 'base64');
  const [, signedAs, signed = ''] = /^— (\S+) (\S+)\n$/.exec(signature) ?? [];
  const own = Buffer.from(signed, 'base64');
  const isKey =
    publicKey[0] === 1 &&
    sha256(`${name}\n`, publicKey).subarray(0, 4).toString('hex') === id &&
    signedAs === name &&
    own.subarray(0, 4).toString('hex') === id;
  const isSigned = verify(
    null,
    Buffer.from(text),
    createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: publicKey.subarray(1).toString('base64url') },
      format: 'jwk',
    }),
    own.subarray(4),
  );
  const [origin, size, hash] = text.split('\n');
  if (!isKey || !isSigned || origin !== name) return { line: null, problem: 'not signed' };
  if (lines.length < Number(size)) return { line: null, problem: 'cut-off' };
  const leaves = lines.slice(0, Number(size)).map((line) => sha256(Uint8Array.of(0), line));
  return root(leaves).toString('base64') === hash ? null : { line: null, problem: 'rewritten' };
}

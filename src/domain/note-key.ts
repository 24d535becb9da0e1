import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';

// The keys of signed notes (https://c2sp.org/signed-note), in the text form of Go's sumdb/note.

export interface NoteVerifier {
  readonly name: string;
  /** The first four bytes of SHA-256 of name, line feed, signature type and public key. */
  readonly id: Buffer;
  /** The public key as `name+id+key`. */
  readonly text: string;
  isSignedBy(text: string, signature: Buffer): boolean;
}

/** Creates signatures of one key. */
export interface NoteSigner {
  readonly verifier: NoteVerifier;
  sign(text: string): Buffer;
}

const ED25519 = 0x01;

const KEY_LENGTH = 32;

/** The DER prefix of an Ed25519 private key (RFC 8410), before its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Creates a private key, `PRIVATE+KEY+name+id+key`. Its name is the signer's: by convention a URL without its
 * scheme, such as `example.org/audit`. Throws `usage` for a name that notes do not allow.
 */
export function generateNoteKey(name: string): Secret {
  if (!isName(name)) {
    throw new TokenctlError(
      'usage',
      `Invalid key name "${name}": it contains spaces, plus signs or control characters, or is empty`,
      { hint: 'Use a name such as example.org/audit.' },
    );
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_LENGTH);
  const id = keyId(name, publicBytes(createPublicKey(privateKey)));
  return new Secret(`PRIVATE+KEY+${name}+${id.toString('hex')}+${encoded(seed)}`);
}

/** Parses a private key. Throws `configuration` if it is invalid. */
export function parseSigner(key: Secret): NoteSigner {
  const [, name = '', id = '', bytes = ''] =
    /^PRIVATE\+KEY\+([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(key.reveal().trim()) ?? [];
  const seed = decoded(bytes);
  if (seed === null || !isName(name)) throw notAKey('private');
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const verifier = verifierOf(name, publicBytes(createPublicKey(privateKey)));
  if (verifier.id.toString('hex') !== id) throw notAKey('private');
  return { verifier, sign: (text) => sign(null, Buffer.from(text), privateKey) };
}

/** Parses a public key. Throws `configuration` if it is invalid. */
export function parseVerifier(text: string): NoteVerifier {
  const [, name = '', id = '', bytes = ''] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const key = decoded(bytes);
  if (key === null || !isName(name)) throw notAKey('public');
  const verifier = verifierOf(name, key);
  if (verifier.id.toString('hex') !== id) throw notAKey('public');
  return verifier;
}

function verifierOf(name: string, bytes: Buffer): NoteVerifier {
  const id = keyId(name, bytes);
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  });
  return {
    name,
    id,
    text: `${name}+${id.toString('hex')}+${encoded(bytes)}`,
    isSignedBy: (text, signature) => verify(null, Buffer.from(text), key, signature),
  };
}

function keyId(name: string, bytes: Buffer): Buffer {
  const type = Uint8Array.of(ED25519);
  return createHash('sha256').update(`${name}\n`).update(type).update(bytes).digest().subarray(0, 4);
}

function publicBytes(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-KEY_LENGTH);
}

function encoded(key: Buffer): string {
  return Buffer.concat([Uint8Array.of(ED25519), key]).toString('base64');
}

function decoded(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  const isKey = bytes.length === KEY_LENGTH + 1 && bytes[0] === ED25519 && bytes.toString('base64') === text;
  return isKey ? bytes.subarray(1) : null;
}

/** Key names contain no space, no plus sign, and, like all of a note, no control character. */
function isName(name: string): boolean {
  return name !== '' && !/[\p{White_Space}+\p{Cc}]/u.test(name);
}

function notAKey(kind: 'private' | 'public'): TokenctlError {
  const form = kind === 'private' ? 'PRIVATE+KEY+name+id+key' : 'name+id+key';
  return new TokenctlError('configuration', `Not a ${kind} key for signed notes`, {
    hint: `Create a key with \`tokenctl log init\`. It is one line: ${form}.`,
  });
}

// Signed notes (https://c2sp.org/signed-note): a text, an empty line, and a line for each signature.

/** A note whose signature was verified. */
interface OpenedNote {
  /** With its final line feed. */
  readonly text: string;
  /** The known keys that signed it: at least one. */
  readonly signers: readonly NoteVerifier[];
}

/** Further signatures are ignored: a note of any length must not keep the verifier busy. */
const MAX_SIGNATURES = 100;

/** Signs a text that ends with a line feed; adds a line for each signer, in order. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map(({ sign, verifier }) => {
    const signature = Buffer.concat([verifier.id, sign(text)]).toString('base64');
    return `— ${verifier.name} ${signature}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/**
 * Verifies a note. Signatures of unknown keys are ignored; an invalid signature of a known key invalidates
 * the whole note.
 * @throws TokenctlError `configuration` if it is not a note, `log_broken` if no known key signed it.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2).split('\n');
  const isNote = end > 0 && lines.pop() === '' && lines.length > 0 && lines.length <= MAX_SIGNATURES;
  if (!isNote || !note.isWellFormed() || /(?!\n)\p{Cc}/u.test(note)) throw invalidNote();
  const signers = verifiersOf(lines, { text, verifiers });
  if (signers.length === 0) {
    const names = verifiers.map(({ name, id }) => `${name} (${id.toString('hex')})`).join(', ');
    throw new TokenctlError('log_broken', `The note has no signature by ${names}`, {
      hint: "Get the public key from the log's administrator, through a different channel than the note.",
    });
  }
  return { text, signers };
}

function verifiersOf(
  lines: readonly string[],
  { text, verifiers }: { text: string; verifiers: readonly NoteVerifier[] },
): NoteVerifier[] {
  const signers = new Set<NoteVerifier>();
  for (const line of lines) {
    const [, name, encoded = ''] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    if (name === undefined || bytes.length < 5) throw invalidNote();
    const known = verifiers.find((each) => each.name === name && each.id.equals(bytes.subarray(0, 4)));
    if (known === undefined) continue;
    if (!known.isSignedBy(text, bytes.subarray(4))) {
      throw new TokenctlError('log_broken', `The signature of ${name} does not match the note`, {
        hint: 'The note was modified after it was signed. Get the original again.',
      });
    }
    signers.add(known);
  }
  return [...signers];
}

function invalidNote(): TokenctlError {
  return new TokenctlError('configuration', 'Not a signed note', {
    hint: 'Use the whole file: lines of text, an empty line, and signature lines that start with a dash (—).',
  });
}

import { TokenctlError } from './errors.ts';
import type { NoteSigner, NoteVerifier } from './note-key.ts';

// Signed notes, as of https://c2sp.org/signed-note: a text, an empty line, and a line for each signature.

/** A note whose signature was verified. */
export interface OpenedNote {
  /** With its final line feed. */
  readonly text: string;
  /** The known keys that signed it: at least one. */
  readonly signers: readonly NoteVerifier[];
}

/** More signatures are not looked at: a note of any length must not keep the verifier busy. */
const MOST_SIGNATURES = 100;

/**
 * Signs a text that ends with a line feed.
 *
 * @param signers One signature line each, in their order.
 */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map(({ sign, verifier }) => {
    const signature = Buffer.concat([verifier.id, sign(text)]).toString('base64');
    return `— ${verifier.name} ${signature}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/**
 * Verifies a note. Signatures of keys that are not known are ignored; one of a known key that does not
 * verify refuses the whole note.
 *
 * @throws TokenctlError `configuration` where it is no note, `log_broken` where no known key signed it.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2).split('\n');
  const isNote = end > 0 && lines.pop() === '' && lines.length > 0 && lines.length <= MOST_SIGNATURES;
  if (!isNote || !note.isWellFormed() || /(?!\n)\p{Cc}/u.test(note)) throw notANote();
  const signers = verifiersOf(lines, { text, verifiers });
  if (signers.length === 0) {
    throw new TokenctlError('log_broken', `The note is signed by none of ${namesOf(verifiers)}`, {
      hint: 'Get the public key from the one who keeps the log, by another way than the note.',
    });
  }
  return { text, signers };
}

function verifiersOf(
  lines: readonly string[],
  { text, verifiers }: { readonly text: string; readonly verifiers: readonly NoteVerifier[] },
): NoteVerifier[] {
  const signers = new Set<NoteVerifier>();
  for (const line of lines) {
    const [, name, encoded = ''] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    if (name === undefined || bytes.length < 5) throw notANote();
    const known = verifiers.find((each) => each.name === name && each.id.equals(bytes.subarray(0, 4)));
    if (known === undefined) continue;
    if (!known.isSignedBy(text, bytes.subarray(4))) {
      throw new TokenctlError('log_broken', `The signature of ${name} does not fit the note`, {
        hint: 'The note was changed after it was signed: get it again from where it is kept.',
      });
    }
    signers.add(known);
  }
  return [...signers];
}

function namesOf(verifiers: readonly NoteVerifier[]): string {
  return verifiers.map(({ name, id }) => `${name} (${id.toString('hex')})`).join(', ');
}

function notANote(): TokenctlError {
  return new TokenctlError('configuration', 'This is no signed note', {
    hint: 'A checkpoint is a text of three lines, an empty line, and lines of signatures that begin with a dash (—).',
  });
}

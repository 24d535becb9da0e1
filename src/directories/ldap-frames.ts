/** The maximum length of a message, in bytes: a group of a million members. */
const MAX_BYTES = 64 * 1024 * 1024;
/** An LDAP message is a sequence (RFC 4511 §4.1.1). */
const SEQUENCE = 0x30;

/** The offsets of an element's content. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** Splits data into messages by their length (X.690 §8.1.3), which also refuses endless ones early. */
export class LdapFrames {
  #chunks: Buffer[] = [];
  #held = 0;
  /** The length of the partially received message, including its header; 0 while unknown. */
  #wanted = 0;

  /** Whether part of a message was received. */
  get isPartial(): boolean {
    return this.#held > 0;
  }

  /** Adds received data, and returns the messages that are now complete. Throws for invalid or too long messages. */
  take(data: Buffer): Buffer[] {
    this.#chunks.push(data);
    this.#held += data.length;
    if (this.#wanted > this.#held) return [];
    let rest = this.#chunks.length === 1 ? data : Buffer.concat(this.#chunks);
    const frames: Buffer[] = [];
    for (this.#wanted = lengthOf(rest); this.#wanted > 0 && this.#wanted <= rest.length; ) {
      frames.push(rest.subarray(0, this.#wanted));
      rest = rest.subarray(this.#wanted);
      this.#wanted = lengthOf(rest);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#held = rest.length;
    return frames;
  }
}

/** The length of the first message; 0 if its header is incomplete. */
function lengthOf(data: Buffer): number {
  if (data.length > 0 && data[0] !== SEQUENCE) throw new Error('not a message');
  const length = extentAt(data, 0)?.end ?? 0;
  if (length > MAX_BYTES) throw new Error('too long');
  return length;
}

/** The header of the element at an offset; null if incomplete. Throws for an indefinite length (RFC 4511 §5.1). */
export function extentAt(data: Buffer, offset: number): Extent | null {
  const first = data[offset + 1];
  if (first === undefined) return null;
  const start = offset + 2;
  if (first < 0x80) return { start, end: start + first };
  const size = first & 0x7f;
  if (size === 0 || size > 4) throw new Error('not a length');
  if (data.length < start + size) return null;
  return { start: start + size, end: start + size + data.readUIntBE(start, size) };
}

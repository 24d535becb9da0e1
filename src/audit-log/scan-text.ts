import { endianness } from 'node:os';

const isLittle = endianness() === 'LE';

/** How many bytes are compared at once. */
const WORD = Float64Array.BYTES_PER_ELEMENT;

/**
 * A text that a scan expects somewhere, compared eight bytes at a time, as numbers: those that are equal are
 * of the same bytes, but for two kinds of zero, which UTF-8 without zero bytes does not make. The few texts
 * that make NaN, which equals nothing, are never found.
 */
export class ScanText {
  readonly #bytes: Buffer;
  readonly #words: Float64Array;
  readonly #rest: Uint8Array;

  /** @param text UTF-8 without zero bytes. */
  constructor(text: Uint8Array) {
    const memory = new ArrayBuffer(text.length);
    const count = Math.floor(text.length / WORD);
    this.#bytes = Buffer.from(memory);
    this.#bytes.set(text);
    this.#words = new Float64Array(memory, 0, count);
    this.#rest = new Uint8Array(memory, count * WORD);
  }

  static of(text: string): ScanText {
    return new ScanText(Buffer.from(text));
  }

  /** Expects another text from now on, of ASCII and the same length. */
  become(text: string): void {
    this.#bytes.write(text, 'latin1');
  }

  /** Where the text ends that is expected at an offset; -1 where another stands there. */
  endAt(bytes: DataView, start: number): number {
    const words = this.#words;
    const rest = this.#rest;
    let at = start;
    if (at < 0 || at + words.length * WORD + rest.length > bytes.byteLength) return -1;
    for (let index = 0; index < words.length; index += 1, at += WORD) {
      if (bytes.getFloat64(at, isLittle) !== words[index]) return -1;
    }
    for (let index = 0; index < rest.length; index += 1, at += 1) {
      if (bytes.getUint8(at) !== rest[index]) return -1;
    }
    return at;
  }
}

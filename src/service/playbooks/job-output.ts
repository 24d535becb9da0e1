const PIECE = 32_768;
const LATEST_MS = 250;

/**
 * Collects what a job prints and writes it in pieces, a quarter of a second late at the most. What exceeds
 * `most` characters is dropped, and a line says so.
 */
export class JobOutput {
  readonly #write: (number: number, content: string) => Promise<void>;
  readonly #most: number;
  #kept = 0;
  #number = 0;
  #waiting = '';
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  /** @param write Stores one piece; pieces come one after the other, numbered from 0. */
  constructor(write: (number: number, content: string) => Promise<void>, most: number) {
    this.#write = write;
    this.#most = most;
  }

  /** Takes text. Resolves when more may come; rejects once pieces cannot be stored. */
  async add(text: string): Promise<void> {
    if (this.#kept >= this.#most) return;
    // A text column cannot hold NUL.
    const clean = text.replaceAll('\0', '\u{fffd}').slice(0, this.#most - this.#kept);
    this.#kept += clean.length;
    this.#waiting += clean;
    if (this.#kept >= this.#most) {
      this.#waiting += `\n[Output beyond ${this.#most} characters is not kept.]\n`;
    }
    if (this.#waiting.length >= PIECE) return this.flush();
    this.#timer ??= setTimeout(() => {
      this.flush().catch(() => undefined);
    }, LATEST_MS);
  }

  /** Writes what waits. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#written = this.#written.then(async () => {
      const content = this.#waiting;
      this.#waiting = '';
      if (content !== '') await this.#write(this.#number++, content);
    });
    // Whoever adds or flushes next hears of a failure; until then nobody may listen.
    this.#written.catch(() => undefined);
    return this.#written;
  }
}

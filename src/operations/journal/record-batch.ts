import type { LogSink } from '../ports/log-sink.ts';

/** Records handed over at once. */
const RECORDS = 500;
/** Or as many characters. */
const CHARACTERS = 256 * 1024;

/** Records on their way to a sink, several together. */
export class RecordBatch {
  readonly #sink: LogSink;
  #records: string[] = [];
  #characters = 0;

  constructor(sink: LogSink) {
    this.#sink = sink;
  }

  /** Whether as many have gathered as go at once. */
  get isFull(): boolean {
    return this.#records.length >= RECORDS || this.#characters >= CHARACTERS;
  }

  /** Takes a record. Hands over those before it where as many have gathered. */
  async add(record: string): Promise<void> {
    // An entry may have more records than go at once.
    if (this.isFull) await this.flush();
    this.#records.push(record);
    this.#characters += record.length;
  }

  /** Hands over what has gathered. Throws as {@link LogSink.send}. */
  async flush(): Promise<void> {
    if (this.#records.length === 0) return;
    const records = this.#records;
    this.#records = [];
    this.#characters = 0;
    await this.#sink.send(records);
  }
}

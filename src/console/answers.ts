/** How long a page waits for contexts that were not queried before. */
const SOON_MS = 1_000;
/** When a failed context is queried again. */
const ASK_AGAIN_MS = 15_000;

export interface Answer<T> {
  /** The last answer, even while it is queried again; undefined if there is none, or if the query failed. */
  readonly value: T | undefined;
  /** The last error; undefined without one. */
  readonly error: unknown;
  /** How long it has not answered at all, in milliseconds; null after an answer or a failure. */
  readonly waitsMs: number | null;
}

/** A context, and the query in progress. */
interface Kept<T> {
  value: T | undefined;
  error: unknown;
  /** By the monotonic clock; null during the query. */
  ended: number | null;
  asked: number;
  question: Promise<void>;
}

/**
 * The contexts' answers to one query. Each context is queried once at a time, its answer is cached for a
 * while, and no one waits for a slow one.
 */
export class Answers<T> {
  readonly #ask: (place: string) => Promise<T>;
  readonly #keptMs: number;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(ask: (place: string) => Promise<T>, keptMs: number) {
    this.#ask = ask;
    this.#keptMs = keptMs;
  }

  /** The current answer; starts a query if there is none or it is too old. */
  of(place: string): Answer<T> {
    const { value, error, asked, ended } = this.#keptOf(place);
    const isKnown = ended !== null || value !== undefined || error !== undefined;
    return { value, error, waitsMs: isKnown ? null : performance.now() - asked };
  }

  /** Waits for contexts without an answer, each up to a second after its query. */
  async soon(places: readonly string[]): Promise<void> {
    await Promise.all(
      places.map(async (place) => {
        const kept = this.#keptOf(place);
        const { waitsMs } = this.of(place);
        if (waitsMs === null || waitsMs >= SOON_MS) return;
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, SOON_MS - waitsMs);
        });
        await Promise.race([kept.question, late]);
        clearTimeout(timer);
      }),
    );
  }

  /** The answer, however long it takes. Throws what the query throws. */
  async whole(place: string): Promise<T> {
    const kept = this.#keptOf(place);
    if (kept.value === undefined) await kept.question;
    if (kept.value === undefined) throw kept.error;
    return kept.value;
  }

  /** Queries these again, except those being queried. */
  again(places: readonly string[]): void {
    for (const place of places) if (this.#kept.get(place)?.ended != null) this.forget(place);
  }

  /** Queries again when needed. */
  forget(place?: string): void {
    if (place === undefined) this.#kept.clear();
    else this.#kept.delete(place);
  }

  #keptOf(place: string): Kept<T> {
    const known = this.#kept.get(place);
    if (known === undefined) {
      const none = { value: undefined, error: undefined, ended: null };
      const kept: Kept<T> = { ...none, asked: 0, question: Promise.resolve() };
      this.#kept.set(place, kept);
      this.#begin(place, kept);
      return kept;
    }
    const most = known.error === undefined ? this.#keptMs : ASK_AGAIN_MS;
    if (known.ended !== null && performance.now() - known.ended > most) this.#begin(place, known);
    return known;
  }

  #begin(place: string, kept: Kept<T>): void {
    kept.asked = performance.now();
    kept.ended = null;
    kept.question = this.#ask(place)
      .then(
        (value) => Object.assign(kept, { value, error: undefined }),
        (error: unknown) => Object.assign(kept, { value: undefined, error }),
      )
      .then(() => {
        kept.ended = performance.now();
      });
  }
}

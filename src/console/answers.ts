/** How long a page waits for contexts that were not asked before. */
const SOON_MS = 1_000;
/** When a context that failed is asked again. */
const ASK_AGAIN_MS = 15_000;

/** What is known of a context. */
export interface Answer<T> {
  /** What it answered last, also while it is asked again; undefined where it has not, or failed. */
  readonly value: T | undefined;
  /** Why it failed the last time; undefined if it did not. */
  readonly error: unknown;
  /** For how many milliseconds it has not answered at all; null once it has, or failed. */
  readonly waitsMs: number | null;
}

/** A context, and the question to it that is under way. */
interface Kept<T> {
  value: T | undefined;
  error: unknown;
  /** By the monotonic clock; null while it is asked. */
  ended: number | null;
  asked: number;
  question: Promise<void>;
}

/** What contexts answer to one question. Each is asked once at a time, its answer is kept for a while, and no one waits for a slow one. */
export class Answers<T> {
  readonly #ask: (place: string) => Promise<T>;
  readonly #keptMs: number;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(ask: (place: string) => Promise<T>, keptMs: number) {
    this.#ask = ask;
    this.#keptMs = keptMs;
  }

  /** What is known; asks where nothing is, or what is known is old. */
  of(place: string): Answer<T> {
    const { value, error, asked, ended } = this.#keptOf(place);
    const isKnown = ended !== null || value !== undefined || error !== undefined;
    return { value, error, waitsMs: isKnown ? null : performance.now() - asked };
  }

  /** Waits for those that have not answered yet, each until a second after it was asked. */
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

  /** The answer, however long it takes. Throws what the question throws. */
  async whole(place: string): Promise<T> {
    const kept = this.#keptOf(place);
    if (kept.value === undefined) await kept.question;
    if (kept.value === undefined) throw kept.error;
    return kept.value;
  }

  /** Asks these anew, other than those that are being asked. */
  again(places: readonly string[]): void {
    for (const place of places) if (this.#kept.get(place)?.ended != null) this.forget(place);
  }

  /** Asks anew when it is needed. */
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

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { tooManyRequests } from '../failure.ts';
import { SsoFailure } from './backends.ts';
import type { SamlAnswer, SamlVerdict, VerifiedAssertion } from './saml-worker.ts';

/** The maximum length of a parsed response, in base64 characters. A thousand groups fit. */
const MAX_RESPONSE_LENGTH = 262_144;
/** The maximum number of tags and comments in a response. The library's time grows with its square. */
const MAX_MARKUP = 5_000;
/** How long one verification may take, in milliseconds. It usually takes a few. */
const TIMEOUT_MS = 10_000;
/** How long the thread may take to start, in milliseconds: seconds on a busy machine, for any response. */
const START_TIMEOUT_MS = 60_000;
const MAX_WAITING = 50;
/** The thread's memory limit in MiB: more than any valid response needs. */
const MEMORY_MIB = 256;

/** The thread's program: its source file, or its bundle from the build, as text. */
function program(): URL | string {
  if (extname(import.meta.url) !== '.js') return new URL('./saml-worker.ts', import.meta.url);
  return readFileSync(new URL('./saml-worker.cjs', import.meta.url), 'utf8');
}

/**
 * Verifies SAML responses in a thread, so that a slow one delays only other SAML logins, and only for
 * seconds. The thread starts with the first response and keeps running. Its program is read when this object
 * is created, because an upgrade replaces the file.
 */
export class SamlThread {
  readonly #program = program();
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /**
   * Verifies a response after the earlier ones.
   * @throws SsoFailure with the reason of the refusal; `unverified` after a timeout.
   * @throws RequestFailure 429 if too many are waiting.
   */
  async verify(answer: SamlAnswer): Promise<VerifiedAssertion> {
    rejectOversizedResponse(answer.response);
    if (this.#waiting >= MAX_WAITING) throw tooManyRequests('Too many logins are being verified.', 5);
    this.#waiting += 1;
    const pending = this.#last.then(() => this.#ask(answer));
    this.#last = pending.finally(() => (this.#waiting -= 1)).catch(() => undefined);
    const verdict = await pending;
    if ('verified' in verdict) return verdict.verified;
    throw new SsoFailure(verdict.refused, verdict.detail);
  }

  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  async #ask(answer: SamlAnswer): Promise<SamlVerdict> {
    try {
      const worker = this.#worker ?? (await this.#start());
      const reply = once(worker, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) });
      worker.postMessage(answer);
      const [verdict] = (await reply) as [SamlVerdict];
      return verdict;
    } catch (error) {
      await this.end();
      const isTimeout = error instanceof Error && error.name === 'AbortError';
      return { refused: 'unverified', detail: `the verification ${isTimeout ? 'timed out' : 'failed'}` };
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(this.#program, {
      eval: typeof this.#program === 'string',
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
    });
    // #ask handles the reason; the next response starts a new thread.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    worker.unref();
    this.#worker = worker;
    await once(worker, 'message', { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
    return worker;
  }
}

/** Before parsing, refuses a very large response, and one with a document type, which can define entities. */
function rejectOversizedResponse(response: string): void {
  const refused = (why: string) => new SsoFailure('unverified', `the response ${why}`);
  if (response.length > MAX_RESPONSE_LENGTH) throw refused('is too long');
  const text = Buffer.from(response, 'base64').toString('utf8');
  if (/<!DOCTYPE/i.test(text)) throw refused('has a document type');
  if (text.split('<').length > MAX_MARKUP) throw refused('has too many elements');
}

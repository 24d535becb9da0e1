import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { tooManyRequests } from '../failure.ts';
import { SsoFailure } from './backends.ts';
import { refuseMonsters, type SamlAnswer, type SamlVerdict, type VerifiedAssertion } from './verify-saml.ts';

/** How long the verification of one answer may take, in milliseconds: a few, and the start of the thread. */
const PATIENCE_MS = 10_000;
/** So many answers may wait for those before them. */
const MOST_WAITING = 50;
/** More memory than any answer takes, in MiB. */
const MEMORY_MB = 256;

/**
 * Verifies SAML answers in a thread, so that one that is made to take long holds up nothing but other
 * answers, and these for seconds. The thread begins with the first answer and stays.
 */
export class SamlThread {
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /**
   * Verifies an answer when those before it are done.
   *
   * @throws SsoFailure as it was refused; `unverified` where it takes too long.
   * @throws RequestFailure 429 where too many are waiting.
   */
  async verify(answer: SamlAnswer): Promise<VerifiedAssertion> {
    refuseMonsters(answer.response);
    if (this.#waiting >= MOST_WAITING) throw tooManyRequests('Too many logins are being verified.', 5);
    this.#waiting += 1;
    const verdict = this.#last.then(() => this.#ask(answer));
    this.#last = verdict.finally(() => (this.#waiting -= 1)).catch(() => undefined);
    const said = await verdict;
    if ('verified' in said) return said.verified;
    throw new SsoFailure(said.refused, said.detail);
  }

  /** Ends the thread. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  async #ask(answer: SamlAnswer): Promise<SamlVerdict> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    try {
      const verdict = once(worker, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) });
      worker.postMessage(answer);
      const [said] = (await verdict) as [SamlVerdict];
      return said;
    } catch (error) {
      await this.end();
      const why = error instanceof Error && error.name === 'AbortError' ? 'took too long' : 'failed';
      return { refused: 'unverified', detail: `the verification of the answer ${why}` };
    }
  }

  #start(): Worker {
    const program = new URL(`./saml-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    // What ends it is seen by whoever waits for it; the next answer gets another one.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    worker.unref();
    return worker;
  }
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

/** An answer of the controller, whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The largest body that is taken, in bytes: a page of 200 tokens is a few hundred thousand. */
const LARGEST_BODY = 16 * 1024 * 1024;

/** An answer that is longer than any of a controller's. */
export class OversizedAnswer extends Error {
  override readonly name = 'OversizedAnswer';
}

/** Collects one answer; settles with it, or with the error of the network. */
export class Receiver implements Dispatcher.DispatchHandler {
  readonly #settle: { resolve: (answer: Answer) => void; reject: (error: unknown) => void };
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(settle: { resolve: (answer: Answer) => void; reject: (error: unknown) => void }) {
    this.#settle = settle;
  }

  /** Nothing to prepare; its presence marks the handler as one of the current kind. */
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > LARGEST_BODY) controller.abort(new OversizedAnswer());
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...rest] = this.#chunks;
    const body = first !== undefined && rest.length === 0 ? first : Buffer.concat(this.#chunks);
    this.#settle.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#settle.reject(error);
  }
}

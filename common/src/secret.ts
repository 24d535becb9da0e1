import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A secret value (a password, a token) that prints `[redacted]` however it is printed: by interpolation,
 * JSON, `console` or the inspector. Only {@link Secret.reveal} returns the value, so that every place where a
 * secret leaves can be found by that name.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the wire and nothing else. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

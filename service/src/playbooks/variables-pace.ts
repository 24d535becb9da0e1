import { setImmediate } from 'node:timers/promises';
import { badRequest } from '../failure.ts';
import { readVariables, type Variables } from './variables.ts';

/** The most characters of variables that are read at once: an inventory of 5,000 hosts with 1 kB each. */
const MAX_LENGTH = 5_000_000;
/** After how many characters other requests get their turn. YAML takes a few milliseconds for them. */
const SLICE = 1_000;

/**
 * Limits how long the variables of an inventory block the process: those of its hosts and groups are read one after the other, and
 * other requests get their turn in between.
 */
export class VariablesPace {
  #left = MAX_LENGTH;
  #slice = 0;

  /** Waits until a text may be read. Returns why it may not, instead: all texts together are too long. */
  async next({ length }: string): Promise<string | null> {
    this.#left -= length;
    if (this.#left < 0) return 'The variables of this inventory are too long to read in one request';
    this.#slice += length;
    if (this.#slice >= SLICE) {
      this.#slice = 0;
      await setImmediate();
    }
    return null;
  }
}

/** Reads stored variables, which were checked when they were written. */
export function storedVariables(text: string): Variables {
  const read = readVariables(text);
  return typeof read === 'string' ? {} : read;
}

/** Reads the variables of many, one after the other. Between them, other requests get their turn. */
export class StoredVariables {
  readonly #pace = new VariablesPace();

  /** Throws RequestFailure 400 if all that was read is too long. */
  async read(text: string): Promise<Variables> {
    const problem = await this.#pace.next(text);
    if (problem !== null) throw badRequest(`${problem}: request one host with ?host=NAME.`);
    return storedVariables(text);
  }
}

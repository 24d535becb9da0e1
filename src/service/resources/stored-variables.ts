import { setImmediate } from 'node:timers/promises';
import { badRequest } from '../failure.ts';
import { readVariables, type Variables } from '../playbooks/variables.ts';

/** The most characters of variables that one request reads: an inventory of 5,000 hosts with 1 kB each. */
const MAX_LENGTH = 5_000_000;
/** After how many characters other requests get their turn. YAML takes a few milliseconds for them. */
const SLICE = 1_000;

/** Reads stored variables, which were checked when they were written. */
export function storedVariables(text: string): Variables {
  const read = readVariables(text);
  return typeof read === 'string' ? {} : read;
}

/** Reads the variables of many, one after the other. Between them, other requests get their turn. */
export class StoredVariables {
  #left: number;
  #slice = 0;

  constructor(maxLength = MAX_LENGTH) {
    this.#left = maxLength;
  }

  /** Throws RequestFailure 400 if all that was read is too long. */
  async read(text: string): Promise<Variables> {
    this.#left -= text.length;
    if (this.#left < 0) {
      throw badRequest(
        'The variables of this inventory are too long to be read at once: ask for one host with ?host=NAME.',
      );
    }
    this.#slice += text.length;
    if (this.#slice >= SLICE) {
      this.#slice = 0;
      await setImmediate();
    }
    return storedVariables(text);
  }
}

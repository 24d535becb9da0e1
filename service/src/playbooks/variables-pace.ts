import { setImmediate } from 'node:timers/promises';
import { badRequest } from '../failure.ts';
import { readVariables, type Variables } from './variables.ts';

/** The maximum total length of variables to read, in characters: an inventory of 5,000 hosts with 1 kB each. */
const MAX_LENGTH = 5_000_000;
/** Other requests get their turn after this many characters, for which YAML takes a few milliseconds. */
const SLICE = 1_000;

/** Reads an inventory's variables host by host and group by group, so that other requests get their turn. */
export class VariablesPace {
  #left = MAX_LENGTH;
  #slice = 0;

  /** Waits until a text may be read. Returns the reason if all texts together are too long. */
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

/** Reads stored variables, which were validated when they were written. */
export function storedVariables(text: string): Variables {
  const read = readVariables(text);
  return typeof read === 'string' ? {} : read;
}

/** Reads the variables of many objects one by one. Other requests get their turn in between. */
export class StoredVariables {
  readonly #pace = new VariablesPace();

  /** Throws RequestFailure 400 if the texts are too long in total. */
  async read(text: string): Promise<Variables> {
    const problem = await this.#pace.next(text);
    if (problem !== null) throw badRequest(`${problem}: request one host with ?host=NAME.`);
    return storedVariables(text);
  }
}

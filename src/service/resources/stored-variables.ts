import { badRequest } from '../failure.ts';
import { readVariables, type Variables } from '../playbooks/variables.ts';
import { VariablesPace } from '../playbooks/variables-pace.ts';

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
    if (problem !== null) throw badRequest(`${problem}: ask for one host with ?host=NAME.`);
    return storedVariables(text);
  }
}

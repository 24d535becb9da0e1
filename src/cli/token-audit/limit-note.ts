import type { Runtime } from '../../app/runtime.ts';
import { limitText } from '../../domain/claims.ts';
import { printable } from '../../reports/tables/text.ts';
import { writeNotice } from '../output/streams.ts';

/**
 * Says on stderr what a list leaves out because the account sees only part. A list in JSON is an array and has no place
 * for it.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function noteLimit(runtime: Runtime): Promise<void> {
  const limit = limitText(await runtime.description());
  if (limit !== null) writeNotice(`Not all tokens are included: ${printable.value(limit)}.`);
}

/**
 * Says it before the first item, or after an empty list. A list that cannot be read ends with its error alone, which
 * says what is missing.
 *
 * @throws TokenctlError whatever the items or the target throw.
 */
export async function* notingLimit<T>(runtime: Runtime, items: AsyncIterable<T>): AsyncGenerator<T> {
  let isNoted = false;
  for await (const item of items) {
    if (!isNoted) await noteLimit(runtime);
    isNoted = true;
    yield item;
  }
  if (!isNoted) await noteLimit(runtime);
}

import type { Runtime } from '../../app/runtime.ts';
import { limitText } from '../../domain/visibility.ts';
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

import { csvLines, jsonLines } from '../../reports/listing.ts';
import type { Listing } from '../../reports/result.ts';
import { writeTo } from './streams.ts';

/** How a listing is printed. */
export type Format = 'json' | 'csv' | 'table';

/** Characters gathered before they are written: few system calls, and still a steady stream. */
const CHUNK = 16_384;

/** Prints the rows as they come, in the format asked for; stops early where nobody reads any more. */
export async function printListing<Row>(
  listing: Listing<Row>,
  { format, width }: { format: Format; width: number },
): Promise<void> {
  if (format !== 'table') {
    await writeAll(format === 'json' ? jsonLines(listing) : csvLines(listing));
    return;
  }
  const { tableLines } = await import('../../reports/table.ts');
  const written = await writeAll(tableLines(listing, width));
  if (written === 0) await writeTo(process.stderr, `${listing.none}\n`);
}

/**
 * Writes texts to stdout as they come, several together; stops early where nobody reads any more.
 *
 * @returns how many characters there were to write
 */
export async function writeAll(texts: AsyncIterable<string>): Promise<number> {
  let gathered = '';
  let written = 0;
  for await (const text of texts) {
    gathered += text;
    written += text.length;
    if (gathered.length < CHUNK) continue;
    if (!(await writeTo(process.stdout, gathered))) return written;
    gathered = '';
  }
  if (gathered !== '') await writeTo(process.stdout, gathered);
  return written;
}

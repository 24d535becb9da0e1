import { Readable } from 'node:stream';

/**
 * Begins to read now what is consumed later, so that several sources are read at the same time although they are
 * printed one after the other. It reads at most that many items ahead. What goes wrong while reading is thrown when
 * its place is reached.
 */
export function readAhead<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  atMost: number,
): AsyncIterable<Item> {
  const stream = Readable.from(items, { objectMode: true, highWaterMark: atMost });
  // It may fail before anybody reads; whoever reads is told.
  stream.on('error', () => undefined);
  stream.read(0);
  return stream;
}

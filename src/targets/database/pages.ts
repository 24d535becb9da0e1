/** How many rows are asked for at once. */
export const PAGE = 5000;

/**
 * Reads a table in pages, each after the key of the last row of the one before (keyset): every page costs
 * the same, no transaction stays open, and what is deleted meanwhile shifts nothing.
 *
 * @param read The rows whose key is greater, in the order of the key, at the most {@link PAGE} of them.
 */
export function keysetPages<Row, Key>(options: {
  readonly start: Key;
  readonly keyOf: (row: Row) => Key;
  readonly read: (after: Key) => Promise<readonly Row[]>;
}): AsyncGenerator<readonly Row[], void> {
  const { start, keyOf, read } = options;
  return oneAhead(
    () => read(start),
    (rows) => {
      const last = rows.at(-1);
      return rows.length < PAGE || last === undefined ? null : () => read(keyOf(last));
    },
  );
}

/**
 * Reads rows by their ids, ascending: those of a list a part of it at a time, or without a list page after page.
 *
 * @param read The rows after an id, and of these ids where they are given.
 */
export function idPages<Row extends { readonly id: number }>(
  ids: readonly number[] | undefined,
  read: (after: number, ids: readonly number[] | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[], void> {
  if (ids !== undefined) return chunkPages(ids, (chunk) => read(0, chunk));
  return keysetPages({ start: 0, keyOf: ({ id }) => id, read: (after) => read(after, undefined) });
}

/** Reads what a long list of ids names, a part of the list at a time, ascending. */
function chunkPages<Row>(
  ids: readonly number[],
  read: (chunk: readonly number[]) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[], void> {
  const chunks = chunked(
    [...new Set(ids)].sort((a, b) => a - b),
    PAGE,
  );
  const following = () => {
    const chunk = chunks.next();
    return chunk.done === true ? null : () => read(chunk.value);
  };
  return oneAhead(following() ?? (() => Promise.resolve([])), following);
}

/** Cuts a list into parts of at most that size. */
export function* chunked<Item>(items: readonly Item[], size: number): Generator<readonly Item[], void> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Page after page, the next one asked for before one is handed out: the server works while the caller does. */
async function* oneAhead<Page>(
  first: () => Promise<Page>,
  following: (page: Page) => (() => Promise<Page>) | null,
): AsyncGenerator<Page, void> {
  let coming: Promise<Page> | null = first();
  while (coming !== null) {
    const page: Page = await coming;
    coming = following(page)?.() ?? null;
    // Awaited in the next round; handled here, so that a failure before that is no unhandled one.
    coming?.catch(() => undefined);
    yield page;
  }
}

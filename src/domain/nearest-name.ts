/** The minimum length of a prefix that suggests a name. */
const MIN_BEGINNING = 3;

/**
 * The known name nearest to a mistyped one, by edits (optimal string alignment). At most a third of the
 * longer name may differ, to avoid far-fetched suggestions. Otherwise the shortest name that starts with the
 * typed text, or the name whose first words are nearest to it. Undefined if no name is near.
 */
export function nearestName(typed: string, known: readonly string[]): string | undefined {
  const whole = nearestOf(
    typed,
    known.map((name) => ({ name, text: name })),
  );
  if (whole !== undefined || typed.length < MIN_BEGINNING) return whole;
  const shortestFirst = known.toSorted((one, other) => one.length - other.length);
  const begun = shortestFirst.find((name) => name.startsWith(typed.toLowerCase()));
  return begun ?? nearestOf(typed, shortestFirst.flatMap(beginningsOf));
}

/** The name of the nearest text; the first one of several equally near ones. */
function nearestOf(typed: string, texts: readonly { readonly name: string; readonly text: string }[]) {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const { name, text } of texts) {
    const edits = editDistance(typed.toLowerCase(), text.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(typed.length, text.length) / 3));
    if (edits <= allowed && edits < least) {
      nearest = name;
      least = edits;
    }
  }
  return nearest;
}

/** The first words of a name with several: `unused` of `unused-for`. Short ones are too similar to others. */
function beginningsOf(name: string): { readonly name: string; readonly text: string }[] {
  const words = name.split('-');
  return words
    .map((_, index) => ({ name, text: words.slice(0, index).join('-') }))
    .filter(({ text }) => text.length > MIN_BEGINNING);
}

/** Insertions, deletions and replacements of one character, and swaps of two neighbors, between two words. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replace = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const remove = (previous[column] ?? 0) + 1;
      const insert = (current[column - 1] ?? 0) + 1;
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swap = isSwap
        ? (beforePrevious[column - 2] ?? Number.POSITIVE_INFINITY) + 1
        : Number.POSITIVE_INFINITY;
      current.push(Math.min(replace, remove, insert, swap));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}

const numbers = new Intl.NumberFormat('en-US');

/** A number for people: thousands apart. */
export function numberText(value: number): string {
  return numbers.format(value);
}

/** A number and what it counts, in its plural where it is not one. */
export function countText(value: number, one: string, many = `${one}s`): string {
  return `${numberText(value)} ${value === 1 ? one : many}`;
}

/** A number, and what it counts in the singular. */
export interface Count {
  readonly number: number;
  readonly one: string;
}

/** A {@link Count}. */
export function countOf(number: number, one: string): Count {
  return { number, one };
}

/** Numbers in a row, those of nothing left out: `2 access tokens, 1 refresh token and 1 session`. */
export function countsText(counts: readonly Count[]): string {
  const texts = counts.filter(({ number }) => number > 0).map(({ number, one }) => countText(number, one));
  const last = texts.pop() ?? '';
  return texts.length === 0 ? last : `${texts.join(', ')} and ${last}`;
}

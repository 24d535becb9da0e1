const numbers = new Intl.NumberFormat('en-US');

/** A number for people: thousands apart. */
export function numberText(value: number): string {
  return numbers.format(value);
}

/** A number and what it counts, in its plural where it is not one. */
export function countText(value: number, one: string, many = `${one}s`): string {
  return `${numberText(value)} ${value === 1 ? one : many}`;
}

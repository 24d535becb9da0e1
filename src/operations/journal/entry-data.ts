/** The whole numbers of a list; none for anything else. */
export function numbersIn(value: unknown): number[] {
  return listOf(value).filter((each): each is number => Number.isSafeInteger(each));
}

/** The objects of a list; none for anything else. */
export function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return listOf(value)
    .map(objectOf)
    .filter((each) => each !== undefined);
}

/** The value, where it is an object. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** The value, where it is a list; an empty one otherwise. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The value, where it is a text that says something. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

import { notFound } from '../failure.ts';

const LARGEST_ID = 2_147_483_647;

/** The id that a path names. Throws 404 for what cannot be one. */
export function pathId(text: string | undefined): number {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1 || id > LARGEST_ID) throw notFound();
  return id;
}

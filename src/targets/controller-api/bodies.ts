import { z } from 'zod';
import type { User } from '../../domain/token.ts';
import type { Dialect } from './dialect.ts';

/** An id: a whole number from 1. */
export const id = z.number().int().positive();

/** A date and time in text, as a Date. */
export const instant = z.string().transform((text, context) => {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  context.addIssue('not a date');
  return z.NEVER;
});

const root = z.object({
  current_version: z.string().optional(),
  apis: z.record(z.string(), z.unknown()).optional(),
});

/** What `/api/` presents: a controller's own API, the names of a platform's APIs, or null for neither. */
export function readRoot(body: unknown): 'controller' | readonly string[] | null {
  const { data } = root.safeParse(body);
  if (data?.apis !== undefined) return Object.keys(data.apis);
  return data?.current_version === undefined ? null : 'controller';
}

const ping = z.object({ version: z.string() });

/** The version that `ping/` states; null for none, as of early gateways. */
export function readVersion(body: unknown): string | null {
  return ping.safeParse(body).data?.version ?? null;
}

const me = z.object({ results: z.tuple([z.unknown()]) });

/** The caller, from `me/`; null for what is none. */
export function readMe(body: unknown, { readUser }: Pick<Dialect, 'readUser'>): User | null {
  return readUser(me.safeParse(body).data?.results[0]);
}

const created = z.object({ token: z.string().min(1) });

/** The value of a token just created; null for none. */
export function readTokenValue(body: unknown): string | null {
  return created.safeParse(body).data?.token ?? null;
}

const metadata = z.object({ actions: z.record(z.string(), z.unknown()) });

/** Reads the actions that an OPTIONS answer names; null where it names none. */
export function readActions(body: unknown): Readonly<Record<string, unknown>> | null {
  return metadata.safeParse(body).data?.actions ?? null;
}

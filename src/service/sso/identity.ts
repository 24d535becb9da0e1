import type { Backend } from './backends.ts';

/** Who somebody is at an identity provider, as far as that was verified. */
export interface Identity {
  readonly backend: Backend;
  /** The account's one name there that never changes, and is nobody else's. */
  readonly uid: string;
  /** What the user may be called here, if it is free. */
  readonly username: string;
  /** A verified address; empty where there is none. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Names and addresses that the provider vouches for: what maps are compared with. */
  readonly names: readonly string[];
  /** Attributes or claims, each with its values as text. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

/** The longest name of an account that the table of links holds. */
export const LONGEST_UID = 255;

/** Attributes from claims: texts, numbers and booleans, and lists of them. Everything else is left out. */
export function attributesOf(
  claims: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, readonly string[]> {
  const text = (value: unknown) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [String(value)] : [];
  return new Map(
    Object.entries(claims).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.flatMap(text) : text(value),
    ]),
  );
}

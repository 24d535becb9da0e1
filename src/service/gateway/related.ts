/** Below what the gateway's collections are. */
export const API = '/api/gateway/v1/';

/** What stands in place of a secret. */
export const MASK = '$encrypted$';

/** A record that another one refers to. */
interface Referred {
  readonly id: number | null;
  /** What the summary says of it besides the id. */
  readonly summary: Readonly<Record<string, unknown>>;
  /** The collection that it is in. */
  readonly collection: 'users' | 'organizations' | 'applications';
}

/**
 * What a gateway's record says of those that it refers to: the id under the name of the reference, the address
 * under `related` and a summary; nothing but null under the name where it refers to none.
 */
export function references(referred: Readonly<Record<string, Referred>>): {
  readonly ids: Readonly<Record<string, number | null>>;
  readonly related: Readonly<Record<string, string>>;
  readonly summary: Readonly<Record<string, unknown>>;
} {
  const all = Object.entries(referred);
  const present = all.filter(([, { id }]) => id !== null);
  return {
    ids: Object.fromEntries(all.map(([name, { id }]) => [name, id])),
    related: Object.fromEntries(
      present.map(([name, { id, collection }]) => [name, `${API}${collection}/${id}/`]),
    ),
    summary: Object.fromEntries(present.map(([name, { id, summary }]) => [name, { id, ...summary }])),
  };
}

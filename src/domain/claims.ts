/**
 * What an account sees of a controller. A controller leaves out what an account may not see, and nothing in
 * its answers says so: only the account's roles tell. Each text is the end of a sentence: "alice sees only
 * its own tokens".
 */
export type Visibility =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'part';
      readonly tokens: string;
      readonly users: string;
      readonly applications: string;
      /** The names of the organizations that the account administers. */
      readonly organizations: readonly string[];
    };

/** What an account sees of one kind of thing, as a sentence without a full stop; null if it sees all. */
export function limitText(
  {
    visibility,
    identity,
  }: { readonly visibility: Visibility; readonly identity: { readonly username: string } },
  what: 'tokens' | 'users' | 'applications' = 'tokens',
): string | null {
  return visibility.kind === 'all' ? null : `${identity.username} sees only ${visibility[what]}`;
}

/** That a list or report leaves out what the account does not see, as a sentence without a full stop; null if it sees all. */
export function incompleteText(viewer: Parameters<typeof limitText>[0]): string | null {
  const limit = limitText(viewer);
  return limit === null ? null : `Not all tokens are included: ${limit}`;
}

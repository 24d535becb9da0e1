/**
 * What an account sees of a controller. A controller leaves out what an account may not see, and nothing in its answers
 * says so: only the account's roles tell. Each text is the end of a sentence: "alice sees only its own tokens".
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

/**
 * A statement about the target, with what it rests on: `checked` was read or tried after the act by an account that sees
 * everything the statement is about; `known` is what a controller of this version does; anything else is not claimed.
 */
export type Claim<State extends string> =
  | {
      readonly state: State;
      readonly basis: 'checked';
      /** How it was found out, as a sentence. */
      readonly how: string;
    }
  | {
      readonly state: State;
      readonly basis: 'known';
      /** The product and its version: `controller 24.6.1`. */
      readonly version: string;
      readonly how: string;
    }
  | {
      readonly state: 'not_checked';
      readonly basis: 'not_checked';
      /** Why not, as a sentence. */
      readonly how: string;
    };

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

/**
 * A copy of a controller's database that replays the changes of the primary server and takes none itself. What the primary has
 * changed since is not in it: nothing that is read there says what is so now.
 */
export interface Standby {
  /** When the last change that it has was committed at the primary; null if it has replayed none since it started. */
  readonly replayedUntil: Date | null;
  /** How many seconds before the description that was, by the standby's clock; null as above. */
  readonly lagSeconds: number | null;
  /** Whether it is connected to the primary, or to another standby, to receive changes. */
  readonly isReceiving: boolean;
}

/** How far behind a standby is, as a remark in brackets. */
export function replayedText({ replayedUntil, lagSeconds, isReceiving }: Standby): string {
  const last =
    replayedUntil === null
      ? 'no change since it started'
      : `last change of ${replayedUntil.toISOString().slice(0, 19)}Z, ${lagSeconds ?? 0} s ago`;
  return isReceiving ? last : `${last}; it is not receiving any at present`;
}

/** That an answer comes from a standby, as a sentence without a full stop; null for a primary and over REST. */
export function standbyText(place: { address: string; standby?: Standby | undefined }): string | null {
  if (place.standby === undefined) return null;
  return `${place.address} is a standby: it shows the primary's changes that it has replayed (${replayedText(place.standby)}), which may not be the current state`;
}

/** What a list has that an account may see only in part. */
export type Listed = 'tokens' | 'users' | 'applications';

/** What an account sees of one kind of thing, as a sentence without a full stop; null if it sees all. */
export function limitText(
  { visibility, identity }: { visibility: Visibility; identity: { readonly username: string } },
  what: Listed = 'tokens',
): string | null {
  return visibility.kind === 'all' ? null : `${identity.username} can see only ${visibility[what]}`;
}

/**
 * That a list or report leaves out what the account does not see, or comes from a standby, as a sentence without a full stop;
 * null if it has everything that is so now.
 */
export function incompleteText(
  viewer: Parameters<typeof limitText>[0] & Parameters<typeof standbyText>[0],
  what: Listed = 'tokens',
): string | null {
  const standby = standbyText(viewer);
  if (standby !== null) return standby;
  const limit = limitText(viewer, what);
  return limit === null ? null : `Not all ${what} are included: ${limit}`;
}

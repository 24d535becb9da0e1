/**
 * What an account sees of a controller. A controller omits what an account may not see without saying so:
 * only the account's roles show it. Each text is the end of a sentence: "alice sees only its own tokens".
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
 * A standby: a read-only copy of a controller's database that replays the changes of the primary server. It
 * lacks the primary's latest changes: it never shows the current state.
 */
export interface Standby {
  /** When its last change was committed at the primary; null if it has replayed none since it started. */
  readonly replayedUntil: Date | null;
  /** The age of that change at the description, in seconds by the standby's clock; null as above. */
  readonly lagSeconds: number | null;
  /** Whether it is connected to the primary, or to another standby, to receive changes. */
  readonly isReceiving: boolean;
}

/** How far behind a standby is, as a remark in parentheses. */
export function replayedText({ replayedUntil, lagSeconds, isReceiving }: Standby): string {
  const last =
    replayedUntil === null
      ? 'no change since it started'
      : `last change of ${replayedUntil.toISOString().slice(0, 19)}Z, ${lagSeconds ?? 0} s ago`;
  return isReceiving ? last : `${last}; it is not receiving any at present`;
}

/** The note that an answer is from a standby, as a sentence without a full stop; null if it is not. */
export function standbyText(place: { address: string; standby?: Standby | undefined }): string | null {
  if (place.standby === undefined) return null;
  return `${place.address} is a standby: it shows the primary's changes that it has replayed (${replayedText(place.standby)}), which may not be the current state`;
}

/** The kinds of objects that an account may see only in part. */
export type Listed = 'tokens' | 'users' | 'applications';

/** What an account sees of one kind of object, as a sentence without a full stop; null if it sees all. */
export function limitText(
  { visibility, identity }: { visibility: Visibility; identity: { readonly username: string } },
  what: Listed = 'tokens',
): string | null {
  return visibility.kind === 'all' ? null : `${identity.username} can see only ${visibility[what]}`;
}

/**
 * Why a list or report is incomplete or outdated, because of the account or a standby, as a sentence without
 * a full stop; null if it is complete and current.
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

import type { Entry } from '../ports/audit-log.ts';

/** What is counted of a run. Planned is what its first entry says. */
export const countNames = [
  'revoked',
  'refreshTokensRevoked',
  'deleted',
  'sessionsEnded',
  'created',
  'settingsChanged',
  'usersChanged',
  'unchanged',
  'failed',
  'notTried',
] as const;

/** How many things of each kind. */
export type RunCounts = Readonly<Record<(typeof countNames)[number], number>>;

/** A count of nothing yet. */
export function noCounts(): Record<(typeof countNames)[number], number> {
  return Object.fromEntries(countNames.map((name) => [name, 0])) as Record<
    (typeof countNames)[number],
    number
  >;
}

/** A setting that was changed. */
export interface ChangedValue {
  readonly name: string;
  readonly before: unknown;
  /** What it is since, where that was read again, or was to be. */
  readonly after: unknown;
}

/** An intent that its run left without an outcome, and what was found out later. */
export interface ClosedLater {
  readonly seq: number;
  readonly at: string;
  readonly actor: Entry['actor'];
  /** How many of what it intended are gone, and how many are there; null where it is not told. */
  readonly gone: number | null;
  readonly alive: number | null;
}

/** What a run did, on whose order, by the entries of the audit log. Of bounded size, however much it did. */
export interface RunAccount {
  readonly run: string;
  readonly operation: string;
  readonly actor: Entry['actor'];
  readonly target: Entry['target'];
  readonly reason: string | null;
  readonly ticket: string | null;
  /** What it was told to act on, where it says so. */
  readonly selection: string | null;
  /** Of its first and its last entry. */
  readonly began: string;
  readonly ended: string;
  readonly first: number;
  readonly last: number;
  readonly state: 'done' | 'partly' | 'refused' | 'interrupted' | 'unfinished' | 'noted';
  readonly counts: RunCounts;
  /** The owners of most tokens that it was about to revoke. */
  readonly owners: readonly { readonly user: string; readonly tokens: number }[];
  /** How many owners there are besides. */
  readonly moreOwners: number;
  readonly changes: readonly ChangedValue[];
  /** Why things failed, the first ones. */
  readonly failures: readonly string[];
  /** What it could not end on this target. */
  readonly staysAlive: readonly { readonly what: string; readonly count: number | null }[];
  /** What it had revoked and found alive when reading again; null where it did not say. */
  readonly stillAlive: number | null;
  readonly closedLater: readonly ClosedLater[];
  /** The numbers of intents without an outcome. */
  readonly open: readonly number[];
}

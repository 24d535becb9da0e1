import type { RefreshTokenState } from '../../domain/token.ts';

/** Which users are meant; criteria that are present must all hold. No criterion means every user. */
export interface UserSelector {
  /** User names, exactly. */
  readonly names?: readonly string[];
  /** Deactivated users only. */
  readonly inactive?: true;
}

/** Which refresh tokens are meant; criteria that are present must all hold. No criterion means every one. */
export interface RefreshTokenSelector {
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly users?: readonly string[];
  /** Application names, exactly. */
  readonly applications?: readonly string[];
  /** One of these states. */
  readonly states?: readonly RefreshTokenState[];
  /** Made before this instant. */
  readonly createdBefore?: Date;
  /** Revoked before this instant. */
  readonly revokedBefore?: Date;
}

/** Which activity is meant; criteria that are present must all hold. No criterion means all. */
export interface ActivitySelector {
  /** Done by one of these users. */
  readonly actorIds?: readonly number[];
  /** About one of these access tokens: by its links, or where it is gone by the id in `changes`. */
  readonly tokenIds?: readonly number[];
  /** At or after this instant. */
  readonly since?: Date;
  /** Before this instant. */
  readonly until?: Date;
}

/** Whose sessions are meant: those of these users, or every one, those without a known user included. */
export type SessionSelector = { readonly userIds: readonly number[] } | { readonly all: true };

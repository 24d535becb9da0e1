/**
 * Which tokens are meant. Every criterion that is present must hold (and); within a criterion with
 * several values one of them must hold (or). A selector without any criterion means nothing at all:
 * meaning every token takes `all: true`, so that an empty set of flags never revokes an estate.
 */
export interface Selector {
  /** Every token of the target. Excludes all other criteria. */
  readonly all?: true;
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly users?: readonly string[];
  /** Application names, exactly. */
  readonly applications?: readonly string[];
  /** Tokens whose scope includes this word. */
  readonly scope?: 'read' | 'write';
  /** Made before this instant. */
  readonly createdBefore?: Date;
  /** Last used before this instant, or never used and made before it. */
  readonly unusedSince?: Date;
  /** Expired at or before this instant. */
  readonly expiredAt?: Date;
}

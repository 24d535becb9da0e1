import type { RuleSetting } from './rule.ts';

/** A rule with a limit in days. */
export interface WithDays extends RuleSetting {
  readonly days: number;
}

/** A rule with a limit in hours. */
export interface WithHours extends RuleSetting {
  readonly hours: number;
}

/** A rule with a number of tokens. */
export interface WithTokens extends RuleSetting {
  readonly tokens: number;
}

/** A rule with a number and a share of tokens; both must be reached. */
export interface WithShare extends WithTokens {
  /** Of the tokens that have not expired. */
  readonly percent: number;
}

/** A rule that knows some users by name, each a name or a pattern; without any it finds nothing. */
export interface WithUsers extends RuleSetting {
  readonly users: readonly string[];
}

/** How much a finding matters, least first. */
export const severities = ['low', 'medium', 'high', 'critical'] as const;

export type Severity = (typeof severities)[number];

/** What every rule can be told. */
interface RuleSetting {
  readonly enabled: boolean;
  readonly severity: Severity;
}

/** A rule with a limit in days. */
interface RuleSettingWithDays extends RuleSetting {
  readonly days: number;
}

/** Which rules tokens are judged by, how severely, and with which limits. */
export interface Policy {
  /** An expired token whose row is still there: it authenticates nothing, and clutters every listing. */
  readonly 'expired-present': RuleSetting;
  /** Valid for longer than `days` from its creation on. */
  readonly 'lifetime-over': RuleSettingWithDays;
  /** Expires more than a hundred years from now: in effect never. */
  readonly 'never-expires': RuleSetting;
  /** May change things, where reading might do. */
  readonly 'write-scope': RuleSetting;
  /** Not used for `days`: used last before that, or never used and older than that. */
  readonly 'unused-for': RuleSettingWithDays;
  /** The owner is deactivated; controllers up to 24.6.1 honour the token nevertheless. */
  readonly 'owner-inactive': RuleSetting;
  /** The owner signs in through an identity provider, whose decisions the token bypasses. */
  readonly 'owner-external': RuleSetting;
}

export type RuleName = keyof Policy;

/** The policy where none is configured. */
export const defaultPolicy: Policy = {
  'expired-present': { enabled: true, severity: 'low' },
  'lifetime-over': { enabled: true, severity: 'medium', days: 366 },
  'never-expires': { enabled: true, severity: 'high' },
  'write-scope': { enabled: true, severity: 'low' },
  'unused-for': { enabled: true, severity: 'medium', days: 90 },
  'owner-inactive': { enabled: true, severity: 'critical' },
  'owner-external': { enabled: true, severity: 'medium' },
};

/** Whether a severity is at or above another. */
export function atLeast(severity: Severity, threshold: Severity): boolean {
  return severities.indexOf(severity) >= severities.indexOf(threshold);
}

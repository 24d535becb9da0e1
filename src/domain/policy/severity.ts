/** How much a finding matters, least first. */
export const severities = ['low', 'medium', 'high', 'critical'] as const;

export type Severity = (typeof severities)[number];

/** Whether a severity is at or above another. */
export function atLeast(severity: Severity, threshold: Severity): boolean {
  return severities.indexOf(severity) >= severities.indexOf(threshold);
}

/** A count of nothing yet for each severity. */
export function noneBySeverity(): Record<Severity, number> {
  return { low: 0, medium: 0, high: 0, critical: 0 };
}

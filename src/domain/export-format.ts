/** What entries of the audit log can be exported as. */
export const exportFormats = ['ocsf', 'ecs', 'cef', 'syslog', 'jsonl'] as const;

/** The name of a format. */
export type ExportFormat = (typeof exportFormats)[number];

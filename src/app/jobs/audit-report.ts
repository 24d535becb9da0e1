import { extname } from 'node:path';
import { TokenctlError } from '../../domain/errors.ts';
import type { TargetDescription } from '../../operations/ports/target-description.ts';
import type { Audit } from '../../operations/token-audit/audit-tokens.ts';
import { csvReport } from '../../reports/audit-result.ts';
import { writeReport } from '../../reports/report-file.ts';

/** What is written, and where. */
export interface AuditReportOptions {
  /** Its ending says in which format: .html, .sarif, .json or .csv. */
  readonly path: string;
  readonly audit: Audit;
  readonly description: TargetDescription;
  /** The program's version. */
  readonly version: string;
}

/**
 * Writes an audit as `tokens audit --output` does, reading it to its end.
 *
 * @throws TokenctlError `configuration` for an ending that names no format, or a file that cannot be
 * written; and whatever the audit throws.
 */
export async function writeAuditReport(options: AuditReportOptions): Promise<void> {
  await writeReport(options.path, await chunksOf(options));
}

async function chunksOf({ path, audit, ...context }: AuditReportOptions): Promise<AsyncIterable<string>> {
  const format = extname(path);
  if (format === '.html') return (await import('../../reports/html-report.ts')).htmlReport(audit, context);
  if (format === '.sarif') return (await import('../../reports/sarif-report.ts')).sarifReport(audit, context);
  if (format === '.json') return (await import('../../reports/json-report.ts')).jsonReport(audit);
  if (format === '.csv') return csvReport(audit);
  throw new TokenctlError('configuration', `The report ${path} has no format: its name ends in "${format}"`, {
    hint: 'Let it end in .html, .sarif, .json or .csv.',
  });
}

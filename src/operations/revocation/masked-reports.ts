import { at, type Fields, fieldsOf, finding, type ScannerFinding } from './scanner-findings.ts';

/** A finding with everything the report says about it. */
export interface ReportedFinding {
  readonly finding: ScannerFinding;
  readonly fields: unknown;
}

/**
 * Reads a whole report of scanners that mask or hash findings by default: Trivy, Semgrep, detect-secrets,
 * ggshield, Checkov and GitLab's secret detection.
 * @returns Null for anything else.
 */
export function readMaskedReport(value: unknown): readonly ReportedFinding[] | null {
  const report = fieldsOf(value);
  if (report === null) return null;
  for (const read of [trivy, semgrep, detectSecrets, ggshield, checkov, gitlab]) {
    const found = read(report);
    if (found !== null) return found;
  }
  return null;
}

/** `trivy fs --scanners secret --format json`: `Match` and `Code` have asterisks. */
function trivy(report: Fields): readonly ReportedFinding[] | null {
  if (!('SchemaVersion' in report && 'ArtifactName' in report)) return null;
  return list(report['Results']).flatMap((result) =>
    list(result['Secrets']).map((fields) => ({
      fields,
      finding: finding(
        'trivy',
        [fields['Match'], ...list(at(fields, 'Code', 'Lines')).map(({ Content }) => Content)],
        { file: result['Target'], line: fields['StartLine'] },
      ),
    })),
  );
}

/** `semgrep --json`: without a login, `extra.lines` is "requires login". */
function semgrep(report: Fields): readonly ReportedFinding[] | null {
  const results = list(report['results']);
  const isReport = Array.isArray(report['results']) && 'errors' in report;
  if (!isReport || !results.every((each) => 'check_id' in each)) return null;
  return results.map((fields) => ({
    fields,
    finding: finding('semgrep', [at(fields, 'extra', 'lines')], {
      file: fields['path'],
      line: at(fields, 'start', 'line'),
    }),
  }));
}

/** A baseline of detect-secrets has SHA-1 hashes only. */
function detectSecrets(report: Fields): readonly ReportedFinding[] | null {
  const results = fieldsOf(report['results']);
  if (results === null || !('plugins_used' in report)) return null;
  return Object.entries(results).flatMap(([file, found]) =>
    list(found).map((fields) => ({
      fields,
      finding: finding('detect-secrets', [fields['secret_value']], { file, line: fields['line_number'] }),
    })),
  );
}

/** `ggshield secret scan --json`: `match` has asterisks. Scans hold scans. */
function ggshield(report: Fields): readonly ReportedFinding[] | null {
  const inner = [...list(report['scans']), ...list(report['entities_with_incidents'])];
  if (inner.length === 0 && !('total_incidents' in report)) return null;
  return inner.flatMap((scan) => [
    ...(ggshield(scan) ?? []),
    ...list(scan['incidents']).flatMap((incident) =>
      list(incident['occurrences']).map((fields) => ({
        fields,
        finding: finding('ggshield', [fields['match']], {
          file: scan['filename'],
          line: fields['line_start'] ?? fields['pre_line_start'],
        }),
      })),
    ),
  ]);
}

/** `checkov -o json --framework secrets`: the lines of `code_block` have asterisks. */
function checkov(report: Fields): readonly ReportedFinding[] | null {
  if (report['check_type'] !== 'secrets') return null;
  return list(at(report, 'results', 'failed_checks')).map((fields) => ({
    fields,
    finding: finding('checkov', Array.isArray(fields['code_block']) ? fields['code_block'].flat() : [], {
      file: fields['file_path'],
      line: Array.isArray(fields['file_line_range']) ? fields['file_line_range'][0] : null,
    }),
  }));
}

/** `gl-secret-detection-report.json`: newer versions omit the extract. */
function gitlab(report: Fields): readonly ReportedFinding[] | null {
  if (!Array.isArray(report['vulnerabilities']) || at(report, 'scan', 'type') !== 'secret_detection')
    return null;
  return list(report['vulnerabilities']).map((fields) => ({
    fields,
    finding: finding('gitlab', [fields['raw_source_code_extract']], {
      file: at(fields, 'location', 'file'),
      line: at(fields, 'location', 'start_line'),
      commit: at(fields, 'location', 'commit', 'sha'),
    }),
  }));
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf).filter((each) => each !== null) : [];
}

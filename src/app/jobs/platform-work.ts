import { TokenctlError } from '../../domain/errors.ts';
import { noneBySeverity, type Severity, severities } from '../../domain/policy/severity.ts';
import type { JobReport } from '../../operations/jobs/job.ts';
import type { Component } from '../open-target.ts';
import type { Runtime } from '../runtime.ts';

/** A run of a job in one place of its context. */
type PartWork = (place: Runtime, component: Component | null) => Promise<JobReport>;

/** What a run came to in one component of a platform. */
interface Part {
  readonly component: Component;
  readonly report?: JobReport;
  readonly error?: unknown;
}

/**
 * Does a job's work in its context; on a platform whose gateway and controller both keep tokens, in one after the
 * other, so that a sweep leaves neither out.
 *
 * @param context The context's name.
 * @throws TokenctlError what the work throws; on a platform once both were tried.
 */
export async function inEachComponent(runtime: Runtime, context: string, work: PartWork): Promise<JobReport> {
  const components = await runtime.components();
  if (components.length < 2) return await work(runtime, null);
  const parts: Part[] = [];
  for (const component of components) {
    const label = `${context}/${component}`;
    const place = runtime.in({ component, label, progress: runtime.progress });
    try {
      parts.push({ component, report: await work(place, component) });
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      parts.push({ component, error });
    }
  }
  return joined(parts);
}

function joined(parts: readonly Part[]): JobReport {
  const errors = parts.flatMap(({ error }) => (error instanceof TokenctlError ? [error] : []));
  const reports = parts.flatMap(({ report }) => report ?? []);
  const message = parts.map(textOf).join('; ');
  const summary = Object.fromEntries(
    parts.map(({ component, report, error }) => [
      component,
      report?.summary ?? { failed: error instanceof TokenctlError ? error.code : 'bug' },
    ]),
  );
  const [first] = errors;
  if (first !== undefined) {
    const same = errors.length === parts.length && errors.every(({ code }) => code === first.code);
    throw new TokenctlError(same ? first.code : 'partly_done', message, {
      ...(first.hint !== undefined && { hint: first.hint }),
      details: summary,
      cause: first,
    });
  }
  const findings = reports.flatMap((report) => report.findings ?? []);
  return {
    message,
    summary,
    interrupted: reports.some(({ interrupted }) => interrupted === true),
    revoked: reports.reduce((sum, { revoked = 0 }) => sum + revoked, 0),
    ...(findings.length > 0 && { findings: sumOf(findings) }),
    notices: reports.flatMap(({ notices = [] }) => notices),
  };
}

function textOf({ component, report, error }: Part): string {
  return `${component}: ${report?.message ?? (error instanceof TokenctlError ? error.message : 'it failed')}`;
}

function sumOf(findings: readonly Readonly<Record<Severity, number>>[]): Record<Severity, number> {
  const sum = noneBySeverity();
  for (const each of findings) for (const severity of severities) sum[severity] += each[severity];
  return sum;
}

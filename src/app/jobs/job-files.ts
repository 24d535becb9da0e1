import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { replaceFile } from '../../config/paths.ts';
import type { Audit } from '../../domain/policy/judge.ts';
import type { JobFiles, NameSource } from '../../operations/jobs/job.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { csvReport } from '../../reports/audit/csv-report.ts';
import { baselineHeading, readBaseline, writeReport } from '../../reports/report-file.ts';

/** How long a program may run to print names, and how much it may print. */
const COMMAND_TIMEOUT_MS = 300_000;
const MAX_COMMAND_OUTPUT_BYTES = 64 * 1024 * 1024;

export function jobFiles(options: {
  /** The environment of started programs. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}): JobFiles {
  return {
    async names(source, signal) {
      return namesIn(
        'file' in source ? await mustRead(source.file) : await printed(source, { ...options, signal }),
      );
    },
    read: (path) => readFile(path, 'utf8').catch((error: unknown) => absent(path, error)),
    replace: async (path, text) => replaceFile(path, text),
    baseline: async (path) => (existsSync(path) ? await readBaseline(path) : null),
    async writeBaseline(path, keys, now) {
      replaceFile(path, `${baselineHeading(now)}${keys.map((key) => `${key}\n`).join('')}`);
    },
    writeReport: (path, audit, description) =>
      writeAuditReport({ path, audit, description, version: options.version }),
  };
}

function namesIn(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

async function mustRead(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => absent(path, error));
  if (text !== null) return text;
  throw new TokenctlError('configuration', `The file ${path} does not exist`);
}

function absent(path: string, cause: unknown): null {
  const code = codeOf(cause) ?? 'unknown error';
  if (code === 'ENOENT') return null;
  throw new TokenctlError('configuration', `The file ${path} cannot be read (${code})`, { cause });
}

function printed(
  { command }: Extract<NameSource, { readonly command: readonly string[] }>,
  options: { environment: Readonly<Record<string, string | undefined>>; signal: AbortSignal },
): Promise<string> {
  const [program = '', ...args] = command;
  const { environment, signal } = options;
  const limits = { signal, timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_COMMAND_OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...limits, env: { ...environment }, encoding: 'utf8' }, (error, output) => {
      if (error === null) resolve(output);
      else if (signal.aborted) reject(new TokenctlError('interrupted', `${program} was stopped`));
      else reject(commandFailed(program, error));
    });
  });
}

/** The program's stderr is omitted, because it may contain secrets. */
function commandFailed(program: string, cause: Error & { readonly code?: unknown }): TokenctlError {
  const why =
    typeof cause.code === 'number'
      ? `ended with ${cause.code}`
      : `failed (${String(cause.code ?? 'killed')})`;
  return new TokenctlError('configuration', `The program ${program} ${why}`, {
    hint: "Run it manually, as the scheduler's user and in its environment.",
    cause,
  });
}

interface AuditReportOptions {
  /** Its extension determines the format: .html, .sarif, .json or .csv. */
  readonly path: string;
  readonly audit: Audit;
  readonly description: TargetDescription;
  readonly version: string;
}

/** Writes an audit as `tokens audit --output`. Throws `configuration` for a bad extension or file, and as the audit. */
async function writeAuditReport(options: AuditReportOptions): Promise<void> {
  await writeReport(options.path, await chunksOf(options));
}

async function chunksOf({ path, audit, ...context }: AuditReportOptions): Promise<AsyncIterable<string>> {
  const format = extname(path);
  if (format === '.html')
    return (await import('../../reports/audit/html-report.ts')).htmlReport(audit, context);
  if (format === '.sarif')
    return (await import('../../reports/audit/sarif-report.ts')).sarifReport(audit, context);
  if (format === '.json')
    return (await import('../../reports/audit/json-report.ts')).jsonReport(audit, context.description);
  if (format === '.csv') return csvReport(audit, context.description);
  throw new TokenctlError(
    'configuration',
    `The report ${path} has an unknown format: its name ends in "${format}"`,
    { hint: 'Use a name that ends in .html, .sarif, .json or .csv.' },
  );
}

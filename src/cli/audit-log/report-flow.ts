import { TokenctlError } from '@tokenctl/common/errors.ts';
import { auditLogPlace } from '../../app/open-audit-log.ts';
import type { Runtime } from '../../app/runtime.ts';
import { type LogReport, reportLog } from '../../operations/audit-log/report-log.ts';
import { requireIntact } from '../../operations/audit-log/verify-log.ts';
import type { RunAccount } from '../../operations/journal/run-account.ts';
import { lines } from '../../reports/document.ts';
import { htmlDocument, markdownDocument } from '../../reports/document-formats.ts';
import { type ReportFrame, reportBlocks } from '../../reports/log-report.ts';
import { requireNewOrReplaced, writeReport } from '../../reports/report-file.ts';
import { type Result, report } from '../../reports/result.ts';
import { IncompleteListing } from '../../reports/tables/listing.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import { instantOf } from '../flags/times.ts';
import type { ReportFlags } from './log-flags.ts';

/** What `log report` prints with `--json`: the report, or what was written with `--output`. */
export type LogReportJson = PrintedReportJson | WrittenReportJson;

interface PrintedReportJson {
  readonly since: Date | null;
  readonly until: Date | null;
  readonly verification: LogReport['verification'];
  readonly totals: LogReport['totals'];
  readonly runs: readonly RunAccount[];
}

interface WrittenReportJson {
  readonly output: string;
  readonly runs: number;
  readonly entries: number;
}

export interface ReportRequest {
  readonly runtime: Runtime;
  readonly flags: ReportFlags;
  readonly json: boolean;
  readonly version: string;
}

/**
 * Reports the changes of a period, as a document that is streamed while the log is read. Throws `usage` for a
 * period that ends before it starts or a file that exists, and as `reportLog`.
 */
export async function reportFlow(request: ReportRequest): Promise<Result<LogReportJson>> {
  const { runtime, flags, json, version } = request;
  if (flags.output !== undefined) requireNewOrReplaced(flags.output, flags.replace === true);
  const now = runtime.clock.now();
  const since = flags.since && instantOf(flags.since, now);
  const until = flags.until && instantOf(flags.until, now);
  if (since !== undefined && until !== undefined && since >= until) {
    throw new TokenctlError('usage', '--until must be after --since');
  }
  const place = auditLogPlace(runtime.configuration);
  const made = await reportLog({ log: await runtime.auditLog(), since, until });
  const frame = { since, until, made: now, version, place };
  const document = json ? jsonOf(made, frame) : documentOf(made, frame, flags.format);
  const makes = json ? 'json' : 'text';
  if (flags.output === undefined)
    return { kind: 'streamed', makes, chunks: () => document, failure: () => brokenLog(made) };
  await writeReport(flags.output, document);
  const { runs, entries } = made.totals;
  const counted = `${countText(runs, 'run')} with ${countText(entries, 'entry', 'entries')}`;
  return report({
    json: { output: flags.output, runs, entries },
    document: [lines(`Wrote the report on ${counted} to ${flags.output}.`)],
    failure: brokenLog(made),
  });
}

function documentOf(made: LogReport, frame: ReportFrame, format: ReportFlags['format'] = 'markdown') {
  const blocks = reportBlocks(made, frame);
  return format === 'html'
    ? htmlDocument(blocks, `Audit log, ${frame.made.toISOString().slice(0, 10)}`)
    : markdownDocument(blocks);
}

/** One JSON object, with one run per line. */
async function* jsonOf(made: LogReport, { since, until }: ReportFrame): AsyncIterable<string> {
  const { verification, totals } = made;
  const head = JSON.stringify({ since: since ?? null, until: until ?? null, verification, totals });
  yield printable.lines(`${head.slice(0, -1)},"runs":[`);
  let separator = '\n';
  try {
    for await (const account of made.runs()) {
      yield separator + printable.lines(JSON.stringify(account));
      separator = ',\n';
    }
  } catch (error) {
    throw new IncompleteListing(error);
  }
  yield '\n]}\n';
}

/** The error for a broken log, which the report shows as well; undefined for an intact one. */
function brokenLog({ verification, failure }: LogReport): TokenctlError | undefined {
  try {
    requireIntact(verification);
    return failure() ?? undefined;
  } catch (error) {
    if (error instanceof TokenctlError) return error;
    throw error;
  }
}

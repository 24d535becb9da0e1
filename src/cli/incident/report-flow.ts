import { TokenctlError } from '@tokenctl/common/errors.ts';
import { auditLogPlace } from '../../app/open-audit-log.ts';
import type { Runtime } from '../../app/runtime.ts';
import {
  type Investigation,
  type InvestigationItem,
  isStillThere,
} from '../../domain/investigation/investigation.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import { makeCheckpoint } from '../../operations/audit-log/checkpoints.ts';
import {
  gatherReport,
  type IncidentReport,
  type LogEvidence,
  type UsersNow,
} from '../../operations/incident/gather-report.ts';
import type { OwnWork, TheftBegan } from '../../operations/incident/own-work.ts';
import type { HandedOver, ItemMark } from '../../operations/journal/marked-items.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { htmlDocument, markdownDocument } from '../../reports/document-formats.ts';
import { chainPicture } from '../../reports/incident/chain-picture.ts';
import { incidentParts } from '../../reports/incident/incident-report.ts';
import { chainOf, openIn } from '../../reports/incident/what-remains.ts';
import { requireNewOrReplaced, writeReport } from '../../reports/report-file.ts';
import { type Report, report } from '../../reports/result.ts';
import type { FlagsOf } from '../flags/flags.ts';
import { instantOf } from '../flags/times.ts';
import { readInvestigationFile } from '../investigation/investigation-file.ts';
import type { incidentReportFlags } from './incident-flags.ts';

/** What `incident report` prints with `--json`. */
export interface IncidentReportJson
  extends Pick<
    IncidentReport,
    'incident' | 'address' | 'runs' | 'lockdown' | 'cleaned' | 'undone' | 'evidence'
  > {
  readonly madeAt: Date;
  readonly investigations: readonly (Pick<Investigation, 'madeAt' | 'since' | 'until'> & {
    readonly items: number;
    /** Number of items that remained when it was saved. */
    readonly remaining: number;
  })[];
  /** Items that remained by the last investigations, unless resolved or reassigned since; or null. */
  readonly remaining: readonly InvestigationItem[] | null;
  /** Items that people marked as resolved manually, unverified. */
  readonly byHand: readonly ItemMark[];
  /** Items that people reassigned to others. */
  readonly handedOver: readonly HandedOver[];
  /** When the theft began: as requested, from the stolen token, or as confirmed for a cleaning; else null. */
  readonly began: TheftBegan | null;
  /** The owner's own work, and why it counts as that; not included in `remaining`. */
  readonly own: readonly (Pick<OwnWork, 'why'> &
    Pick<InvestigationItem, 'id' | 'summary' | 'first' | 'last' | 'state'> & {
      /** Who marked it as legitimate; null for earlier work. */
      readonly markedBy: string | null;
      readonly markedAt: string | null;
    })[];
}

export interface IncidentReportRequest {
  readonly runtime: Runtime;
  readonly incident: string;
  readonly flags: FlagsOf<typeof incidentReportFlags>;
  readonly version: string;
  /** The controller; default: the target is asked. */
  readonly controller?: Pick<TargetDescription, 'address' | 'installUuid' | 'sessionCache'>;
  /** The current state of its users, if it was read. */
  readonly usersNow?: UsersNow | undefined;
}

/**
 * Reports an incident from the audit log and saved investigations. Reads only the controller's identity from
 * the target.
 * @throws TokenctlError `usage` for a picture without an investigation or a file that exists, `configuration`
 * for a file that is not an investigation or is from another controller, and as `gatherReport`.
 */
export async function incidentReportFlow(
  request: IncidentReportRequest,
): Promise<Report<IncidentReportJson>> {
  const { runtime, version } = request;
  const { from = [], format = 'markdown', output, replace = false, since } = request.flags;
  if (output !== undefined) requireNewOrReplaced(output, replace);
  const saved = from.map((path) => ({ path, investigation: readInvestigationFile(path) }));
  const description = request.controller ?? (await runtime.description());
  for (const { path, investigation } of saved) requireSameController(path, investigation, description);
  const investigations = saved.map(({ investigation }) => investigation);
  const log = await runtime.auditLog();
  const record = await gatherReport({
    log,
    description,
    investigations,
    incident: request.incident,
    since: since && instantOf(since, (await runtime.targetClock()).now()),
    now: runtime.clock.now(),
    checkpoint: () => checkpointOf(runtime),
  });
  const gathered: IncidentReport = { ...record, usersNow: request.usersNow };
  const place = auditLogPlace(runtime.configuration);
  const document = documentOf(gathered, { format, place, version });
  if (output !== undefined) await writeReport(output, document());
  return report({
    json: jsonOf(gathered),
    text: async () =>
      output === undefined
        ? (await Array.fromAsync(document())).join('')
        : `Wrote the report on ${gathered.incident.id} to ${output}.\n`,
    verbatim: output === undefined,
    failure: sessionsRecorded(gathered) ? unreadSessions(description) : undefined,
  });
}

function sessionsRecorded({ lockdown, investigations }: IncidentReport): boolean {
  return investigations.length > 0 || lockdown?.accessPaths.some(({ path }) => path === 'sessions') === true;
}

function requireSameController(
  path: string,
  { target }: Investigation,
  { address, installUuid }: { address: string; installUuid: string | null },
): void {
  const isSame = target.address === address || (installUuid !== null && target.installUuid === installUuid);
  if (isSame) return;
  throw new TokenctlError(
    'configuration',
    `${path} is an investigation at ${target.address}, not at ${address}`,
    { hint: 'Name the context of that controller with --context.' },
  );
}

/** Null for a log without a key: the report then has only the log's head. */
async function checkpointOf(runtime: Runtime): Promise<LogEvidence['checkpoint']> {
  const keys = await runtime.logKeys();
  const log = await runtime.auditLog();
  try {
    const { note } = await makeCheckpoint({ log, keys });
    return { note, verifiers: await keys.verifiers() };
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'configuration') return null;
    throw error;
  }
}

function documentOf(
  gathered: IncidentReport,
  options: { format: IncidentReportRequest['flags']['format']; place: string; version: string },
): () => AsyncIterable<string> {
  const { format, place, version } = options;
  if (format === 'svg') {
    const { found } = gathered;
    if (found === null) {
      throw new TokenctlError('usage', 'The picture requires an investigation', {
        hint: 'Create one with `tokenctl incident investigate --out FILE`, and add --from FILE.',
      });
    }
    return () => once(`${chainPicture(chainOf(gathered, found), { standalone: true })}\n`);
  }
  const parts = () => incidentParts(gathered, { log: place, version });
  return format === 'html'
    ? () => htmlDocument(parts(), `Incident ${gathered.incident.id}`)
    : () => markdownDocument(parts());
}

function jsonOf({ investigations, madeAt, usersNow: _users, ...gathered }: IncidentReport) {
  const { incident, address, runs, lockdown, cleaned, undone, evidence, own, began, marks } = gathered;
  return {
    incident,
    address,
    madeAt,
    runs,
    lockdown,
    cleaned,
    undone,
    investigations: investigations.map(({ madeAt: at, since, until, items }) => ({
      madeAt: at,
      since,
      until,
      items: items.length,
      remaining: items.filter(isStillThere).length,
    })),
    remaining: gathered.found && openIn(gathered.found, gathered),
    byHand: [...marks.byHand.values()],
    handedOver: [...marks.handedOver.values()],
    began,
    own: own.map(({ why, mark, item: { id, summary, first, last, state } }) => ({
      ...{ id, summary, first, last, state, why },
      markedBy: mark?.by ?? null,
      markedAt: mark?.at ?? null,
    })),
    evidence,
  };
}

async function* once(text: string): AsyncIterable<string> {
  yield text;
}

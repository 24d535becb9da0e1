import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { type Investigation, isOtherChangeLeft } from '../../domain/investigation/investigation.ts';
import { shellWord } from '../../domain/remedies.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import { caseItems, isOpen, type KnownItems, NOTHING_KNOWN } from '../../operations/incident/case-items.ts';
import { gatherRecord, provenActs } from '../../operations/incident/gather-report.ts';
import { investigate } from '../../operations/investigation/investigate.ts';
import type { SubjectRequest } from '../../operations/investigation/resolve-subject.ts';
import { readIncidentHistories, requireIncident } from '../../operations/journal/recorded-incidents.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import type { FlagsOf } from '../flags/flags.ts';
import { instantOf } from '../flags/times.ts';
import { requireNewFile, writeInvestigationFile } from './investigation-file.ts';
import type { investigateFlags } from './investigation-flags.ts';
import { investigationDocument } from './investigation-text.ts';

export interface InvestigateRequest {
  readonly runtime: Runtime;
  readonly flags: FlagsOf<typeof investigateFlags>;
}

/** Investigates, saves the result if asked to, and shows it. Throws `usage`, `not_found`. */
export async function investigateFlow(request: InvestigateRequest): Promise<Report<Investigation>> {
  const { runtime, flags } = request;
  const { since, until, out, all = false } = flags;
  if (out !== undefined) requireNewFile(out);
  const read = await runtime.readTarget();
  const now = read.clock.now();
  const subject = await subjectOf(request);
  const evidence = await runtime.evidence();
  try {
    const investigation = await investigate({
      ...read,
      evidence,
      ...subject,
      since: since && instantOf(since, now),
      until: until && instantOf(until, now),
    });
    if (out !== undefined) writeInvestigationFile(out, investigation);
    const known = await knownOf(runtime, investigation);
    return report({
      json: investigation,
      failure: unreadSessions(read.description),
      document: () => [
        ...investigationDocument(investigation, { all, known }),
        lines(out !== undefined && [`Saved to ${out}.`, nextText(investigation, { out, known })]),
      ],
    });
  } finally {
    await evidence.close();
  }
}

/** The audit log's data about its incident; without one, only which entries are tokenctl's own work. */
async function knownOf(runtime: Runtime, investigation: Investigation): Promise<KnownItems> {
  const { incident } = investigation;
  if (incident !== null) {
    const [log, description] = [await runtime.auditLog(), await runtime.description()];
    return await gatherRecord({ log, description, incident, investigations: [], shown: investigation });
  }
  return await ownWorkIn(runtime, investigation);
}

/**
 * Which entries of an investigation without an incident are tokenctl's own work, from the audit log. None if
 * the log cannot be read: an investigation needs only the controller.
 */
export async function ownWorkIn(
  runtime: Pick<Runtime, 'auditLog'>,
  investigation: Investigation,
): Promise<KnownItems> {
  try {
    const [log, description] = [await runtime.auditLog(), investigation.target];
    const investigations = [investigation];
    const acts = await provenActs({ log, description, investigations, verify: () => log.verify() });
    return { ...NOTHING_KNOWN, provenActs: acts };
  } catch (error) {
    if (error instanceof TokenctlError && LOG_ERRORS.has(error.code)) return NOTHING_KNOWN;
    throw error;
  }
}

const LOG_ERRORS: ReadonlySet<string> = new Set(['audit_unavailable', 'log_broken']);

/** The next command, if something remains that no one decided about. */
function nextText(investigation: Investigation, { out, known }: { out: string; known: KnownItems }) {
  const { target } = investigation;
  const isLeft = caseItems(investigation, known).some(
    (each) => isOpen(each) && !isOtherChangeLeft(each.item),
  );
  const command = `tokenctl incident clean --context ${shellWord(target.context)} --from ${shellWord(out)} --dry-run`;
  return isLeft && { text: 'To see what a cleanup would do:', commands: [command] };
}

/** The subject: from the flags, or the single user or application of the incident. */
async function subjectOf(request: InvestigateRequest) {
  const { runtime, flags } = request;
  const { user, token, application, incident } = flags;
  const given = { user, token, application };
  return incident === undefined
    ? { ...given, incident: null }
    : await subjectOfIncident(runtime, incident, given);
}

/** The user or application of an incident, unless given. Throws `not_found`, `usage` for several users. */
export async function subjectOfIncident(
  runtime: Runtime,
  id: string,
  given: Readonly<Record<string, string | number | undefined>> = {},
): Promise<SubjectRequest & { readonly incident: string }> {
  const incident = await incidentOf(runtime, id);
  const { scope } = incident;
  const [name, ...others] = scope.kind === 'users' || scope.kind === 'applications' ? scope.names : [];
  if (Object.values(given).some((each) => each !== undefined)) {
    const isOfOne = scope.kind === 'users' && others.length === 0;
    return { ...given, ...(isOfOne && { owner: name }), incident: incident.id };
  }
  if (name !== undefined && others.length === 0) {
    return { ...(scope.kind === 'users' ? { user: name } : { application: name }), incident: incident.id };
  }
  throw new TokenctlError('usage', `${incident.id} is not about a single user or application`, {
    hint: 'Add --user NAME, --token NUMBER or --application NAME.',
  });
}

/** An incident of the controller of the current context. Throws `not_found`. */
export async function incidentOf(runtime: Runtime, id: string): Promise<Incident> {
  const histories = await readIncidentHistories(await runtime.auditLog());
  return requireIncident(histories.ofController(await runtime.description()), id).incident;
}

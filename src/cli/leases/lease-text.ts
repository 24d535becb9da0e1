import type { Runtime } from '../../app/runtime.ts';
import { isLeaseDue, type Lease } from '../../domain/leases.ts';
import { shellWord } from '../../domain/remedies.ts';
import { isSameController } from '../../operations/journal/journal.ts';
import { knownLeases } from '../../operations/journal/recorded-leases.ts';
import { timeText } from '../../reports/tables/text.ts';
import { writeNotice } from '../output/streams.ts';

/** Until when a token is valid by its lease, and for the controller itself. */
interface LeaseEnd {
  readonly context: string;
  readonly until: Date;
  readonly expires: Date;
}

/** Whether a job ends leases of a context, as a sentence; and as a boolean, as far as known. */
export async function endingJobText(
  runtime: Runtime,
  { context, until }: Pick<LeaseEnd, 'context' | 'until'>,
): Promise<{ readonly text: string; readonly ends: boolean }> {
  const by = `To revoke tokens with expired leases: ${endDueCommand(context)}`;
  const invalid = runtime.configuration.invalid.get('jobs');
  if (invalid !== undefined)
    return { text: `Whether a job revokes it is not known: ${invalid.message}. ${by}`, ends: false };
  const { endingJobOf } = await import('../../app/jobs/ending-job.ts');
  const { schedulerWarning } = await import('../../app/jobs/inspect.ts');
  const job = endingJobOf(runtime.configuration, { kind: 'lease-end', context, until });
  if (job === null) return { text: `No job ends the leases of the context ${context}. ${by}`, ends: false };
  if (job.dryRun)
    return { text: `The job ${job.name} is a dry run and does not revoke tokens. ${by}`, ends: false };
  const warning = await schedulerWarning(runtime);
  if (warning !== null)
    return {
      text: `The job ${job.name} would end it. ${warning}. Or: ${endDueCommand(context)}`,
      ends: false,
    };
  return {
    text: `The job ${job.name} revokes it at ${timeText(job.at)}: a scheduler is running.`,
    ends: true,
  };
}

/** When a token with a lease ends, what ends it then, and what happens without that. */
export async function leaseEndText(runtime: Runtime, end: LeaseEnd): Promise<readonly string[]> {
  const { text } = await endingJobText(runtime, end);
  if (end.expires <= end.until)
    return [`Ends at ${timeText(end.until)}: the controller itself accepts it until then.`, text];
  return [
    `Ends at ${timeText(end.until)} by a lease. The controller itself accepts it until ${timeText(end.expires)}.`,
    text,
  ];
}

/** Due leases, and the command that ends them, one line per context. */
function dueLeaseTexts(due: readonly Lease[]): readonly string[] {
  return [...Map.groupBy(due, ({ target }) => target['context'] ?? '')].map(
    ([context, leases]) =>
      `Expired leases whose tokens were not revoked: ${leases.map(tokenText).join(', ')} (context ${context}). Run: ${endDueCommand(context)}`,
  );
}

function tokenText({ id, token }: Lease): string {
  return token === null ? id : `token ${token.id}`;
}

/** The open leases of the log. Warns on stderr about due ones, and if the log cannot be read. */
export async function tellOfDueLeases(runtime: Runtime): Promise<readonly Lease[]> {
  const { file, database } = runtime.configuration.auditLog;
  // Without a configured log there are no leases.
  if (file === undefined && database === undefined) return [];
  const { open, why } = await knownLeases(() => runtime.auditLog());
  if (why !== null) writeNotice(`Leases are not shown: ${why}`);
  const now = open.length === 0 ? runtime.clock.now() : (await runtime.targetClock()).now();
  for (const line of dueLeaseTexts(open.filter((lease) => isLeaseDue(lease, now)))) writeNotice(line);
  return open;
}

export function endDueCommand(context: string): string {
  return `tokenctl tokens leases --due --context ${shellWord(context)}`;
}

/** The open leases of a controller, as `context check` shows them. */
export interface OpenLeases {
  /** Null if the audit log cannot be read. */
  readonly open: number | null;
  readonly overdue: number;
  /** Whether a job will end them, as far as known; null if there are none. */
  readonly ends: boolean | null;
  /** The same in words. */
  readonly text: string;
}

/** The state of a controller's leases, and whether a job will end them. */
export async function openLeases(runtime: Runtime): Promise<OpenLeases> {
  const { open: all, why } = await knownLeases(() => runtime.auditLog());
  if (why !== null) return { open: null, overdue: 0, ends: null, text: `not read: ${why}` };
  const description = await runtime.description();
  const leases = all.filter(({ target }) => isSameController(target, description));
  const now = (await runtime.targetClock()).now();
  const due = leases.filter((lease) => isLeaseDue(lease, now));
  const [next] = leases.toSorted((one, other) => Date.parse(one.until) - Date.parse(other.until));
  if (next === undefined) return { open: 0, overdue: 0, ends: null, text: 'none open' };
  const context = next.target['context'] ?? description.context;
  const { text, ends } = await endingJobText(runtime, { context, until: new Date(next.until) });
  const overdue = due.length === 0 ? '' : `, ${due.length} of them expired`;
  return { open: leases.length, overdue: due.length, ends, text: `${leases.length} open${overdue}. ${text}` };
}

import type { Investigation } from '../../domain/investigation/investigation.ts';
import { numberSince } from '../audit-log/list-log.ts';
import { isSameController } from '../journal/journal.ts';
import { type OwnAct, OwnActs, ownActOf } from '../journal/own-acts.ts';
import type { AuditLog, LogVerification } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';

/**
 * Actions of tokenctl runs on a controller, of any incident, for which investigations have entries without an
 * actor: the same action on the same object at that time. Empty if the log's chain is broken: an attacker who
 * can write to it could add their own actions. Reads the log only if there are such entries.
 * @throws TokenctlError `log_broken` at a line that is no entry, `audit_unavailable`.
 */
export async function provenActs({
  log,
  description,
  investigations,
  verify,
}: {
  readonly log: AuditLog;
  readonly description: Pick<TargetDescription, 'address' | 'installUuid'>;
  readonly investigations: readonly Pick<Investigation, 'unattributed'>[];
  readonly verify: () => Promise<Pick<LogVerification, 'break'>>;
}): Promise<readonly OwnAct[]> {
  const entries = investigations.flatMap(({ unattributed }) => unattributed);
  if (entries.length === 0) return [];
  const nameOf = ({ kind, id }: { kind: string; id: number | null }) => `${kind}:${id}`;
  const objects = new Set(entries.map(({ object }) => nameOf(object)));
  const own = new OwnActs((object) => objects.has(nameOf(object)));
  const first = new Date(Math.min(...entries.map(({ at }) => Date.parse(at))));
  for await (const entry of log.entries(await numberSince(log, first))) {
    if (isSameController(entry.target, description)) own.add(entry);
  }
  const found = own.all.filter((act) => entries.some((entry) => ownActOf(entry, [act]) !== null));
  return found.length === 0 || (await verify()).break !== null ? [] : found;
}

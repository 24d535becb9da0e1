import { type InvestigationItem, isStillThere } from '../../domain/investigation/investigation.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { CLOCKS_MS } from '../../operations/journal/own-acts.ts';
import { countText, secondText } from '../tables/text.ts';

const KINDS: ReadonlySet<string> = new Set(['user', 'o_auth2_access_token', 'o_auth2_application']);

/** A user, token or application that the accounts created, and when a run ended it. */
interface MadeAccess {
  readonly item: InvestigationItem;
  /** RFC 3339, with the run in the audit log; null if no run ended it. */
  readonly ended: { readonly at: string; readonly run: string } | null;
}

/** The users, tokens and applications that the accounts created. Locking others down need not end them. */
export function madeAccess({
  found,
  ownActs,
}: Pick<IncidentReport, 'found' | 'ownActs'>): readonly MadeAccess[] {
  if (found === null) return [];
  const { items, madeAt, stolen } = found;
  const made = items.filter(
    ({ id, act, object }) => act === 'made' && KINDS.has(object.kind) && !stolen.has(id),
  );
  return made.map((item) => {
    const { kind, id } = item.object;
    const last = ownActs.findLast(
      (act) => act.kind === kind && act.id === id && (act.operation === 'delete' || act.active !== undefined),
    );
    if (last === undefined || last.active === true) return { item, ended: null };
    // It was found again later: it was not ended for good.
    if (isStillThere(item) && Date.parse(madeAt) > last.to) return { item, ended: null };
    return { item, ended: { at: new Date(last.to - CLOCKS_MS).toISOString(), run: last.run } };
  });
}

/** The number of those that existed at the time of the lockdown; empty for none. */
export function openAfterText(report: Pick<IncidentReport, 'found' | 'ownActs'>, lockedAt: string): string {
  const later = madeAccess(report).filter(
    ({ ended }) => ended === null || Date.parse(ended.at) > Date.parse(lockedAt),
  );
  return later.length === 0
    ? ''
    : ` Not known to have ended by then: ${countText(later.length, 'thing', 'things')} that these accounts created.`;
}

/** When and by which run it was ended. */
export function endText({ item, ended }: MadeAccess): string {
  if (ended !== null) return `ended at ${secondText(ended.at)} by run ${ended.run.slice(0, 8)}`;
  return item.state === 'there' ? 'still there' : 'the end time is not known';
}

import {
  type Investigation,
  type InvestigationItem,
  isStillThere,
} from '../../domain/investigation/investigation.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { CLOCKS_MS } from '../../operations/journal/own-acts.ts';
import { countText, secondText } from '../tables/text.ts';
import { lastSwitch } from './old-passwords.ts';

/** The maximum number of users to name. */
const MAX_USERS = 5;

/** Whether the intruder has lost access, by what was read and when, in a sentence; empty if unknown. */
export function outText(report: IncidentReport): string {
  const { found, lockdown } = report;
  if (found === null) return '';
  const { lasts: last, items, stream } = found;
  const part = last.find(({ visibility }) => visibility.kind !== 'all');
  const by = `last ${last.length === 1 ? 'investigation' : 'investigations'} (${timesText(last)})`;
  if (stream.hole != null && !items.some((item) => isWayIn(item) && item.state !== 'unknown'))
    return `Whether the intruder is out is not known, according to the ${by}. ${stream.hole}`;
  if (part !== undefined && !items.some((item) => isWayIn(item) && item.state !== 'unknown'))
    return `Whether the intruder is out is not known: ${part.as} can see only part of the controller, according to the ${by}.`;
  const paths = (lockdown?.accessPaths ?? []).filter(({ covered }) => covered);
  const open = paths.filter(({ state }) => state === 'open').length;
  const unchecked = paths.filter(({ state }) => state === 'not_checked').length;
  const left = [
    waysText(items, report),
    ...accountsTexts(report, last),
    ...(open === 0 ? [] : [`the lockdown left ${countText(open, 'access path')} open`]),
    ...(unchecked === 0 ? [] : [`the lockdown did not check ${countText(unchecked, 'access path')}`]),
  ];
  return `According to the ${by}, ${left.join('; ')}.`;
}

function timesText(last: readonly Investigation[]): string {
  return last.map(({ madeAt }) => secondText(madeAt)).join(', ');
}

function isWayIn(item: InvestigationItem): boolean {
  return item.group === 'ways_in' && isStillThere(item);
}

/** The access paths created by the accounts that may still exist. */
function waysText(items: readonly InvestigationItem[], { marks }: IncidentReport): string {
  const ways = items.filter(isWayIn);
  const unknown = ways.filter(({ state }) => state === 'unknown').length;
  const there = ways.length - unknown;
  const code = items.filter((item) => item.group === 'code_later' && isStillThere(item)).length;
  const marked = ways.filter(({ id }) => marks.byHand.has(id) || marks.handedOver.has(id)).length;
  return [
    there === 0
      ? 'no access path that these accounts created or changed is known to remain'
      : countText(
          there,
          'access path that these accounts created or changed remains',
          'access paths that these accounts created or changed remain',
        ),
    ...(unknown === 0 ? [] : [`${countText(unknown, 'access path was', 'access paths were')} not checked`]),
    ...(marked === 0 ? [] : [`of these, ${marked} marked as resolved manually or reassigned`]),
    ...(code === 0
      ? []
      : [
          `${countText(code, 'item that controls what code runs', 'items that control what code runs')} may remain`,
        ]),
  ].join(', ');
}

/** Whether the investigated accounts are deactivated, according to the audit log. */
function accountsTexts({ ownActs, usersNow }: IncidentReport, last: readonly Investigation[]) {
  const users = last.flatMap(({ chain }) =>
    chain.flatMap(({ how, user }) => (how === 'subject' ? user : [])),
  );
  const named = [...new Map(users.map((user) => [user.username, user])).values()];
  const texts = named.slice(0, MAX_USERS).map(({ id, username }) => {
    const act = lastSwitch(ownActs, id);
    const now = usersNow?.users.find(({ name, isActive }) => name === username && isActive !== null);
    if (usersNow !== undefined && now !== undefined)
      return `${username} was ${now.isActive === true ? 'ACTIVE' : 'deactivated'} when read at ${secondText(usersNow.at.toISOString())}`;
    if (act === undefined) return `no run in the audit log deactivated ${username}`;
    const at = secondText(new Date(act.to - CLOCKS_MS).toISOString());
    return act.active === true
      ? `${username} was activated again at ${at}, according to the audit log`
      : `${username} was deactivated at ${at} and not activated since, according to the audit log`;
  });
  return named.length > MAX_USERS
    ? [...texts, `${countText(named.length - MAX_USERS, 'more account')} not mentioned here`]
    : texts;
}

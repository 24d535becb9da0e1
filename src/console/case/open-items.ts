import type { Runtime } from '../../app/runtime.ts';
import { describedSummary, type Investigation } from '../../domain/investigation/investigation.ts';
import { caseItems, type KnownItems } from '../../operations/incident/case-items.ts';
import { gatherRecord } from '../../operations/incident/gather-report.ts';
import { readIncidentHistories, requireIncident } from '../../operations/journal/recorded-incidents.ts';
import { type Document, folded, lines, list } from '../../reports/document.ts';
import { countText, secondText } from '../../reports/tables/text.ts';
import { CaseFiles } from './case-files.ts';

/** The maximum number of items of one fate to name. */
const MOST_NAMED = 10;

/** The open fates of a case, most serious first, with their text in the plan of a lift. */
const OPEN = {
  remains: 'Not cleaned, and found or not checked',
  seen_again: 'Marked as resolved manually, but found again or not checked',
  handed_over: 'Reassigned: others decide',
  by_hand: 'Resolved manually according to a person, and not checked',
} as const;

type OpenFate = keyof typeof OPEN;

/** The number of items with a fate, and the names of the first ones. */
export interface OpenItems {
  readonly fate: OpenFate;
  /** The fate in words. */
  readonly what: string;
  readonly count: number;
  readonly named: readonly string[];
}

/** The findings of an investigation that are not known to have ended. Each item is in one group. */
export function openItemsOf(investigation: Investigation, known: KnownItems): readonly OpenItems[] {
  const fates = Map.groupBy(caseItems(investigation, known), ({ fate }) => fate);
  return (Object.keys(OPEN) as OpenFate[]).flatMap((fate) => {
    const found = fates.get(fate) ?? [];
    const named = found
      .slice(0, MOST_NAMED)
      .map(
        ({ item, said }) =>
          `${describedSummary(item)}${fate === 'handed_over' ? `, to ${said.handedOver?.to}` : ''}`,
      );
    return found.length === 0 ? [] : [{ fate, what: OPEN[fate], count: found.length, named }];
  });
}

/**
 * What to know before a case is closed by lifting its lockdown: the open findings of the last investigation.
 * Undefined for a closed case.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function closingOf(runtime: Runtime, id: string): Promise<Document | undefined> {
  const [log, description] = [await runtime.auditLog(), await runtime.description()];
  const histories = (await readIncidentHistories(log)).ofController(description);
  const { incident } = requireIncident(histories, id);
  if (incident.lifted !== null) return undefined;
  const files = new CaseFiles(runtime.environment, incident.id);
  const last = files.investigations().at(-1);
  const closes = `This closes the case ${incident.id}.`;
  const { of: main } = files.theft();
  if (last === undefined)
    return [
      lines(
        main === undefined
          ? `${closes} No one investigated the incident, so it is not known what the intruder left.`
          : `${closes} The actions belong to the case ${main}.`,
      ),
    ];
  const investigation = files.investigation(last.name);
  const open = openItemsOf(
    investigation,
    await gatherRecord({ log, description, incident: incident.id, investigations: [] }),
  );
  const by = `According to its last investigation, ${secondText(investigation.madeAt)},`;
  return [
    lines(
      open.length === 0
        ? `${closes} ${by} nothing is known to remain.`
        : {
            text: `${closes} ${by} this remains:`,
            // The title of the dialog says what it closes.
            inConsole: `Remaining, according to the investigation of ${secondText(investigation.madeAt)}:`,
          },
    ),
    ...open.map(({ fate, what, count, named }) => {
      const title = `${what}: ${countText(count, 'item')}`;
      // The form above the plan names them as well; items that no one resolved always stay in view.
      const isFolded = fate === 'handed_over' || fate === 'by_hand';
      return folded(
        isFolded && title,
        { text: `${title}:`, ...(isFolded && { inConsole: '' }) },
        list(...named, count > named.length && `and ${count - named.length} more`),
      );
    }),
  ];
}

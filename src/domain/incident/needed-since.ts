import type { Incident } from './incident.ts';

/**
 * Since when (RFC 3339) the log has to be kept so that every open incident can be lifted; null where none is open.
 * One that is lifted is needed as well where another began before that: the value from before both stands with
 * the first.
 */
export function neededSince(incidents: readonly Incident[]): string | null {
  let since: string | null = null;
  for (const incident of incidents.toSorted((a, b) => endOf(b) - endOf(a))) {
    const isNeeded = incident.lifted === null || (since !== null && incident.lifted.at >= since);
    if (isNeeded && (since === null || incident.since < since)) since = incident.since;
  }
  return since;
}

/** Open ones end last. */
function endOf({ lifted }: Incident): number {
  return lifted === null ? Number.MAX_SAFE_INTEGER : Date.parse(lifted.at);
}

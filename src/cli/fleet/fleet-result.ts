import type { Result } from '../output/result.ts';
import type { FleetOutcome } from './fleet-flow.ts';
import { fleetListing } from './fleet-listing.ts';
import { fleetReport } from './fleet-report.ts';
import { fleetStream } from './fleet-stream.ts';

/** The outcomes of several contexts as one result, of the kind that the command has in one context. */
export function fleetResult(fleet: FleetOutcome): Result {
  const kinds = new Set(fleet.outcomes.map(({ result }) => result?.kind));
  if (kinds.has('listing')) {
    return fleetListing(fleet, ({ result }) => (result?.kind === 'listing' ? result : undefined));
  }
  return kinds.has('streamed') ? fleetStream(fleet) : fleetReport(fleet);
}

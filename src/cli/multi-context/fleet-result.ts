import type { Result } from '../../reports/result.ts';
import { fleetFailure } from './fleet-failure.ts';
import type { FleetOutcome } from './fleet-flow.ts';
import { fleetListing } from './fleet-listing.ts';
import { fleetReport } from './fleet-report.ts';
import { fleetStream } from './fleet-stream.ts';

/**
 * The outcomes of several contexts as one result, of the kind that the command has in one context.
 *
 * @throws TokenctlError where no context has a result.
 */
export function fleetResult(fleet: FleetOutcome): Result {
  const { outcomes, changes } = fleet;
  if (outcomes.every(({ result }) => result === undefined)) {
    const errors = new Map(outcomes.map(({ context, error }) => [context, error]));
    throw fleetFailure(errors, { contexts: [...errors.keys()], changes });
  }
  const kinds = new Set(fleet.outcomes.map(({ result }) => result?.kind));
  if (kinds.has('listing')) {
    return fleetListing(fleet, ({ result }) => (result?.kind === 'listing' ? result : undefined));
  }
  return kinds.has('streamed') ? fleetStream(fleet) : fleetReport(fleet);
}

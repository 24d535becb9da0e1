import { z } from 'zod';
import { cleanFlow } from '../cli/investigation/clean-flow.ts';
import { cleanFlags } from '../cli/investigation/investigation-flags.ts';
import { TokenctlError } from '../domain/errors.ts';
import { CaseFiles } from './case-files.ts';
import { account, commandOf, incidentId, type Prepared, type Typed } from './command-line.ts';
import type { Places } from './places.ts';

/** The most items that a request names, and the most in a command to copy. */
const MAX_ITEMS = 5_000;
const MAX_ITEMS_SHOWN = 50;

const items = z.array(z.string().min(1).max(300)).min(1).max(MAX_ITEMS);

/** A cleaning of a case by one of its investigations, and the undoing of one. */
export const cleanSchema = z.strictObject({
  kind: z.literal('incident clean'),
  incident: incidentId,
  /** The name of the investigation in the case; `undo` is the run of a cleaning instead. */
  investigation: z.string().max(100).optional(),
  undo: z.uuid().optional(),
  items: items.optional(),
  restContext: z.string().max(300).optional(),
  ...account,
});

/**
 * The flow of `incident clean` for a request.
 *
 * @throws TokenctlError `usage` as the command, `not_found` for an investigation that the case does not have.
 */
export async function prepareCleaning(
  request: z.infer<typeof cleanSchema>,
  places: Pick<Places, 'environment' | 'startedWith'>,
): Promise<Prepared> {
  const { incident, investigation, undo, items: named, restContext } = request;
  if ((investigation === undefined) === (undo === undefined)) {
    throw new TokenctlError('usage', 'Name an investigation to clean by, or a cleaning to undo');
  }
  const from = investigation === undefined ? undefined : pathOf(places.environment, incident, investigation);
  const typed: Typed = {
    ...(undo === undefined ? { from, incident } : { undo }),
    'rest-context': restContext,
    item: named,
  };
  const more = (named?.length ?? 0) - MAX_ITEMS_SHOWN;
  const { command, flags, dryRun } = await commandOf(cleanFlags, {
    command: 'incident clean',
    typed,
    ...(more > 0 && {
      shown: { ...typed, item: named?.slice(0, MAX_ITEMS_SHOWN) },
      comment: `and ${more} more items`,
    }),
    request,
    places,
  });
  return {
    command,
    flow: (plans) => async (run) => await cleanFlow({ ...run, flags: plans ? dryRun : flags }),
  };
}

function pathOf(environment: Places['environment'], incident: string, name: string): string {
  const found = new CaseFiles(environment, incident).investigations().find((each) => each.name === name);
  if (found !== undefined) return found.path;
  throw new TokenctlError('not_found', `This case has no investigation "${name}"`);
}

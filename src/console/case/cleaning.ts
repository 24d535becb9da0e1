import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { cleanFlags, markFlags } from '../../cli/investigation/investigation-flags.ts';
import {
  account,
  commandOf,
  incidentId,
  type Prepared,
  type Preparing,
  type Typed,
} from '../command-line.ts';
import type { Places } from '../places.ts';
import { type CaseFile, CaseFiles } from './case-files.ts';
import { type Decision, settle } from './settle-case.ts';

/** The maximum number of items in a request and in a command to copy. */
const MAX_ITEMS = 5_000;
const MAX_ITEMS_SHOWN = 50;
/** The maximum number of recipients of reassigned items per confirmation. */
const MAX_RECEIVERS = 20;

const items = z.array(z.string().min(1).max(300)).min(1).max(MAX_ITEMS);

const decision = z.strictObject({ items, reason: z.string().trim().min(1).max(1000) });

/** Decisions about items that are not ended. */
const decided = z.strictObject({
  legitimate: decision.optional(),
  byHand: decision.optional(),
  /** Each to a different recipient. */
  handedOver: z
    .array(decision.extend({ to: z.string().trim().min(1).max(200) }))
    .min(1)
    .max(MAX_RECEIVERS)
    .optional(),
});

const KINDS = { legitimate: 'legitimate', byHand: 'by_hand', handedOver: 'handed_over' } as const;

/** A cleaning from an investigation of a case, with decisions about other items; or the undo of one. */
export const cleanSchema = z.strictObject({
  kind: z.literal('incident clean'),
  incident: incidentId,
  /** The name of the investigation in the case; `undo` is the run of a cleaning instead. */
  investigation: z.string().max(100).optional(),
  undo: z.uuid().optional(),
  /** The items to end; without it and without `decided`, all that remain. */
  items: items.optional(),
  decided: decided.optional(),
  restContext: z.string().max(300).optional(),
  ...account,
});

/**
 * The flow of `incident clean` for a request, with the marks of `incident mark` that precede it.
 * @throws TokenctlError `usage` as the commands, `not_found` for an investigation that the case does not
 * have.
 */
export async function prepareCleaning(
  request: z.infer<typeof cleanSchema>,
  preparing: Preparing & { readonly places: Pick<Places, 'environment'> },
): Promise<Prepared> {
  const { incident, investigation, undo, items: named } = request;
  if ((investigation === undefined) === (undo === undefined)) {
    throw new TokenctlError('usage', 'Specify an investigation to clean, or a cleanup to undo');
  }
  const decisions = decisionsOf(request);
  requireOnce([named ?? [], ...decisions.map(({ items: some }) => some)].flat());
  const files = new CaseFiles(preparing.places.environment, incident);
  const file = fileOf(files, investigation);
  const marks = await Promise.all(decisions.map((each) => markCommand(each, request, preparing)));
  const cleans = named !== undefined || decisions.length === 0;
  const clean = cleans ? await cleanCommand(request, file?.path, preparing) : null;
  const unnamed = decisions.reduce((sum, each) => sum + Math.max(0, each.items.length - MAX_ITEMS_SHOWN), 0);
  return {
    command: `${[...marks, ...(clean === null ? [] : [clean.command])].join(' && ')}${unnamed === 0 ? '' : ` # and ${unnamed} more items to mark`}`,
    flags: clean?.flags ?? { 'dry-run': preparing.dryRun, reason: request.reason, ticket: request.ticket },
    plan: (run) =>
      settle(run, {
        ...{ incident, decisions, files },
        saved: file === null ? null : files.investigation(file.name),
        ticket: request.ticket,
        clean: clean?.flags ?? null,
      }),
  };
}

function decisionsOf({ decided: given = {} }: z.infer<typeof cleanSchema>): readonly Decision[] {
  return Object.entries(KINDS).flatMap(([name, as]) =>
    [given[name as keyof typeof KINDS] ?? []].flat().map((each) => ({ as, ...each })),
  );
}

/** @throws TokenctlError `usage` for an item with two decisions. */
function requireOnce(all: readonly string[]): void {
  const twice = all.find((each, place) => all.indexOf(each) !== place);
  if (twice === undefined) return;
  throw new TokenctlError('usage', `Two decisions were made about the item ${twice}`, {
    hint: 'Name it once.',
  });
}

async function markCommand(
  { as, items: some, reason, to }: Decision,
  request: z.infer<typeof cleanSchema>,
  preparing: Preparing,
): Promise<string> {
  const { incident, place, ticket } = request;
  const typed = {
    item: some.slice(0, MAX_ITEMS_SHOWN),
    'by-hand': as === 'by_hand',
    'handed-over': as === 'handed_over',
    to,
  };
  const asked = {
    command: `incident mark ${incident}`,
    typed,
    request: { place, reason, ticket },
    ...preparing,
  };
  return (await commandOf(markFlags, asked)).command;
}

async function cleanCommand(
  request: z.infer<typeof cleanSchema>,
  from: string | undefined,
  preparing: Preparing,
) {
  const { incident, undo, items: named, restContext } = request;
  const typed: Typed = {
    ...(undo === undefined ? { from, incident } : { undo }),
    'rest-context': restContext,
    item: named,
  };
  const more = (named?.length ?? 0) - MAX_ITEMS_SHOWN;
  return await commandOf(cleanFlags, {
    command: 'incident clean',
    typed,
    ...(more > 0 && {
      shown: { ...typed, item: named?.slice(0, MAX_ITEMS_SHOWN) },
      comment: `and ${more} more items`,
    }),
    request,
    ...preparing,
  });
}

/** The investigation with this name, by default the last one; null if the case has none. */
function fileOf(files: CaseFiles, name: string | undefined): CaseFile | null {
  const all = files.investigations();
  if (name === undefined) return all.at(-1) ?? null;
  const found = all.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new TokenctlError('not_found', `This case has no investigation "${name}"`);
}

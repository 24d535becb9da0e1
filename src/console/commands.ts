import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import type { PlannedChange } from '../cli/change/change.ts';
import { instantFor } from '../cli/flags/flags.ts';
import { extendFlags, liftFlags, lockdownFlags, lockdownForm } from '../cli/incident/incident-flags.ts';
import { type ExtensionJson, extendFlow } from '../cli/incident/lift-flow.ts';
import { lockdownFlow } from '../cli/incident/lockdown-flow.ts';
import { lockdownOrder } from '../cli/incident/lockdown-order.ts';
import { leaseFlags } from '../cli/leases/lease-flags.ts';
import { leaseChangeFlow } from '../cli/leases/lease-flow.ts';
import { revocationSelection, revokeFlags, revokeForm } from '../cli/revocation/revocation-flags.ts';
import { revocationFlow } from '../cli/revocation/revocation-flow.ts';
import { shellWord } from '../domain/remedies.ts';
import { lines, would } from '../reports/document.ts';
import type { Report } from '../reports/result.ts';
import { CaseFiles } from './case/case-files.ts';
import { wordOfCase } from './case/case-users.ts';
import { cleanSchema, prepareCleaning } from './case/cleaning.ts';
import { closeCase } from './case/close-case.ts';
import { keepingTheft, theftSchema } from './case/theft.ts';
import {
  account,
  ageText,
  commandOf,
  incidentId,
  membersOf,
  type Prepared,
  type Preparing,
  type Typed,
  typedOf,
} from './command-line.ts';
import type { Places } from './places.ts';
import { prepareSaved, savedSchema } from './saved-plans.ts';
import { filterOf, filterSchema, flagsOf, type TokenFilter } from './tokens/token-filter.ts';

/** The maximum number of ids in a request; more are selected by criteria. */
const MAX_IDS = 5_000;
/** The maximum number of ids in a command to copy. */
const MAX_IDS_SHOWN = 100;

/** The maximum number of incidents that are closed with a case. */
const MAX_ALONGSIDE = 50;

/** The end of a lockdown, in hours. */
const hours = z.number().positive().max(8_760);

/** A change that the page requests. Members that are flags of the command have their names, in camel case. */
export const requestSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('tokens revoke'),
    /** The tokens, or `filter` for all that match. */
    ids: z.array(z.number().int().positive()).min(1).max(MAX_IDS).optional(),
    filter: filterSchema.strict().optional(),
    ...account,
    ...membersOf(revokeForm),
  }),
  z.strictObject({
    kind: z.literal('incident lockdown'),
    hours: hours.optional(),
    /** The id in the plan on the page, so that the same one is confirmed. */
    newIncident: z
      .string()
      .regex(/^inc-[0-9a-f]{8}$/)
      .optional(),
    /** Stored with the case; not a flag of the command. */
    theft: theftSchema.optional(),
    ...account,
    ...membersOf(lockdownForm),
  }),
  z.strictObject({
    kind: z.literal('incident lift'),
    incident: z.string().max(100),
    /** If absent, the last lift's choice applies. */
    keepDeactivated: z.boolean().optional(),
    /** Incidents of accounts of the case: they are closed with it, and their users stay deactivated. */
    alongside: z.array(incidentId).max(MAX_ALONGSIDE).optional(),
    ...account,
  }),
  z.strictObject({
    kind: z.literal('incident extend'),
    incident: z.string().max(100),
    /** Null until lifted manually. */
    hours: hours.nullable(),
    ...account,
  }),
  z.strictObject({
    kind: z.literal('tokens leases'),
    /** Its id; null for all due ones, which are revoked. */
    lease: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .nullable(),
    /** From now to its new end; null to revoke its token now. */
    hours: hours.nullable(),
    ...account,
  }),
  cleanSchema,
  savedSchema,
]);

export type ChangeRequest = z.infer<typeof requestSchema>;

/** Finds the ids of tokens by a filter that has no flag. */
type FindIds = (filter: TokenFilter) => Promise<readonly number[]>;

/** The input for preparing a request. */
export interface Preparation extends Preparing {
  readonly findIds: FindIds;
  /** For paths: the environment of the console's process. */
  readonly places: Pick<Places, 'environment' | 'startedWith'>;
}

/** The flow of a command for a request. Throws `usage` as the command does for the same flags. */
export async function prepare(request: ChangeRequest, preparation: Preparation): Promise<Prepared> {
  switch (request.kind) {
    case 'tokens revoke':
      return await prepareRevocation(request, preparation);
    case 'incident lockdown':
      return await prepareLockdown(request, preparation);
    case 'plan apply':
      return await prepareSaved(request, preparation);
    case 'incident lift': {
      const { incident, keepDeactivated, alongside = [] } = request;
      const liftOf = (id: string, keeps: boolean | undefined) =>
        commandOf(liftFlags, {
          ...{ command: `incident lift ${shellWord(id)}`, typed: { 'keep-deactivated': keeps } },
          ...{ request, ...preparation },
        });
      const { command, flags } = await liftOf(incident, keepDeactivated);
      const others = await Promise.all(alongside.map((id) => liftOf(id, true)));
      return {
        command: [command, ...others.map((other) => other.command)].join(' && '),
        flags,
        plan: ({ runtime }) => closeCase({ runtime, incident, alongside, flags }),
      };
    }
    case 'incident clean':
      return await prepareCleaning(request, preparation);
    case 'incident extend':
      return await prepareExtension(request, preparation);
    case 'tokens leases':
      return await prepareLease(request, preparation);
  }
}

type LeaseChange = Extract<ChangeRequest, { kind: 'tokens leases' }>;

async function prepareLease(request: LeaseChange, preparation: Preparation): Promise<Prepared> {
  const { lease, hours } = request;
  const { command, flags } = await commandOf(leaseFlags, {
    command: 'tokens leases',
    typed:
      lease === null
        ? { due: true }
        : hours === null
          ? { end: lease }
          : { extend: lease, for: ageText(hours) },
    request,
    ...preparation,
  });
  return {
    ...{ command, flags },
    plan: async ({ runtime }) => {
      const planned = await leaseChangeFlow({ runtime, flags });
      const { question } = planned;
      // The command does not ask before moving an end. On a page, a single click would do it.
      return { ...planned, question: question === 'unneeded' ? { act: 'move its end', type: '' } : question };
    },
  };
}

type Extension = Extract<ChangeRequest, { kind: 'incident extend' }>;

async function prepareExtension(request: Extension, preparation: Preparation): Promise<Prepared> {
  const { incident, hours } = request;
  const { command, flags } = await commandOf(extendFlags, {
    command: `incident extend ${shellWord(incident)}`,
    typed: hours === null ? { unlimited: true } : { for: ageText(hours) },
    request,
    ...preparation,
  });
  const end = hours === null ? 'not by itself' : `${ageText(hours)} from now`;
  return {
    ...{ command, flags },
    plan: async ({ runtime }) => {
      const extension: PlannedChange<Report<ExtensionJson>, ExtensionJson | null> = {
        plan: [lines(would`change when ${incident} ends: ${end}.`)],
        isElsewhere: true,
        question: { act: `change the end of ${incident}`, type: await wordOfCase(runtime, incident) },
        act: () => extendFlow({ runtime, incident, flags }),
        ended: ({ document }) => ({ document: document?.() ?? [] }),
        json: ({ done }) => done?.json ?? null,
      };
      return extension;
    },
  };
}

type Revocation = Extract<ChangeRequest, { kind: 'tokens revoke' }>;

async function prepareRevocation(request: Revocation, preparation: Preparation): Promise<Prepared> {
  const { findIds, places } = preparation;
  const { place, ids, filter } = request;
  if ((ids === undefined) === (filter === undefined)) {
    throw new TokenctlError('usage', 'Select tokens by ID or by a filter');
  }
  const selected: Selected =
    filter === undefined
      ? byIds(ids ?? [])
      : (flagsOf(filterOf(filter, [place])) ?? byIds(await findIds(filterOf(filter, [place]))));
  const typed = typedOf(revokeForm, request, places.environment);
  const { command, flags } = await commandOf(revokeFlags, {
    command: 'tokens revoke',
    typed: { ...selected.typed, ...typed },
    shown: { ...(selected.shown ?? selected.typed), ...typed },
    comment: selected.comment,
    request,
    ...preparation,
  });
  revocationSelection(flags, new Date());
  return {
    ...{ command, flags },
    plan: async ({ runtime }) => {
      const selection = revocationSelection(flags, await instantFor(flags, runtime));
      return await revocationFlow({ runtime, selection, flags });
    },
  };
}

interface Selected {
  readonly typed: Typed;
  /** The displayed part, with a note of what is omitted. */
  readonly shown?: Typed;
  readonly comment?: string;
}

function byIds(ids: readonly number[]): Selected {
  if (ids.length === 0) throw new TokenctlError('not_found', 'No token matches the filter');
  const typed = ids.map(String);
  const more = ids.length - MAX_IDS_SHOWN;
  if (more <= 0) return { typed: { id: typed } };
  return {
    typed: { id: typed },
    shown: { id: typed.slice(0, MAX_IDS_SHOWN) },
    comment: `and ${more} more IDs`,
  };
}

type Lockdown = Extract<ChangeRequest, { kind: 'incident lockdown' }>;

async function prepareLockdown(request: Lockdown, preparation: Preparation): Promise<Prepared> {
  const { places } = preparation;
  const { hours, newIncident, theft } = request;
  const { command, flags } = await commandOf(lockdownFlags, {
    command: 'incident lockdown',
    typed: {
      ...typedOf(lockdownForm, request, places.environment),
      for: hours === undefined ? undefined : ageText(hours),
    },
    request,
    ...preparation,
  });
  const ordered = lockdownOrder(flags);
  const order = { ...ordered, proposedId: newIncident ?? ordered.sharedId };
  return {
    ...{ command, flags },
    plan: async ({ runtime, notify }) => {
      const lockdown = await lockdownFlow({ runtime, order, several: false, flags });
      const files = new CaseFiles(places.environment, lockdown.incident);
      return keepingTheft(lockdown, { theft, files, onFailure: notify });
    },
  };
}

import { z } from 'zod';
import { extendFlow, liftFlow } from '../cli/incident/lift-flow.ts';
import { lockdownFlow } from '../cli/incident/lockdown-flow.ts';
import { type LockdownFlags, lockdownOrder } from '../cli/incident/lockdown-order.ts';
import { revocationFlow } from '../cli/revocation/revocation-flow.ts';
import { TokenctlError } from '../domain/errors.ts';
import { providers } from '../domain/incident/incident.ts';
import { shellWord } from '../domain/remedies.ts';
import type { Selection } from '../domain/selector.ts';
import {
  account,
  accountOf,
  guards,
  guardsOf,
  line,
  option,
  type Prepared,
  pathOf,
  pathSchema,
} from './command-line.ts';
import type { Places } from './places.ts';
import { prepareSaved, savedSchema } from './saved-plans.ts';
import type { TokenFilter } from './token-table.ts';

/** The most ids that a request names; more are selected by criteria. */
const MAX_IDS = 5_000;
/** The most ids in a command to copy. */
const MAX_IDS_SHOWN = 100;
const DAY = 86_400_000;

const names = z.array(z.string().min(1).max(300)).max(200);
const days = z.coerce.number().positive().max(365_000).optional();
const instant = z.coerce.date().optional();
/** A list in a query: given once or several times. */
const listed = z
  .union([z.string().max(300), names])
  .transform((value) => (typeof value === 'string' ? [value] : value))
  .optional();

/** A filter of the list of tokens, as a query has it. */
export const filterSchema = z.object({
  place: listed,
  text: z.string().max(200).optional(),
  user: listed,
  application: listed,
  personal: z.stringbool().optional(),
  scope: z.enum(['read', 'write']).optional(),
  expiry: z.enum(['expired', 'live', 'never']).optional(),
  expiresWithin: days,
  use: z.enum(['never', 'used']).optional(),
  unusedFor: days,
  finding: listed,
  createdSince: instant,
  createdBefore: instant,
  expiresSince: instant,
  expiresBefore: instant,
  usedSince: instant,
  usedBefore: instant,
});

/** The filter of a query. */
export function filterOf(query: z.infer<typeof filterSchema>, places: readonly string[]): TokenFilter {
  const { user, application, finding, place: _place, ...rest } = query;
  return { ...rest, places, users: user, applications: application, findings: finding };
}

/** A change that the page asks for. Members have the names of the command's flags. */
export const requestSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('tokens revoke'),
    place: z.string().max(300),
    /** The tokens, or `filter` for all that match. */
    ids: z.array(z.number().int().positive()).min(1).max(MAX_IDS).optional(),
    filter: filterSchema.strict().optional(),
    accessOnly: z.boolean().optional(),
    withSessions: z.boolean().optional(),
    includeOwn: z.boolean().optional(),
    ...guards,
    ...account,
  }),
  z.strictObject({
    kind: z.literal('incident lockdown'),
    place: z.string().max(300),
    user: names.optional(),
    application: names.optional(),
    identityProvider: z.enum(providers).optional(),
    all: z.boolean().optional(),
    deactivate: z.boolean().optional(),
    keepActive: names.optional(),
    resetPassword: z.boolean().optional(),
    stripRoles: z.boolean().optional(),
    endApplications: z.boolean().optional(),
    basicAuthOff: z.boolean().optional(),
    externalTokensOff: z.boolean().optional(),
    shortenLifetimes: z.boolean().optional(),
    /** In hours. */
    hours: z.number().positive().max(8_760).optional(),
    /** A new file on the machine of the console. */
    rescueToken: pathSchema.optional(),
    ...guards,
    ...account,
  }),
  z.strictObject({
    kind: z.literal('incident lift'),
    place: z.string().max(300),
    incident: z.string().max(100),
    ...account,
  }),
  z.strictObject({
    kind: z.literal('incident extend'),
    place: z.string().max(300),
    incident: z.string().max(100),
    /** In hours; null until it is lifted by hand. */
    hours: z.number().positive().max(8_760).nullable(),
    ...account,
  }),
  savedSchema,
]);

/** A change that was asked for. */
export type ChangeRequest = z.infer<typeof requestSchema>;

/** What finds the ids of tokens by a filter that has no flag. */
type FindIds = (filter: TokenFilter) => Promise<readonly number[]>;

/** What a request is prepared with. */
export interface Preparation {
  readonly findIds: FindIds;
  /** The environment is that of the console's process: for paths. */
  readonly places: Pick<Places, 'environment' | 'startedWith'>;
}

/**
 * The flow of a command for a request.
 *
 * @throws TokenctlError `usage` as the command does for the same flags.
 */
export async function prepare(request: ChangeRequest, preparation: Preparation): Promise<Prepared> {
  const { places } = preparation;
  switch (request.kind) {
    case 'tokens revoke':
      return await prepareRevocation(request, preparation);
    case 'incident lockdown':
      return prepareLockdown(request, preparation);
    case 'plan apply':
      return prepareSaved(request, preparation.places);
    case 'incident lift': {
      const { incident, place, ...rest } = request;
      return {
        command: line(['incident lift', shellWord(incident)], { ...request, places }),
        flow: (dryRun) => (run) =>
          liftFlow({ ...run, incident, flags: { ...accountOf(rest), 'dry-run': dryRun } }),
      };
    }
    case 'incident extend': {
      const { incident, hours } = request;
      const flags = {
        ...accountOf(request),
        ...(hours === null ? { unlimited: true } : { for: hours * 3_600_000 }),
      };
      const lasts = hours === null ? '--unlimited' : `--for ${ageText(hours)}`;
      return {
        command: line(['incident extend', shellWord(incident), lasts], { ...request, places }),
        flow:
          () =>
          async ({ runtime, confirmation }) => {
            await confirmation.confirm({
              plan: `Would change when ${incident} ends: ${hours === null ? 'not by itself' : `${ageText(hours)} from now`}.\n`,
              act: `change the end of ${incident}`,
              type: incident,
            });
            return await extendFlow({ runtime, incident, flags });
          },
      };
    }
  }
}

type Revocation = Extract<ChangeRequest, { kind: 'tokens revoke' }>;

async function prepareRevocation(request: Revocation, { findIds, places }: Preparation): Promise<Prepared> {
  const { place, ids, filter, accessOnly, withSessions, includeOwn } = request;
  if ((ids === undefined) === (filter === undefined)) {
    throw new TokenctlError('usage', 'Select tokens by id, or by a filter');
  }
  const {
    selection,
    flags: selected,
    finding,
    comment,
  }: Selected = filter === undefined
    ? byIds(ids ?? [])
    : (byFlags(filterOf(filter, [place])) ?? byIds(await findIds(filterOf(filter, [place]))));
  const flags = {
    ...accountOf(request),
    ...(accessOnly === true && { 'access-only': true }),
    ...(withSessions === true && { 'with-sessions': true }),
    ...(includeOwn === true && { 'include-own': true }),
    ...(finding !== undefined && { finding }),
  };
  const switches = ['access-only', 'with-sessions', 'include-own'] as const;
  const more = switches.flatMap((name) => (flags[name] === true ? [`--${name}`] : []));
  const { shown, saved, words } = guardsOf(request, {
    environment: places.environment,
    alone: withSessions === true ? ['--with-sessions'] : [],
  });
  return {
    command: line(['tokens revoke', ...selected, ...more, ...words], { ...request, places, comment }),
    flow: (dryRun) => (run) =>
      revocationFlow({
        ...run,
        selection,
        flags: { ...flags, ...shown, ...(dryRun ? { 'dry-run': true } : saved) },
      }),
  };
}

interface Selected {
  readonly selection: Selection;
  /** The rules of the policy that select as well. */
  readonly finding?: readonly string[];
  /** The same as flags. */
  readonly flags: readonly string[];
  /** What the flags leave out. */
  readonly comment?: string | undefined;
}

function byIds(ids: readonly number[]): Selected {
  if (ids.length === 0) throw new TokenctlError('not_found', 'No token matches the filter');
  const shown = ids.slice(0, MAX_IDS_SHOWN).map((id) => `--id ${id}`);
  const more = ids.length - shown.length;
  return { selection: { ids }, flags: shown, ...(more > 0 && { comment: `and ${more} more ids` }) };
}

/** A filter as the flags that mean the same; null where it has a criterion without a flag. */
function byFlags(filter: TokenFilter): Selected | null {
  if (hasMoreThanFlags(filter)) return null;
  const now = Date.now();
  const inDays = (days: number) => new Date(now + days * DAY);
  const { users, applications, scope, expiry, expiresWithin, use, unusedFor } = filter;
  const { createdSince, createdBefore, findings } = filter;
  const patterns = (names: readonly string[]) => names.map((pattern) => ({ pattern }));
  const criteria: readonly (Criterion | undefined)[] = [
    users && [{ users: patterns(users) }, ...users.map((name) => option('--user', name))],
    applications && [
      { applications: patterns(applications) },
      ...applications.map((name) => option('--application', name)),
    ],
    scope && [{ scope }, `--scope ${scope}`],
    expiry === 'expired' ? [{ expiredAt: inDays(0) }, '--expired'] : undefined,
    expiry === 'never' ? [{ expiresAfter: inDays(36_525) }, '--never-expires'] : undefined,
    expiresWithin === undefined
      ? undefined
      : [{ expiresAfter: inDays(0), expiredAt: inDays(expiresWithin) }, `--expires-within ${expiresWithin}d`],
    use && [{ neverUsed: true }, '--never-used'],
    unusedFor === undefined ? undefined : [{ unusedSince: inDays(-unusedFor) }, `--unused-for ${unusedFor}d`],
    createdSince && [{ createdSince }, `--created-after ${createdSince.toISOString()}`],
    createdBefore && [{ createdBefore }, `--created-before ${createdBefore.toISOString()}`],
  ];
  const given = criteria.filter((each) => each !== undefined);
  const byRule = findings === undefined ? {} : { finding: findings };
  const rules = (findings ?? []).map((rule) => option('--finding', rule));
  if (given.length === 0) {
    return { selection: { all: true }, flags: rules.length === 0 ? ['--all'] : rules, ...byRule };
  }
  return {
    selection: Object.assign({}, ...given.map(([selection]) => selection)) as Selection,
    flags: [...given.flatMap(([, ...flags]) => flags), ...rules],
    ...byRule,
  };
}

/** A part of a selection, and its flags. */
type Criterion = readonly [Selection, ...string[]];

/** Criteria of the list that the command has no flag for. */
function hasMoreThanFlags({
  text,
  personal,
  use,
  expiry,
  expiresSince,
  expiresBefore,
  usedSince,
  usedBefore,
}: TokenFilter): boolean {
  const isTime = [expiresSince, expiresBefore, usedSince, usedBefore].some((each) => each !== undefined);
  return Boolean(text) || personal === true || use === 'used' || expiry === 'live' || isTime;
}

type Lockdown = Extract<ChangeRequest, { kind: 'incident lockdown' }>;

function prepareLockdown(request: Lockdown, { places }: Preparation): Prepared {
  const { environment } = places;
  const { user, application, identityProvider, all, deactivate, keepActive, hours } = request;
  const rescue = request.rescueToken === undefined ? undefined : pathOf(request.rescueToken, environment);
  const guard = guardsOf(request, { environment, alone: rescue === undefined ? [] : ['--rescue-token'] });
  const flags: LockdownFlags = {
    ...accountOf(request),
    ...(user !== undefined && user.length > 0 && { user }),
    ...(application !== undefined && application.length > 0 && { application }),
    ...(identityProvider !== undefined && { 'identity-provider': identityProvider }),
    ...(all === true && { all }),
    ...(deactivate === true && { deactivate }),
    ...(keepActive !== undefined && keepActive.length > 0 && { 'keep-active': keepActive }),
    ...(rescue !== undefined && { 'rescue-token': rescue }),
    ...guard.shown,
    ...switchFlag('reset-password', request.resetPassword || undefined),
    ...switchFlag('strip-roles', request.stripRoles || undefined),
    ...switchFlag('end-applications', request.endApplications || undefined),
    ...switchFlag('basic-auth-off', request.basicAuthOff),
    ...switchFlag('external-tokens-off', request.externalTokensOff),
    ...switchFlag('shorten-lifetimes', request.shortenLifetimes),
    ...(hours !== undefined && { for: hours * 3_600_000 }),
  };
  const switches = ['basic-auth-off', 'external-tokens-off', 'shorten-lifetimes'] as const;
  const words = [
    ...(user ?? []).map((name) => option('--user', name)),
    ...(application ?? []).map((name) => option('--application', name)),
    ...(identityProvider === undefined ? [] : [`--identity-provider ${identityProvider}`]),
    ...(all === true ? ['--all'] : []),
    ...(['deactivate', 'reset-password', 'strip-roles', 'end-applications'] as const).flatMap((name) =>
      flags[name] === true ? [`--${name}`] : [],
    ),
    ...(keepActive ?? []).map((name) => option('--keep-active', name)),
    ...switches.flatMap((name) =>
      flags[name] === undefined ? [] : [`--${flags[name] ? '' : 'no-'}${name}`],
    ),
    ...(hours === undefined ? [] : [`--for ${ageText(hours)}`]),
    ...(rescue === undefined ? [] : [option('--rescue-token', rescue)]),
    ...guard.words,
  ];
  const order = lockdownOrder(flags);
  return {
    command: line(['incident lockdown', ...words], { ...request, places }),
    flow: (dryRun) => (run) =>
      lockdownFlow({
        ...run,
        ...{ order, several: false },
        flags: { ...flags, ...(dryRun ? { 'dry-run': true } : guard.saved) },
      }),
  };
}

function switchFlag(name: string, value: boolean | undefined): object {
  return value === undefined ? {} : { [name]: value };
}

/** Hours as an age of the command line. */
function ageText(hours: number): string {
  return Number.isInteger(hours) ? `${hours}h` : `${Math.max(1, Math.round(hours * 60))}m`;
}

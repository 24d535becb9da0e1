import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { ownerLines, watchingSources } from '../cli/settings/watching-sources.ts';
import { incompleteText } from '../domain/claims.ts';
import { checkTarget } from '../operations/contexts/check-target.ts';
import type { Target, TargetDescription } from '../operations/ports/target.ts';
import { requireFullView, requireMayChange, requireRights } from '../operations/scope/visibility.ts';
import { type Answer, Answers } from './answers.ts';
import type { AuditRead, Audits } from './audits.ts';
import { auditsTogether } from './audits-together.ts';
import { type IncidentList, incidentList } from './case/read-incidents.ts';
import { placeQuery } from './command-line.ts';
import type { Controllers } from './controllers.ts';
import { type Lifetimes, lifetimesOf } from './lifetimes.ts';
import { type Problem, problemOf } from './operations.ts';
import { inTurns, type Places } from './places.ts';
import { ruleOf } from './saved-plans.ts';

/** What is known of a context. */
export type Overview = Awaited<ReturnType<typeof overviewOf>>;

async function overviewOf(runtime: Runtime, place: string) {
  const target = await runtime.target();
  const found = await checkTarget({ target, clock: await runtime.targetClock() });
  const { address, dialect, version: product, identity, credential, transport, ownToken, warnings } = found;
  return {
    place,
    address,
    dialect,
    product,
    identity,
    credential,
    transport,
    ownToken,
    warnings,
    visibility: found.visibility.kind,
    // Of a standby, the warnings say it.
    incomplete: found.standby === undefined ? incompleteText(found) : null,
    /** Why this account may not lock down anybody, as far as that is known before it is tried; null where nothing is. */
    lockdownRefusal: lockdownRefusalOf(await runtime.description()),
    /** Why a measure of a lockdown is not possible through this context, by its member of the form; those that are possible are absent. */
    measureGaps: measureGapsOf(target, found),
    /** What a revocation through this context cannot do, by the member of its form, with the reason. */
    revocationGaps: revocationGapsOf(target),
    databaseContext: found.databaseContext ?? null,
    capabilities: found.capabilities,
    ...(await settingsOf(runtime)),
    // Lines, as `settings external-tokens status` prints them.
    directories: (await watchingSources(runtime)).remarks,
    approval: ruleOf(runtime, (await runtime.description()).context),
  };
}

function measureGapsOf(
  { passwords, roles }: Target,
  { capabilities, identity }: Pick<TargetDescription, 'capabilities' | 'identity'>,
): Readonly<Record<string, string>> {
  const overRest = 'Not available in this context: requires the REST API and a superuser.';
  return {
    ...(!capabilities.deactivateUsers && {
      deactivate: 'Not available in this context: requires a database context.',
    }),
    ...((passwords === undefined || !capabilities.changes) && {
      resetPassword: overRest,
    }),
    ...((roles === undefined || capabilities.roles !== true) && {
      stripRoles:
        roles === undefined || identity.isSuperuser !== true || !capabilities.changes
          ? overRest
          : "Not available here: requires a controller (AWX or Automation Controller) that lists a user's roles.",
    }),
  };
}

function revocationGapsOf({ sessions, refreshTokens }: Target): Readonly<Record<string, string>> {
  return {
    ...(sessions === undefined && {
      withSessions:
        'Not available in this context: requires a database context that can read and delete sessions.',
    }),
    ...(refreshTokens === undefined && {
      accessOnly: 'This context can only reach access tokens. A database context can reach both.',
    }),
  };
}

function lockdownRefusalOf(description: TargetDescription): Problem | null {
  try {
    requireFullView(description, 'A lockdown');
    requireRights(description, { what: 'A lockdown', purposes: ['revoke'] });
    requireMayChange(description);
    return null;
  } catch (error) {
    if (error instanceof TokenctlError) return problemOf(error);
    throw error;
  }
}

/** The settings; where they cannot be read, why not. */
async function settingsOf(runtime: Runtime) {
  try {
    return { settings: await (await runtime.target()).settings.read(), settingsProblem: null };
  } catch (error) {
    if (error instanceof TokenctlError) return { settings: null, settingsProblem: problemOf(error) };
    throw error;
  }
}

/** How long what was read of a context is taken for true, unless it is asked for again. */
const KEPT_MS = 60_000;
/** Contexts that are read at a time: one that is slow must not keep the others. */
const AT_ONCE = 16;
/** With more controllers, the page has a line for each, without a calendar. */
const MOST_CALENDARS = 3;
const DAYS_OF_WEEK = 7;
const DAYS_OF_MONTH = 30;

/** What a context told, or why it did not; neither while it is waited for. */
interface Told<T> {
  readonly value: T | null;
  readonly problem: Problem | null;
  /** For how long it has not answered, in seconds; null once it has, or failed. */
  readonly waits: number | null;
}

/** One controller as the overview shows it, by the context that sees the most of it. */
export type FleetRow = Awaited<ReturnType<Fleet['rows']>>[number];

interface Asked {
  /** The context through which its controller is asked, instead of the one that sees the most. */
  readonly through?: string | undefined;
  /** Whether what is known is too old: it is asked again. */
  readonly anew: boolean;
}

const askedQuery = z.object({
  through: z.string().max(300).optional(),
  anew: z
    .literal('true')
    .optional()
    .transform((given) => given === 'true'),
});

/** All controllers at a glance. Each is read on its own: what is slow keeps nothing else. */
export class Fleet {
  readonly #controllers: Controllers;
  readonly #contexts: Answers<Overview>;
  readonly #incidents: Answers<IncidentList>;
  readonly #lifetimes: Answers<Lifetimes>;
  readonly #audits: Answers<AuditRead>;

  constructor({
    places,
    controllers,
    audits,
  }: {
    readonly places: Places;
    readonly controllers: Controllers;
    readonly audits: Audits;
  }) {
    const inTurn = inTurns(AT_ONCE);
    const asked = <T>(work: (runtime: Runtime, place: string) => Promise<T>) =>
      new Answers<T>((place) => inTurn(() => places.work(place, (runtime) => work(runtime, place))), KEPT_MS);
    this.#controllers = controllers;
    this.#contexts = asked(overviewOf);
    this.#incidents = asked(incidentList);
    this.#lifetimes = asked(lifetimesOf);
    // The audits keep what they read, and take turns of their own.
    this.#audits = new Answers((place) => audits.read(place), KEPT_MS);
  }

  /** What is read again when it is asked for. */
  forget(place?: string): void {
    for (const answers of [this.#contexts, this.#incidents, this.#lifetimes, this.#audits])
      answers.forget(place);
  }

  /** The incidents of all controllers, as far as they answered by now. */
  async incidents(asked: Asked) {
    return await this.#each(this.#incidents, asked);
  }

  /** The leases and sunsets of all controllers, as far as they answered by now. */
  async lifetimes(asked: Asked) {
    return await this.#each(this.#lifetimes, asked);
  }

  /**
   * The findings of all controllers that answered by now, which are those of the overview, and which did not; of one context, all of
   * it, however long that takes.
   */
  async audits(only: string | undefined) {
    if (only !== undefined) {
      // One that failed is tried again.
      this.#audits.again([only]);
      return { ...auditsTogether([{ place: only, read: await this.#audits.whole(only) }]), readings: [] };
    }
    const all = await this.#each(this.#audits, { anew: false });
    return {
      ...auditsTogether(
        all.flatMap(({ place, list: { value: read } }) => (read === null ? [] : { place, read })),
      ),
      readings: all.map(({ place, list: { problem, waits } }) => ({ place, problem, waits })),
    };
  }

  /** What each controller answered to a question by now. */
  async #each<T>(answers: Answers<T>, { through, anew }: Asked) {
    const controllers = (await this.#controllers.all()).flatMap(({ places }) => {
      const all = places.map(({ place }) => place);
      const place = all.find((each) => each === through) ?? all[0];
      return place === undefined ? [] : { place, others: all.filter((each) => each !== place) };
    });
    const places = controllers.map(({ place }) => place);
    if (through !== undefined && !places.includes(through))
      throw new TokenctlError('not_found', `This console has no context "${through}"`);
    if (anew) answers.again(places);
    await answers.soon(places);
    return controllers.map((each) => ({
      ...each,
      list: toldOf(answers.of(each.place), (value) => value),
    }));
  }

  /** One line a controller, with what is known by now; those that do not answer soon are not waited for. */
  async rows(only: string | undefined) {
    const controllers = (await this.#controllers.all()).filter(
      ({ places }) => only === undefined || places.some(({ place }) => place === only),
    );
    const best = controllers.flatMap(({ places: [first] }) => first?.place ?? []);
    await this.#contexts.soon(best);
    return controllers.flatMap(({ places: [first, ...rest] }) => {
      if (first === undefined) return [];
      const { place } = first;
      const context = toldOf(this.#contexts.of(place), (value) => value);
      // What cannot be reached is not asked further; its incidents are in the audit log.
      const isReached = context.value !== null;
      return [
        {
          place,
          /** The other contexts of the same controller. */
          others: rest.map((each) => each.place),
          context,
          incidents: context.waits === null ? toldOf(this.#incidents.of(place), openOf) : NOTHING,
          audit: isReached
            ? toldOf(this.#audits.of(place), (read) =>
                auditOf(read, { withCalendar: controllers.length <= MOST_CALENDARS }),
              )
            : NOTHING,
        },
      ];
    });
  }
}

const NOTHING = { value: null, problem: null, waits: null };

function toldOf<From, To>({ value, error, waitsMs }: Answer<From>, shown: (value: From) => To): Told<To> {
  return {
    value: value === undefined ? null : shown(value),
    problem: error === undefined ? null : problemOf(error),
    waits: waitsMs === null ? null : Math.floor(waitsMs / 1_000),
  };
}

/** The incidents that are not lifted. */
function openOf({ incidents, unread }: IncidentList) {
  const open = incidents.filter(({ state }) => state !== 'lifted');
  return {
    /** Whether only the audit log was read. */
    isUnread: unread !== null,
    open: open.map(({ id, selection, holds, isOverdue, since, accessPaths }) => ({
      ...{ id, selection, holds, isOverdue, since },
      /** How many ways in were not checked. */
      unchecked: accessPaths.filter(({ state }) => state === 'not_checked').length,
    })),
  };
}

function auditOf(
  { at, incomplete, kinds, calendar, summary }: AuditRead,
  { withCalendar }: { readonly withCalendar: boolean },
) {
  const { found, bySeverity, tokensRead, notChecked } = summary;
  const within = (days: number) =>
    calendar?.days.slice(0, days).reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
  return {
    ...{ at, incomplete, kinds, found, bySeverity, tokensRead },
    /** How many rules were not checked. */
    notChecked: notChecked.length,
    /** How many tokens expire within a week, and within 30 days; null where the audit does not count it. */
    expiring: calendar && {
      week: within(DAYS_OF_WEEK),
      month: within(DAYS_OF_MONTH),
      /** The first day (UTC) that these no longer count. */
      until: calendar.days[DAYS_OF_MONTH]?.day,
    },
    calendar: withCalendar ? calendar : null,
  };
}

/** What directories said of the owner of tokens. */
export interface OwnerRead {
  /** A sentence each. */
  readonly lines: readonly string[];
}

/** Serves what is known of one context, of all controllers at a glance, and of one owner of tokens. */
export function serveFleet(
  app: FastifyInstance,
  { places, fleet }: { readonly places: Places; readonly fleet: Fleet },
): void {
  app.get('/api/overview', async ({ query }) => {
    const { place } = placeQuery.parse(query);
    return await places.work(place, (runtime) => overviewOf(runtime, place));
  });
  app.get('/api/owner', async ({ query }): Promise<OwnerRead> => {
    const { place, user } = placeQuery.extend({ user: z.string().max(300) }).parse(query);
    return { lines: await places.work(place, (runtime) => ownerLines(runtime, user)) };
  });
  app.get('/api/incidents', async ({ query }) => ({
    controllers: await fleet.incidents(askedQuery.parse(query)),
  }));
  app.get('/api/lifetimes', async ({ query }) => ({
    controllers: await fleet.lifetimes(askedQuery.parse(query)),
  }));
  app.get('/api/fleet', async ({ query }) => {
    const { place } = z.object({ place: z.string().max(300).optional() }).parse(query);
    return { controllers: await fleet.rows(place) };
  });
}

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

export type Overview = Awaited<ReturnType<typeof overviewOf>>;

async function overviewOf(runtime: Runtime, place: string) {
  const target = await runtime.target();
  const found = await checkTarget({ target, clock: await runtime.targetClock() });
  const { address, dialect, version: product, identity, credential, ownToken, warnings } = found;
  return {
    ...{ place, address, dialect, product, identity, credential, ownToken, warnings },
    // For a standby, the warnings say it.
    incomplete: found.standby === undefined ? incompleteText(found) : null,
    /** Why this account may not lock down anyone, as far as known in advance; null if nothing is known. */
    lockdownRefusal: lockdownRefusalOf(await runtime.description()),
    /** The impossible measures of a lockdown in this context, by form member, with the reason. */
    measureGaps: measureGapsOf(target, found),
    /** What a revocation in this context cannot do, by form member, with the reason. */
    revocationGaps: revocationGapsOf(target),
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
    ...((passwords === undefined || !capabilities.changes) && { resetPassword: overRest }),
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

/** The settings; if they are unreadable, the reason. */
async function settingsOf(runtime: Runtime) {
  try {
    return { settings: await (await runtime.target()).settings.read(), settingsProblem: null };
  } catch (error) {
    if (error instanceof TokenctlError) return { settings: null, settingsProblem: problemOf(error) };
    throw error;
  }
}

/** How long a context's data is cached, unless it is requested again. */
const KEPT_MS = 60_000;
/** Contexts that are read at a time: a slow one must not block the others. */
const AT_ONCE = 16;
/** With more controllers, the page has a line for each, without a calendar. */
const MOST_CALENDARS = 3;
const DAYS_OF_WEEK = 7;
const DAYS_OF_MONTH = 30;

/** A context's answer or error; neither while waiting for it. */
interface Told<T> {
  readonly value: T | null;
  readonly problem: Problem | null;
  /** How long it has not answered, in seconds; null after an answer or a failure. */
  readonly waits: number | null;
}

/** A controller as the overview shows it, in the context that sees the most of it. */
export type FleetRow = Awaited<ReturnType<Fleet['rows']>>[number];

interface Asked {
  /** The context to use for its controller, instead of the one that sees the most. */
  readonly through?: string | undefined;
  /** Whether cached data is too old and must be re-read. */
  readonly anew: boolean;
}

const askedQuery = z.object({
  through: z.string().max(300).optional(),
  anew: z
    .literal('true')
    .optional()
    .transform((given) => given === 'true'),
});

/** An overview of all controllers. Each is read separately: a slow one does not block the others. */
export class Fleet {
  readonly #controllers: Controllers;
  readonly #contexts: Answers<Overview>;
  readonly #incidents: Answers<IncidentList>;
  readonly #lifetimes: Answers<Lifetimes>;
  readonly #audits: Answers<AuditRead>;

  constructor({ places, controllers, audits }: { places: Places; controllers: Controllers; audits: Audits }) {
    const inTurn = inTurns(AT_ONCE);
    const asked = <T>(work: (runtime: Runtime, place: string) => Promise<T>) =>
      new Answers<T>((place) => inTurn(() => places.work(place, (runtime) => work(runtime, place))), KEPT_MS);
    this.#controllers = controllers;
    this.#contexts = asked(overviewOf);
    this.#incidents = asked(incidentList);
    this.#lifetimes = asked(lifetimesOf);
    // The audits cache what they read, and have their own queue.
    this.#audits = new Answers((place) => audits.read(place), KEPT_MS);
  }

  /** Reads it again on the next request. */
  forget(place?: string): void {
    for (const answers of [this.#contexts, this.#incidents, this.#lifetimes, this.#audits])
      answers.forget(place);
  }

  /** The incidents of all controllers that have answered. */
  async incidents(asked: Asked) {
    return await this.#each(this.#incidents, asked);
  }

  /** The leases and sunsets of all controllers that have answered. */
  async lifetimes(asked: Asked) {
    return await this.#each(this.#lifetimes, asked);
  }

  /**
   * The findings of all controllers that have answered, the same as in the overview, and the missing ones;
   * for one context, all of it, however long that takes.
   */
  async audits(only: string | undefined) {
    if (only !== undefined) {
      // A failed one is retried.
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

  /** Each controller's answer to a query so far. */
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
    return controllers.map((each) => ({ ...each, list: toldOf(answers.of(each.place), (value) => value) }));
  }

  /** One line per controller, with the data so far. Controllers that do not answer soon are skipped. */
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
      // An unavailable controller is not queried further; its incidents are in the audit log.
      const isReached = context.value !== null;
      return [
        {
          place,
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

function openOf({ incidents, unread }: IncidentList) {
  const open = incidents.filter(({ state }) => state !== 'lifted');
  return {
    /** Whether only the audit log was read. */
    isUnread: unread !== null,
    open: open.map(({ id, holds, isOverdue, accessPaths }) => ({
      ...{ id, holds, isOverdue },
      /** Number of access paths that were not checked. */
      unchecked: accessPaths.filter(({ state }) => state === 'not_checked').length,
    })),
  };
}

function auditOf(
  { at, incomplete, kinds, calendar, summary }: AuditRead,
  { withCalendar }: { withCalendar: boolean },
) {
  const { found, bySeverity, tokensRead, notChecked } = summary;
  const within = (days: number) =>
    calendar?.days.slice(0, days).reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
  return {
    ...{ at, incomplete, kinds, found, bySeverity, tokensRead },
    /** Number of rules that were not checked. */
    notChecked: notChecked.length,
    /** Number of tokens that expire within a week, and within 30 days; null if not counted. */
    expiring: calendar && {
      week: within(DAYS_OF_WEEK),
      month: within(DAYS_OF_MONTH),
      /** The first day (UTC) that is not counted. */
      until: calendar.days[DAYS_OF_MONTH]?.day,
    },
    calendar: withCalendar ? calendar : null,
  };
}

/** The directories' answers about the owner of tokens. */
export interface OwnerRead {
  /** One sentence each. */
  readonly lines: readonly string[];
}

/** Serves the data of one context, the overview of all controllers, and the data of one token owner. */
export function serveFleet(app: FastifyInstance, { places, fleet }: { places: Places; fleet: Fleet }): void {
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

import { setImmediate as nextTurn } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { selectTokens } from '../../cli/tokens/token-selection.ts';
import { incompleteText } from '../../domain/claims.ts';
import { isByGroup, type Selector } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import { tokenToJson } from '../../reports/tables/token-view.ts';
import { type Problem, problemOf } from '../operations.ts';
import { inTurns, type Places } from '../places.ts';
import { type ChartedToken, type Charts, chartsOf } from './token-charts.ts';
import { matcher, type Page, type TokenFilter } from './token-filter.ts';

/** The maximum number of tokens of a context kept in memory. */
const MAX_HELD = 200_000;
const MAX_ROWS = 500;
/** A page is shown once this many tokens are read, or this time has passed. */
const FIRST_ROWS = 100;
const FIRST_MS = 2_000;
/** Contexts that are read at a time. */
const READINGS_AT_ONCE = 2;
/** Other requests get their turn after this many tokens. */
const TURN = 5_000;
const DAY = 86_400_000;

/** The tokens of one context, as they were read. */
interface Reading {
  readonly place: string;
  began: Date;
  readonly tokens: Token[];
  /** `cut`: there are more than are kept. */
  state: 'reading' | 'complete' | 'cut' | 'failed';
  problem: Problem | null;
  /** How far the context's clock is ahead of this machine's, in milliseconds. */
  aheadMs: number;
  /** Why the tokens are incomplete; null if they are complete. */
  incomplete: string | null;
  /** The ids that the target or an audit selects by criteria that tokens do not show, by criterion. */
  readonly selected: Map<string, Promise<ReadonlySet<number>>>;
  /** Resolves once there is a first page to show, or nothing more to wait for. */
  readonly first: PromiseWithResolvers<void>;
}

export type TokenPage = Awaited<ReturnType<TokenTable['page']>>;

/** A context that has not yet said which controller it is. */
export function waitingReading(place: string): TokenPage['readings'][number] {
  const at = new Date().toISOString();
  return { place, at, state: 'reading', tokens: 0, problem: null, incomplete: null };
}

interface Row extends ChartedToken {
  readonly place: string;
}

/**
 * The tokens of all contexts, read once and served from memory, without their values. The page shows their
 * age; they are read again on request and after each change.
 */
export class TokenTable {
  readonly #places: Places;
  readonly #readings = new Map<string, Reading>();
  readonly #views = new Map<string, Promise<View>>();
  readonly #inTurn = inTurns(READINGS_AT_ONCE);

  constructor(places: Places) {
    this.#places = places;
  }

  /** Reads again on the next request. */
  forget(place?: string): void {
    this.#views.clear();
    if (place === undefined) this.#readings.clear();
    else this.#readings.delete(place);
  }

  /** The tokens of a context read so far; starts to read them. */
  reading(place: string): Reading {
    const known = this.#readings.get(place);
    if (known !== undefined) return known;
    const reading: Reading = {
      place,
      began: new Date(),
      tokens: [],
      state: 'reading',
      problem: null,
      aheadMs: 0,
      incomplete: null,
      selected: new Map(),
      first: Promise.withResolvers(),
    };
    this.#readings.set(place, reading);
    void this.#inTurn(() => this.#read(reading));
    return reading;
  }

  /** One page of the matching tokens, with counts of all of them. */
  async page(filter: TokenFilter, { offset, limit, ...order }: Page) {
    const readings = filter.places.map((place) => this.reading(place));
    await firstOf(readings);
    // As it was when the rows were selected: a reading that ends meanwhile has more of them.
    const asOf = readings.map(({ place, began, state, tokens, problem, incomplete }) => ({
      place,
      at: began.toISOString(),
      state,
      tokens: tokens.length,
      problem,
      /** Why the account of the context does not see all tokens; null if it does. */
      incomplete,
    }));
    const { found, counts } = await this.#view(filter, order);
    return {
      total: found.length,
      rows: found.slice(offset, offset + Math.min(limit, MAX_ROWS)).map(({ token, place }) => ({
        ...tokenToJson(token),
        place,
        /** By the clock of its context. */
        isExpired: token.expires <= this.#now([place]),
      })),
      ...counts,
      readings: asOf,
    };
  }

  /**
   * The time for charts and for the ranges chosen in them: of one context, its own; of several, this
   * machine's, to which the times of each context are converted.
   */
  #now(places: readonly string[]): Date {
    const [only, ...others] = places;
    const isOne = only !== undefined && others.length === 0;
    return new Date(Date.now() + (isOne ? this.reading(only).aheadMs : 0));
  }

  /** The matching tokens, in order. Cached for a while: the page requests it in parts while scrolling. */
  #view(filter: TokenFilter, order: Order): Promise<View> {
    const now = this.#now(filter.places);
    const readings = filter.places.map((place) => this.reading(place));
    const state = readings.map(({ began, tokens }) => [began, tokens.length]);
    const key = JSON.stringify([filter, order, state, Math.floor(now.getTime() / VIEW_MS)]);
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const view = this.#viewOf(filter, order, now);
    this.#views.set(key, view);
    view.catch(() => this.#views.delete(key));
    for (const oldest of this.#views.keys()) {
      if (this.#views.size <= MAX_VIEWS) break;
      this.#views.delete(oldest);
    }
    return view;
  }

  async #viewOf(filter: TokenFilter, order: Order, now: Date): Promise<View> {
    const found = await this.#matching(filter, now);
    // A chart shows everything that a range is chosen from.
    const { expiresSince, expiresBefore, usedSince, usedBefore, ...rest } = filter;
    const uses = { usedSince, usedBefore };
    const without = async (isGiven: boolean, other: TokenFilter) =>
      isGiven ? await this.#matching(other, now) : found;
    const isByExpiry = expiresSince !== undefined || expiresBefore !== undefined;
    const isByUse = usedSince !== undefined || usedBefore !== undefined;
    const forExpiry = await without(isByExpiry, { ...rest, ...uses });
    const forUse = await without(isByUse, { ...rest, expiresSince, expiresBefore });
    sortRows(found, order);
    return { found, counts: chartsOf({ found, forExpiry, forUse }, now) };
  }

  /** The ids of all matching tokens of one context, ascending. Throws `usage` while the tokens are read. */
  async ids(filter: TokenFilter): Promise<number[]> {
    const reading = filter.places
      .map((place) => this.reading(place))
      .find(({ state }) => state === 'reading');
    if (reading !== undefined) {
      const { place, tokens } = reading;
      throw new TokenctlError(
        'usage',
        `Not all tokens of ${place} have been read yet: ${tokens.length} so far`,
        { hint: 'Create the plan again when the page shows that all tokens are loaded.' },
      );
    }
    const found = await this.#matching(filter, this.#now(filter.places));
    return found.map(({ token }) => token.id).sort((a, b) => a - b);
  }

  async #matching(filter: TokenFilter, now: Date): Promise<Row[]> {
    const found: Row[] = [];
    for (const place of filter.places) {
      const reading = this.reading(place);
      const own = this.#now([place]);
      const laterMs = own.getTime() - now.getTime();
      const uses = await this.#usesIn(reading, filter, own);
      const matches = matcher(uses === null ? filter : { ...filter, use: undefined, unusedFor: undefined }, {
        now: own,
        laterMs,
      });
      const tests = [
        ...(uses ?? []),
        ...(await this.#findingsIn(reading, filter)),
        ...(await this.#groupsIn(reading, filter)),
      ];
      let seen = 0;
      for (const token of reading.tokens) {
        if (matches(token) && tests.every((test) => test(token.id))) found.push({ token, place, laterMs });
        seen += 1;
        if (seen % TURN === 0) await nextTurn();
      }
    }
    return found;
  }

  /** Predicates by use if the target selects by it but does not show it; null if each token shows it. */
  async #usesIn(reading: Reading, { use, unusedFor }: TokenFilter, now: Date) {
    const isTold = reading.tokens[0]?.lastUsed !== undefined;
    if (isTold || reading.tokens.length === 0 || (use === undefined && unusedFor === undefined)) return null;
    const tests: ((id: number) => boolean)[] = [];
    if (use !== undefined) {
      const never = await this.#selected(reading, 'never', { neverUsed: true });
      tests.push((id) => never.has(id) === (use === 'never'));
    }
    if (unusedFor !== undefined) {
      const unusedSince = new Date(now.getTime() - unusedFor * DAY);
      const unused = await this.#selected(reading, `${unusedFor}`, { unusedSince });
      tests.push((id) => unused.has(id));
    }
    return tests;
  }

  /** A predicate by findings, from an audit by the configured policy; none without the criterion. */
  async #findingsIn(reading: Reading, { finding }: TokenFilter) {
    if (finding === undefined) return [];
    const found = await this.#idsBy(reading, `finding ${finding.join(' ')}`, async (runtime) => {
      const { tokens } = await selectTokens(runtime, { all: true }, { finding });
      return tokens();
    });
    return [(id: number) => found.has(id)];
  }

  /** A predicate by the owner's organizations and teams; none without these criteria. */
  async #groupsIn(reading: Reading, { organization, team }: TokenFilter) {
    const selection = {
      ...(organization && { organizations: organization.map((pattern) => ({ pattern })) }),
      ...(team && { teams: team.map((pattern) => ({ pattern })) }),
    };
    if (!isByGroup(selection)) return [];
    const found = await this.#idsBy(reading, JSON.stringify(selection), async (runtime) =>
      (await selectTokens(runtime, selection, {})).tokens(),
    );
    return [(id: number) => found.has(id)];
  }

  #selected(reading: Reading, key: string, selector: Selector): Promise<ReadonlySet<number>> {
    return this.#idsBy(reading, key, async (runtime) => (await runtime.target()).tokens(selector));
  }

  /** Ids that are read once for each reading of the tokens. */
  #idsBy(
    { place, selected }: Reading,
    key: string,
    read: (runtime: Runtime) => Promise<AsyncIterable<Token>>,
  ): Promise<ReadonlySet<number>> {
    const known = selected.get(key);
    if (known !== undefined) return known;
    const reading = this.#places.work(place, async (runtime) => {
      const ids = new Set<number>();
      for await (const { id } of await read(runtime)) {
        if (ids.add(id).size >= MAX_HELD) break;
      }
      return ids;
    });
    selected.set(key, reading);
    reading.catch(() => selected.delete(key));
    return reading;
  }

  async #read(reading: Reading): Promise<void> {
    const { place, tokens } = reading;
    reading.began = new Date();
    const done = (state: Reading['state']) => {
      reading.state = state;
      reading.first.resolve();
    };
    try {
      await this.#places.work(place, async (runtime) => {
        const target = await runtime.target();
        reading.incomplete = incompleteText(await runtime.description());
        reading.aheadMs = (await runtime.targetClock()).now().getTime() - runtime.clock.now().getTime();
        for await (const token of target.tokens({ all: true })) {
          if (tokens.length >= MAX_HELD) return done('cut');
          tokens.push(token);
          if (tokens.length === FIRST_ROWS) {
            reading.first.resolve();
            // Waiting requests are answered before more is read.
            await nextTurn();
          }
          // A target that was dropped in the meantime is not read to its end.
          if (tokens.length % TURN === 0 && this.#readings.get(place) !== reading) return done('cut');
        }
        done('complete');
      });
    } catch (error) {
      reading.problem = problemOf(error);
      done('failed');
    }
  }
}

/** Waits briefly until one of these contexts has something to show. */
async function firstOf(readings: readonly Reading[]): Promise<void> {
  if (readings.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FIRST_MS);
  });
  await Promise.race([late, ...readings.map(({ first }) => first.promise)]);
  clearTimeout(timer);
}

type Order = Pick<Page, 'sort' | 'descending'>;

/** The matching tokens, in order, with counts of all of them. */
interface View {
  readonly found: readonly Row[];
  readonly counts: Charts;
}

/** How long an order is cached, and how many are. Time-dependent results are at most that old. */
const VIEW_MS = 60_000;
const MAX_VIEWS = 4;

function sortRows(found: Row[], { sort, descending }: Order): void {
  const compare = orders[sort];
  const sign = descending ? -1 : 1;
  found.sort((one, other) => sign * compare(one.token, other.token) || one.token.id - other.token.id);
}

const byText = (of: (token: Token) => string) => (one: Token, other: Token) =>
  of(one) < of(other) ? -1 : Number(of(one) > of(other));

const orders: Readonly<Record<Page['sort'], (one: Token, other: Token) => number>> = {
  id: (one, other) => one.id - other.id,
  user: byText(({ user }) => user?.username ?? ''),
  application: byText(({ application }) => application?.name ?? ''),
  scope: byText(({ scope }) => scope),
  created: (one, other) => one.created.getTime() - other.created.getTime(),
  expires: (one, other) => one.expires.getTime() - other.expires.getTime(),
  // Among tokens that were never used, or whose use is unknown, the newest counts as the last.
  lastUsed: (one, other) =>
    (one.lastUsed?.getTime() ?? 0) - (other.lastUsed?.getTime() ?? 0) ||
    one.created.getTime() - other.created.getTime(),
};

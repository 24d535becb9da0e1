import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { fullName, type GroupKind } from '../../domain/groups.ts';
import { endOf, isTokenOf } from '../../domain/leased-token.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { DAY } from '../../domain/policy/rule.ts';
import { Rows } from '../../domain/rows.ts';
import type { Selection } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import { leasesByToken } from '../../operations/journal/recorded-leases.ts';
import type { Target } from '../../operations/ports/target.ts';
import { lastUseDays, MAX_LAST_USES } from '../../operations/tokens/last-use-days.ts';
import { type Listing, listing } from '../../reports/tables/listing.ts';
import { countText, numberText } from '../../reports/tables/text.ts';
import {
  endOfListed,
  type ListedToken,
  type TokenJson,
  tokenColumnNames,
  tokenListing,
} from '../../reports/tables/token-view.ts';
import { tellOfDueLeases } from '../leases/lease-text.ts';
import { limited, notingLimit, writeNotice } from '../output/streams.ts';
import type { ListFlags } from './token-flags.ts';
import { selectTokens } from './token-selection.ts';

type CountBy = NonNullable<ListFlags['count-by']>;

/** The maximum number of tokens that are kept in memory for sorting. */
const MAX_SORTED = 200_000;

/**
 * Lists tokens as the flags say: as they arrive, sorted, or counted. Throws `usage` for unknown columns or
 * too many tokens, and as {@link selectTokens}.
 */
export async function tokenListFlow(options: {
  runtime: Runtime;
  selection: Selection;
  flags: ListFlags;
}): Promise<Listing<ListedToken, TokenJson> | Listing<Counted, Counted>> {
  const { runtime, selection, flags } = options;
  const columns = flags.columns === undefined ? undefined : columnsNamed(flags.columns);
  const sort = flags.sort === undefined ? undefined : orderNamed(flags.sort);
  const { tokens: read } = await selectTokens(runtime, selection, flags);
  const { limit, 'count-by': by } = flags;
  const tokens = notingLimit(runtime, by === undefined ? await withLeases(runtime, read()) : read());
  if (by !== undefined) {
    const namesOf = await namesBy(runtime, by);
    return countListing(limited(counted(tokens, namesOf), limit), by);
  }
  const needsUse =
    flags['last-used'] === true || sort?.name === 'last_used' || columns?.includes('last_used');
  const rows = needsUse
    ? await withLastUse(runtime, tokens, { sort, limit })
    : limited(sort === undefined ? tokens : sorted(tokens, sort), limit);
  return tokenListing(rows, columns);
}

/** Adds the ends that tokenctl gives tokens, reading only the log. */
async function withLeases(runtime: Runtime, tokens: Rows<Token>): Promise<Rows<ListedToken>> {
  const leases = leasesByToken(await tellOfDueLeases(runtime), await runtime.description());
  if (leases.size === 0) return tokens;
  return tokens.map((page) =>
    page.map((token) => {
      const lease = leases.get(token.id)?.find((each) => isTokenOf(each, token));
      if (lease === undefined) return token;
      const { at, by } = endOf(token, lease);
      return by === 'lease' ? { ...token, lease: { id: lease.id, until: at } } : token;
    }),
  );
}

function columnsNamed(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names)
    if (!tokenColumnNames.includes(name)) throw unknownName('column', name, tokenColumnNames);
  return names;
}

function unknownName(what: string, name: string, known: readonly string[]): TokenctlError {
  const near = nearestName(name, known);
  return new TokenctlError(
    'usage',
    `No ${what} named "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
    { hint: `Use one of: ${known.join(', ')}.` },
  );
}

interface Order {
  readonly name: string;
  readonly compare: (one: ListedToken, other: ListedToken) => number;
}

const byText = (of: (token: Token) => string) => (one: Token, other: Token) =>
  of(one) < of(other) ? -1 : Number(of(one) > of(other));

/** The last use as a number: never is the oldest. */
const useOf = ({ lastUsed, lastUsedOn }: ListedToken) => (lastUsed ?? lastUsedOn)?.getTime() ?? 0;

const orders: Readonly<Record<string, Order['compare']>> = {
  id: (one, other) => one.id - other.id,
  user: byText(({ user }) => user?.username ?? ''),
  application: byText(({ application }) => application?.name ?? ''),
  scope: byText(({ scope }) => scope),
  created: (one, other) => one.created.getTime() - other.created.getTime(),
  expires: (one, other) => endOfListed(one).getTime() - endOfListed(other).getTime(),
  last_used: (one, other) => useOf(one) - useOf(other),
  description: byText(({ description }) => description),
};

/** The order of `created` or `created:desc`; ties are ordered by id. */
function orderNamed(text: string): Order {
  const [name = '', direction = 'asc', ...more] = text.split(':');
  const compare = orders[name];
  if (compare === undefined) throw unknownName('order', name, Object.keys(orders));
  if (more.length > 0 || (direction !== 'asc' && direction !== 'desc')) {
    throw new TokenctlError('usage', `Invalid order "${text}"`, { hint: `Use ${name} or ${name}:desc.` });
  }
  const sign = direction === 'desc' ? -1 : 1;
  return { name, compare: (one, other) => sign * compare(one, other) || one.id - other.id };
}

function sorted<Row extends ListedToken>(tokens: Rows<Row>, { compare }: Order): Rows<Row> {
  return Rows.once(async () => {
    const held: Row[] = [];
    await tokens.each((page) => {
      held.push(...page);
      if (held.length <= MAX_SORTED) return;
      throw new TokenctlError('usage', `At most ${numberText(MAX_SORTED)} tokens can be sorted`, {
        hint: 'Narrow the selection, or omit --sort: an unsorted list has no limit.',
      });
    });
    return held.sort(compare);
  });
}

/** Adds the day of the last use if the target hides the time; if possible, only for listed tokens. */
async function withLastUse(
  runtime: Runtime,
  tokens: Rows<ListedToken>,
  { sort, limit }: { sort: Order | undefined; limit: number | undefined },
): Promise<Rows<ListedToken>> {
  const { capabilities } = await runtime.description();
  const sortedFirst = sort !== undefined && sort.name !== 'last_used' ? sorted(tokens, sort) : tokens;
  if (capabilities.lastUsed)
    return limited(sort?.name === 'last_used' ? sorted(tokens, sort) : sortedFirst, limit);
  if (sort?.name === 'last_used') return limited(sorted(withDays(runtime, tokens), sort), limit);
  return withDays(runtime, limited(sortedFirst, limit));
}

/** Reading the last use of more tokens takes so long that a notice is shown. */
const MANY = 200;

function withDays(runtime: Runtime, tokens: Rows<ListedToken>): Rows<ListedToken> {
  return Rows.once(async () => {
    const held: ListedToken[] = [];
    for await (const page of tokens.pages()) {
      held.push(...page);
      // More than can be read, which is refused.
      if (held.length > MAX_LAST_USES) break;
    }
    if (held.length > MANY) {
      const much = countText(Math.min(held.length, MAX_LAST_USES), 'token');
      writeNotice(
        `Reading the last use of ${much}, because this target can only select by it. This can take minutes.`,
      );
    }
    const now = (await runtime.targetClock()).now();
    const days = await lastUseDays(await runtime.target(), { tokens: held, now });
    return held.map((token) => {
      const day = days.get(token.id);
      return day === undefined ? token : { ...token, lastUsedOn: day };
    });
  });
}

export interface Counted {
  /** Null for tokens without an owner or an application. */
  readonly name: string | null;
  readonly tokens: number;
}

function counted(tokens: Rows<Token>, namesOf: (token: Token) => readonly (string | null)[]): Rows<Counted> {
  return Rows.once(async () => {
    const counts = new Map<string | null, number>();
    await tokens.each((page) => {
      for (const token of page)
        for (const name of namesOf(token)) counts.set(name, (counts.get(name) ?? 0) + 1);
    });
    return Array.from(counts, ([name, number]) => ({ name, tokens: number })).sort(
      (one, other) => other.tokens - one.tokens || ((one.name ?? '') < (other.name ?? '') ? -1 : 1),
    );
  });
}

/** The organizations or teams of a token's owner, possibly several; null for none. */
async function groupsByOwner(
  target: Target,
  kind: GroupKind,
): Promise<(token: Token) => readonly (string | null)[]> {
  const names = new Map<number, string[]>();
  for (const group of await target.users.groups(kind)) {
    for (const { id } of await target.users.ofGroup(group)) {
      names.set(id, [...(names.get(id) ?? []), fullName(group)]);
    }
  }
  return ({ user }) => (user === null ? [null] : (names.get(user.id) ?? [null]));
}

async function namesBy(runtime: Runtime, by: CountBy): Promise<(token: Token) => readonly (string | null)[]> {
  if (by === 'organization' || by === 'team') return await groupsByOwner(await runtime.target(), by);
  if (by !== 'origin') return (token) => [nameOf(token, by)];
  const originOf = await originsOfTokens(runtime);
  return (token) => [originOf(token)];
}

function nameOf(
  { user, application, scope }: Token,
  by: Exclude<CountBy, GroupKind | 'origin'>,
): string | null {
  if (by === 'scope') return scope;
  return by === 'user' ? (user?.username ?? null) : (application?.name ?? null);
}

function countListing(rows: Rows<Counted>, by: CountBy): Listing<Counted, Counted> {
  const none = by === 'application' ? '(personal)' : '(none)';
  return listing({
    rows,
    columns: [
      { name: by, cell: ({ name }) => name ?? none, csv: ({ name }) => name ?? '', whole: true },
      { name: 'tokens', cell: ({ tokens }) => numberText(tokens), csv: ({ tokens }) => String(tokens) },
    ],
    json: (group) => group,
    none: 'No tokens.',
  });
}

/**
 * The origins of tokens: an `application`; a `broker`, a `rotation` or a `program` run by `exec`, each with a
 * lease; a `person`, with an end within a year of creation. `permanent` tokens are those of people without
 * such an end, stored somewhere.
 */
type TokenOriginName = 'application' | 'broker' | 'rotation' | 'program' | 'person' | 'permanent';

const YEAR = 365 * DAY;

/** Determines the origins of tokens, reading only the log. */
async function originsOfTokens(runtime: Runtime): Promise<(token: Token) => TokenOriginName> {
  const leases = leasesByToken(await tellOfDueLeases(runtime), await runtime.description());
  return (token) => {
    if (token.application !== null) return 'application';
    const own = (leases.get(token.id) ?? []).filter((lease) => isTokenOf(lease, token));
    for (const { why } of own) {
      if (why === 'broker' || why === 'rotation') return why;
      if (why === 'exec') return 'program';
    }
    const lifetime = token.expires.getTime() - token.created.getTime();
    return own.length > 0 || lifetime < YEAR ? 'person' : 'permanent';
  };
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import { capital } from '@tokenctl/common/text.ts';
import type { Bound, LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { Application, User } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';

/** The users with these names, by id. Unknown names are omitted. */
export async function bindUsers(target: Target, names: readonly string[]): Promise<readonly Bound[]> {
  if (names.length === 0) return [];
  return (await Array.fromAsync(target.users.list({ names }))).map(boundUser);
}

/**
 * A scope with the ids of what it names, and measures with those of users to keep active. Parts that already
 * have ids or name nothing are unchanged.
 * @throws TokenctlError whatever the target throws.
 */
export async function bindOrder<Order extends { readonly scope: LockdownScope; readonly measures: Measures }>(
  target: Target,
  order: Order,
): Promise<Order> {
  const { scope, measures } = order;
  const isBound = !('names' in scope) || scope.bound !== undefined;
  const keepsNone = measures.keepActive.length === 0 || measures.keepActiveBound !== undefined;
  const bound = async () =>
    scope.kind === 'applications'
      ? (await target.applications.list(scope.names)).map(boundApplication)
      : await bindUsers(target, 'names' in scope ? scope.names : []);
  return {
    ...order,
    scope: isBound ? scope : { ...scope, bound: await bound() },
    measures: keepsNone
      ? measures
      : { ...measures, keepActiveBound: await bindUsers(target, measures.keepActive) },
  };
}

export function boundUser({ id, username, created }: User): Bound {
  return { id, name: username, ...(created !== undefined && { created: created.toISOString() }) };
}

function boundApplication({ id, name, created }: Application): Bound {
  return { id, name, created: created.toISOString() };
}

/** Changes of users or applications since their names were resolved. */
export interface Since {
  readonly renamed: readonly Renamed[];
  readonly gone: readonly Bound[];
}

/** A renamed user or application. */
export interface Renamed {
  readonly id: number;
  readonly name: string;
  readonly now: string;
}

/** A user or application whose name or id now belongs to another one. */
interface Taken {
  readonly bound: Bound;
  readonly now: Bound | undefined;
  /** The current holder of the name; undefined if the id belongs to another one. */
  readonly taker: Bound | undefined;
}

/**
 * Reads the changes of users or applications since their names were resolved. Changes nothing.
 * @throws TokenctlError `plan_outdated` if a name or an id now belongs to another user or application.
 */
export async function readSince(
  target: Target,
  kind: 'user' | 'application',
  meant: readonly Bound[],
): Promise<Since> {
  const { taken, ...since } = await compare(target, kind, meant);
  const [first] = taken;
  if (first !== undefined) throw takenError(kind, first);
  return since;
}

/** What happened to the names of a scope, as sentences; empty if they are unchanged. */
export async function namesSince(target: Target, scope: LockdownScope): Promise<readonly string[]> {
  if (!('names' in scope) || scope.bound === undefined) return [];
  const kind = scope.kind === 'users' ? 'user' : 'application';
  const { renamed, gone, taken } = await compare(target, kind, scope.bound);
  return [
    ...renamedText(kind, renamed),
    ...gone.map(({ id, name }) => `${kind} ${id}, formerly called "${name}", was deleted.`),
    ...taken.map(({ bound, taker }) =>
      taker === undefined
        ? `${kind} ${bound.id} is not the same as before: it was created at a different time.`
        : `The name "${bound.name}" now belongs to ${kind} ${taker.id}, which is not included.`,
    ),
  ].map(capital);
}

export function renamedText(kind: 'user' | 'application', renamed: readonly Renamed[]): readonly string[] {
  return renamed.map(({ id, name, now }) =>
    capital(`${kind} ${id}, formerly called "${name}", is now called "${now}".`),
  );
}

/** As {@link readSince} for all that a lockdown names. */
export async function requireMeant(
  target: Target,
  order: { readonly scope: LockdownScope; readonly measures: Measures },
): Promise<Since> {
  await readSince(target, 'user', order.measures.keepActiveBound ?? []);
  const { scope } = order;
  if (!('names' in scope)) return { renamed: [], gone: [] };
  return await readSince(target, scope.kind === 'users' ? 'user' : 'application', scope.bound ?? []);
}

async function compare(target: Target, kind: 'user' | 'application', meant: readonly Bound[]) {
  if (meant.length === 0) return { renamed: [], gone: [], taken: [] };
  const ids = new Set(meant.map(({ id }) => id));
  const names = [...new Set(meant.map(({ name }) => name))];
  const found =
    kind === 'user'
      ? await usersNow(target, [...ids], names)
      : (await target.applications.list()).map(boundApplication);
  const byId = new Map(found.map((each) => [each.id, each]));
  return {
    renamed: meant.flatMap(({ id, name }) => {
      const now = byId.get(id)?.name;
      return now === undefined || now === name ? [] : [{ id, name, now }];
    }),
    gone: meant.filter(({ id }) => !byId.has(id)),
    // If two users or applications in the scope swapped names, the scope still means the same two.
    taken: meant.flatMap((bound) => {
      const taker = found.find(({ id, name }) => name === bound.name && !ids.has(id));
      const now = byId.get(bound.id);
      return taker !== undefined || isAnother(bound, now) ? [{ bound, now, taker }] : [];
    }),
  };
}

async function usersNow(target: Target, ids: readonly number[], names: readonly string[]): Promise<Bound[]> {
  const users = await Array.fromAsync(target.users.list({ ids }));
  const named = await Array.fromAsync(target.users.list({ names }));
  return [...users, ...named].map(boundUser);
}

/** A database restored from a backup issues the same id again. */
function isAnother(bound: Bound, now: Bound | undefined): boolean {
  return now?.created !== undefined && bound.created !== undefined && now.created !== bound.created;
}

function takenError(kind: 'user' | 'application', { bound, now, taker }: Taken): TokenctlError {
  const [is, who] =
    taker === undefined
      ? ['is not the intended one: it was created at a different time', `${kind} ${bound.id}`]
      : [
          `belonged to ${kind} ${bound.id} and now belongs to ${kind} ${taker.id}`,
          `The name "${bound.name}"`,
        ];
  const before =
    now === undefined
      ? `${kind} ${bound.id} no longer exists`
      : `${kind} ${bound.id} is now called "${now.name}"`;
  return new TokenctlError('plan_outdated', `${who} ${is}. Nothing was changed`, {
    hint: `${capital(before)}. Check the names with \`tokenctl users list\`, and run the command again with the correct name.`,
    details: { kind, name: bound.name, id: bound.id, now: now?.name ?? null, takenBy: taker?.id ?? null },
  });
}

/**
 * Refuses a plan that was approved for others than exist now: each must have the plan's id, name and creation
 * time.
 * @throws TokenctlError `plan_outdated`, and as {@link readSince}.
 */
export async function requireUnchanged(
  target: Target,
  kind: 'user' | 'application',
  meant: readonly Bound[],
): Promise<void> {
  const { renamed, gone } = await readSince(target, kind, meant);
  const changed = [
    ...renamed.map(({ id, name, now }) => `${kind} ${id} ("${name}") is now called "${now}"`),
    ...gone.map(({ id, name }) => `${kind} ${id} ("${name}") no longer exists`),
  ];
  if (changed.length === 0) return;
  throw new TokenctlError(
    'plan_outdated',
    `The plan is outdated: ${changed.join(', ')}. Nothing was changed`,
    {
      hint: 'Check whose names these are, and create a new plan with --plan-out.',
      details: { renamed, gone },
    },
  );
}

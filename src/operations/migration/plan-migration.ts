import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isSameInstant, isTokenOf } from '../../domain/leased-token.ts';
import {
  type ApplicationTwin,
  matchAccounts,
  matchApplications,
  NEXT_STEPS,
  type NextStep,
  nextStepOf,
  type PlacedApplication,
  type SideUsers,
  type StoppingToken,
} from '../../domain/migration.ts';
import type { Token } from '../../domain/token.ts';
import type { ReadTarget, Target, TargetDescription } from '../ports/target.ts';
import { ifReadable } from '../scope/known-settings.ts';
import { requireFullView } from '../scope/visibility.ts';
import { lastUses } from '../sunset/sunset.ts';
import type { MigratedToken } from './recorded-migrations.ts';

/** The tokens of a controller that stop working, and what to do about each. */
export interface MigrationPlan {
  /** Ascending by id. */
  readonly tokens: readonly StoppingToken[];
  /** The controller's applications that have live tokens. */
  readonly applications: readonly ApplicationTwin[];
  /** Number of tokens per next step. */
  readonly counts: Readonly<Record<NextStep, number>>;
  /** Owners of live tokens without an account on the gateway. */
  readonly withoutAccount: readonly string[];
  /** What could not be read, as sentences without a full stop. */
  readonly unknown: readonly string[];
}

/** A controller, and the gateway that its tokens move to. */
export interface Sides {
  readonly from: ReadTarget;
  readonly to: ReadTarget;
}

interface PlanOptions extends Sides {
  /** Tokens not used since then get no new one. */
  readonly usedSince: Date;
  /** The controller's tokens that already have a new one. */
  readonly migrated: readonly MigratedToken[];
}

/**
 * Refuses sides of the wrong kind, and accounts that do not see everything.
 * @throws TokenctlError `usage`, `permission_refused`
 */
export function requireSides(from: TargetDescription, to: TargetDescription): void {
  if (from.dialect === 'gateway' || to.dialect !== 'gateway') {
    const wrong = from.dialect === 'gateway' ? from : to;
    throw new TokenctlError(
      'usage',
      `${wrong.address} is ${wrong.dialect === 'gateway' ? 'a platform gateway' : 'no platform gateway'} (context ${wrong.context})`,
      { hint: 'Specify the controller with --from, and the platform gateway with --to.' },
    );
  }
  requireFullView(from, 'A migration');
  requireFullView(to, 'A migration');
}

/**
 * Lists the live tokens of a controller, with each owner's account on the gateway, and what to do about each.
 * Reads only.
 * @throws TokenctlError as {@link requireSides}, and as the targets.
 */
export async function planMigration(options: PlanOptions): Promise<MigrationPlan> {
  const { from, to, usedSince, migrated } = options;
  requireSides(from.description, to.description);
  const unknown: string[] = [];
  const living = await Array.fromAsync(from.target.tokens({ expiresAfter: from.clock.now() }));
  const [owners, accounts] = [await usersOf(from.target), await usersOf(to.target)];
  if (owners.resourceIds === null || accounts.resourceIds === null) {
    const { context } = owners.resourceIds === null ? from.description : to.description;
    unknown.push(`${context} does not show the platform's user IDs, so accounts are matched only by name`);
  }
  const matched = matchAccounts(owners, accounts);
  const twins = await twinsOf(
    options,
    living.flatMap(({ application }) => application?.id ?? []),
  );
  const uses = await lastUses(from.target, { tokens: living, now: from.clock.now() });
  const unread = living.filter(({ id }) => !uses.has(id)).length;
  if (unread > 0) unknown.push(`The last use of ${unread} tokens is not known, so they count as used`);
  const ownerOf = new Map(owners.users.map((user) => [user.id, user]));
  const twinOf = new Map(twins.map((each) => [each.id, each.twin]));
  const there = await newTokens(to.target, migrated);
  const newOf = new Map(migrated.filter(({ token }) => there.has(token)).map((each) => [each.old.id, each]));
  const counts = Object.fromEntries(NEXT_STEPS.map((step) => [step, 0])) as Record<NextStep, number>;
  const tokens = living.map(({ id, user, application, scope, description, created, expires }) => {
    const account = user === null ? undefined : matched.get(user.id);
    const known = newOf.get(id);
    const isMigrated = known !== undefined && isSameInstant(known.old.created, created);
    const lastUsed = uses.get(id);
    const owner = user === null ? undefined : ownerOf.get(user.id);
    const hasTwin = application !== null && (twinOf.get(application.id) ?? null) !== null;
    const next = nextStepOf({ application, lastUsed }, { owner, account, hasTwin, isMigrated, usedSince });
    counts[next] += 1;
    return {
      ...{ id, user, application, scope, description, created, expires, lastUsed, next },
      ...{ account: account?.account ?? null, matchedBy: account?.by ?? null },
      newToken: isMigrated ? known.token : null,
    };
  });
  const without = tokens.flatMap(({ account, user }) =>
    account === null && user !== null ? user.username : [],
  );
  return {
    ...{ tokens, counts, unknown, applications: twins },
    withoutAccount: [...new Set(without)].sort(),
  };
}

/** The gateway's tokens that replaced others, as it lists them now. */
export async function newTokens(
  target: Target,
  migrated: readonly MigratedToken[],
): Promise<ReadonlyMap<number, Token>> {
  if (migrated.length === 0) return new Map();
  const listed = await Array.fromAsync(target.tokens({ ids: migrated.map(({ token }) => token) }));
  const subjects = new Map(migrated.map(({ token, subject }) => [token, subject]));
  const isSame = (token: Token) => {
    const subject = subjects.get(token.id) ?? null;
    return subject !== null && isTokenOf(subject, token);
  };
  return new Map(listed.filter(isSame).map((token) => [token.id, token]));
}

async function usersOf({ users }: Target): Promise<SideUsers> {
  return { users: await Array.fromAsync(users.list()), resourceIds: (await users.resourceIds?.()) ?? null };
}

/** The counterparts of the controller's applications with these ids. */
async function twinsOf({ from, to }: Sides, ids: readonly number[]): Promise<readonly ApplicationTwin[]> {
  const used = new Set(ids);
  if (used.size === 0) return [];
  const own = (await from.target.applications.list()).filter(({ id }) => used.has(id));
  const names = new Set(own.map(({ name }) => name));
  const others = (await to.target.applications.list()).filter(({ name }) => names.has(name));
  return matchApplications(await placed(from.target, own), await placed(to.target, others));
}

/** Applications with their organizations' names, if this account may read them. */
async function placed(
  { applications, users }: Target,
  listed: readonly { readonly id: number; readonly name: string }[],
): Promise<readonly PlacedApplication[]> {
  const groups = await ifReadable(users.groups('organization'));
  const names = new Map(groups?.map(({ id, name }) => [id, name]));
  const found: PlacedApplication[] = [];
  for (const { id, name } of listed) {
    const organizationId = (await ifReadable(applications.find(id)))?.organizationId;
    const organization = organizationId === null ? null : names.get(organizationId ?? 0);
    found.push({ id, name, organization });
  }
  return found;
}

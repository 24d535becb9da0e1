import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { someOf } from '@tokenctl/common/text.ts';
import canonicalize from 'canonicalize';
import type { ApprovablePlan } from '../../domain/approval.ts';
import type { LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { RevocationPlan, SavedPlanReference } from '../../domain/plan.ts';
import { PlanBuilder } from '../../domain/plan-builder.ts';
import { selectionOf } from '../../domain/remedies.ts';
import type { Token } from '../../domain/token.ts';
import { pathsNotCovered } from '../access/not-covered.ts';
import { entryTarget, isSameController } from '../journal/journal.ts';
import type { ReadTarget, Target, TargetDescription } from '../ports/target.ts';
import { knownSettings, refreshLifetimeIn } from '../scope/known-settings.ts';
import { notPossible, partOf } from '../scope/target-parts.ts';
import { unseenPart } from '../scope/visibility.ts';
import { refuseTooLarge } from './plan-revocation.ts';

/** A token of a saved plan, with what distinguishes it from another one with the same id. Never its value. */
export interface PlannedToken {
  readonly id: number;
  /** The owner; null if the owner's row is missing. */
  readonly user: { readonly id: number; readonly username: string } | null;
  /** The application's name; null for a personal token. */
  readonly application: string | null;
  /** RFC 3339. */
  readonly created: string;
  /** As in {@link Token.fingerprint}; authorization codes have none. */
  readonly fingerprint: string | null;
  /** The details of an access token for a second person. Plans of version 0.2.0 lack them. */
  readonly details?: {
    readonly scope: string;
    /** The first 200 characters. */
    readonly description: string;
    /** RFC 3339. */
    readonly expires: string;
    /** RFC 3339; null for never; missing if the target does not show it. */
    readonly lastUsed?: string | null;
  };
}

/** The common content of all plan files. Plain JSON without secrets. */
interface PlanFile extends ApprovablePlan {
  readonly version: 1;
  /** When (RFC 3339), and by whom, in the form of an audit log entry's actor. */
  readonly made: { readonly at: string; readonly by: Readonly<Record<string, string>> };
  /** In the form of an audit log entry's target. */
  readonly target: Readonly<Record<string, string>>;
  /** The selection in words. */
  readonly selection: string;
  /** Reason and ticket of its author; recorded when it is applied, unless others are given then. */
  readonly reason?: string;
  readonly ticket?: string;
  /** Present if its author requested a second person's approval, whatever the configuration says. */
  readonly requiresApproval?: true;
  /** SHA-256 (hex) of the canonical JSON (RFC 8785) of all other members. */
  readonly digest: string;
}

/**
 * A saved lockdown: which access paths are closed, for which users, and for how long. The tokens are not part
 * of it: a lockdown revokes what exists when it runs.
 */
export interface SavedLockdown extends PlanFile {
  readonly format: 'tokenctl-lockdown-plan';
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** In milliseconds; null for until it is lifted. */
  readonly lasts: number | null;
}

/** A new end of a lease. */
export interface SavedExtension extends PlanFile {
  readonly format: 'tokenctl-extension-plan';
  readonly lease: string;
  readonly token: number;
  readonly user: string;
  /** The new end (RFC 3339). */
  readonly until: string;
}

/** The description of an extension for an approver, derived from its data. */
export function extensionText({
  lease,
  token,
  user,
  until,
}: Omit<SavedExtension, keyof PlanFile | 'format'>): string {
  return `the end of ${lease}, token ${token} of ${user}, to ${until}`;
}

export type AnyPlan = SavedPlan | SavedLockdown | SavedExtension;

/** A saved revocation, to be reviewed and applied later. */
export interface SavedPlan extends PlanFile {
  readonly format: 'tokenctl-plan';
  /** Whether the refresh tokens of the access tokens are revoked with them. */
  readonly withRefreshTokens: boolean;
  /** Whether the own credential may be revoked. */
  readonly includeOwn: boolean;
  readonly accessTokens: readonly PlannedToken[];
  /** Refresh tokens without one of these access tokens. */
  readonly refreshTokens: readonly PlannedToken[];
  readonly authorizationCodes: readonly PlannedToken[];
}

/** The maximum number of tokens in a saved plan: people have to read it. */
const MAX_TOKENS = 100_000;

/**
 * Saves a plan: reads what distinguishes its tokens from others that may have their ids later. Changes
 * nothing.
 * @throws TokenctlError `plan_too_large` above 100,000 tokens.
 */
export async function savePlan(options: {
  readonly plan: RevocationPlan;
  readonly includeOwn: boolean;
  readonly requiresApproval?: boolean;
  readonly account?: Pick<SavedPlan, 'reason' | 'ticket'>;
  readonly target: Target;
  readonly description: TargetDescription;
  readonly at: Date;
  readonly by: Readonly<Record<string, string>>;
}): Promise<SavedPlan> {
  const { plan, target, description } = options;
  refuseTooLarge(plan.tokenIds.length + plan.refreshTokenIds.length, MAX_TOKENS);
  const { tokenIds, refreshTokenIds, authorizationCodeIds: codeIds } = plan;
  const saved: Omit<SavedPlan, 'digest'> = {
    format: 'tokenctl-plan',
    version: 1,
    made: { at: options.at.toISOString(), by: options.by },
    target: entryTarget(description),
    selection: plan.selection,
    ...options.account,
    ...(options.requiresApproval === true && { requiresApproval: true }),
    withRefreshTokens: plan.reach.refreshTokens,
    includeOwn: options.includeOwn,
    accessTokens: await planned(tokenIds, () => target.tokens({ ids: tokenIds })),
    refreshTokens: await planned(refreshTokenIds, () =>
      partOf(target, 'refreshTokens').list({ ids: refreshTokenIds }),
    ),
    authorizationCodes: await planned(codeIds, () =>
      partOf(target, 'authorizationCodes').list({ ids: codeIds, state: 'live' }),
    ),
  };
  return { ...saved, digest: digestOf(saved) };
}

type Identity = Pick<Token, 'id' | 'user' | 'application' | 'created'> &
  Partial<Pick<Token, 'fingerprint' | 'scope' | 'description' | 'expires' | 'lastUsed'>>;

const SHOWN_OF_DESCRIPTION = 200;

/** The tokens of a plan. If there are none, the target need not have the part that lists them. */
async function planned(ids: readonly number[], tokens: () => AsyncIterable<Identity>) {
  return ids.length === 0 ? [] : await Array.fromAsync(tokens(), plannedToken);
}

function plannedToken({ id, user, application, created, fingerprint, ...token }: Identity): PlannedToken {
  const { scope, description = '', expires, lastUsed } = token;
  return {
    id,
    user: user === null ? null : { id: user.id, username: user.username },
    application: application?.name ?? null,
    created: created.toISOString(),
    fingerprint: fingerprint ?? null,
    ...(scope !== undefined &&
      expires !== undefined && {
        details: {
          scope,
          description: description.slice(0, SHOWN_OF_DESCRIPTION),
          expires: expires.toISOString(),
          ...(lastUsed !== undefined && { lastUsed: lastUsed?.toISOString() ?? null }),
        },
      }),
  };
}

/** The digest that a saved plan must have; an edited plan has another one. */
export function digestOf(
  saved: Omit<SavedPlan, 'digest'> | Omit<SavedLockdown, 'digest'> | Omit<SavedExtension, 'digest'>,
): string {
  const { digest: _, ...others } = saved as AnyPlan;
  return createHash('sha256')
    .update(canonicalize(others) ?? '')
    .digest('hex');
}

/**
 * Plans the revocation of exactly the tokens of a saved plan that still exist. Tokens that no longer exist
 * are in `saved.gone`. Reads only.
 * @throws TokenctlError `plan_outdated` for the plan of another controller, or if an id now belongs to
 * another token; `unsupported` if this target cannot revoke the refresh tokens or authorization codes of the
 * plan; `plan_too_large`.
 */
export async function planFromSaved(
  options: ReadTarget & {
    readonly saved: SavedPlan;
    readonly atMost?: number | undefined;
    /** Refuses a token whose owner or application was renamed since: a second person approves the names. */
    readonly sameNames?: boolean;
  },
): Promise<RevocationPlan> {
  const { saved, target, description, clock, sameNames = false } = options;
  requireApplicable(saved, options);
  const reach = {
    refreshTokens: saved.withRefreshTokens,
    authorizationCodes: saved.authorizationCodes.length > 0,
    sessions: false,
  };
  const settings = await knownSettings(target);
  const lifetime = refreshLifetimeIn(settings);
  const builder = new PlanBuilder({
    ...(lifetime !== null && { refreshExpiry: { lifetime, now: clock.now() } }),
    selection: saved.selection,
    context: description.context,
    ownTokenIds: await target.ownTokenIds(),
    includeOwn: saved.includeOwn,
    reach,
  });
  const accessTokens = await readPlanned(
    { kind: 'access token', tokens: saved.accessTokens, sameNames },
    (ids) => target.tokens({ ids }),
    (token) => builder.add(token),
  );
  const refreshTokens = await readPlanned(
    { kind: 'refresh token', tokens: saved.refreshTokens, sameNames },
    (ids) => partOf(target, 'refreshTokens').list({ ids, states: UNREVOKED }),
    (token) => builder.addRefreshToken(token),
  );
  const codes = await readPlanned(
    { kind: 'authorization code', tokens: saved.authorizationCodes, sameNames },
    (ids) => partOf(target, 'authorizationCodes').list({ ids, state: 'live' }),
    (code) => builder.addAuthorizationCode(code),
  );
  const changed = [accessTokens, refreshTokens, codes].flatMap(({ changed }) => changed);
  if (changed.length > 0) throw changedError(changed);
  const gone = {
    accessTokens: accessTokens.gone,
    refreshTokens: refreshTokens.gone,
    authorizationCodes: codes.gone,
  };
  const isWhole = Object.values(gone).every((ids) => ids.length === 0);
  const plan = builder.build({
    accessPaths: await pathsNotCovered({
      target,
      description,
      settings,
      tokensWithRefreshToken: builder.tokensWithRefreshToken,
      expiredRefreshTokens: builder.expiredRefreshTokens,
      reach,
      selection: selectionOf({ ids: [] }, builder.ownerNames),
    }),
    absentIds: gone.accessTokens,
    notSeen: isWhole ? null : unseenPart(description, {}),
  });
  refuseTooLarge(plan.tokenIds.length + plan.refreshTokenIds.length, options.atMost);
  return { ...plan, saved: referenceTo(saved, gone) };
}

/** The states of refresh tokens that a revocation changes. */
const UNREVOKED = ['live', 'orphaned'] as const;

function referenceTo(saved: SavedPlan, gone: SavedPlanReference['gone']): SavedPlanReference {
  const { digest, made, accessTokens, refreshTokens, authorizationCodes } = saved;
  return {
    digest,
    made,
    accessTokens: accessTokens.length,
    refreshTokens: refreshTokens.length,
    authorizationCodes: authorizationCodes.length,
    gone,
  };
}

/**
 * Reads the tokens of a plan, and calls back for each unchanged one. Reads nothing if none is expected.
 * @returns The ids of tokens that no longer exist, and, as text, those whose id belongs to another token now.
 */
async function readPlanned<Found extends Identity>(
  { kind, tokens, sameNames }: { kind: string; tokens: readonly PlannedToken[]; sameNames: boolean },
  read: (ids: readonly number[]) => AsyncIterable<Found>,
  add: (token: Found) => void,
): Promise<{ readonly gone: readonly number[]; readonly changed: readonly string[] }> {
  if (tokens.length === 0) return { gone: [], changed: [] };
  const byId = new Map(tokens.map((token) => [token.id, token]));
  const missing = new Set(byId.keys());
  const changed: string[] = [];
  for await (const token of read([...byId.keys()])) {
    missing.delete(token.id);
    const expected = byId.get(token.id);
    const found = plannedToken(token);
    const isNamed = !sameNames || hasSameNames(expected, found);
    if (expected !== undefined && isSame(expected, found) && isNamed) add(token);
    else changed.push(`${kind} ${token.id}`);
  }
  return { gone: [...missing], changed };
}

/** Names may change; the owner's id, the time and the value do not. */
function isSame(one: PlannedToken, other: PlannedToken): boolean {
  const sameValue =
    one.fingerprint === null || other.fingerprint === null || one.fingerprint === other.fingerprint;
  return one.created === other.created && one.user?.id === other.user?.id && sameValue;
}

function hasSameNames(one: PlannedToken | undefined, other: PlannedToken): boolean {
  return one?.user?.username === other.user?.username && one?.application === other.application;
}

export function requireSameController(
  { target }: Pick<PlanFile, 'target'>,
  description: TargetDescription,
): void {
  if (!isSameController(target, description)) {
    throw new TokenctlError(
      'plan_outdated',
      `The plan was created for ${target['address']} (context ${target['context']}), not for ${description.address}`,
      { hint: "Select the plan's context with --context." },
    );
  }
}

function requireApplicable(
  saved: SavedPlan,
  { target: here, description }: { target: Target; description: TargetDescription },
): void {
  const { target } = saved;
  requireSameController(saved, description);
  const { refreshTokens, authorizationCodes } = here;
  const needsDatabase =
    (saved.withRefreshTokens && !refreshTokens) ||
    (saved.authorizationCodes.length > 0 && !authorizationCodes);
  if (!needsDatabase) return;
  throw notPossible(
    `The plan includes refresh tokens or authorization codes, which cannot be revoked at ${description.address}`,
    `Use the plan's context (${target['context']}), or create a new plan here.`,
  );
}

/** The maximum number of changed tokens in the message. */
const NAMED = 5;

function changedError(changed: readonly string[]): TokenctlError {
  return new TokenctlError(
    'plan_outdated',
    `The plan is outdated: ${someOf(changed, NAMED)} is no longer the token in the plan`,
    { hint: 'Create a new plan with --plan-out.', details: { changed } },
  );
}

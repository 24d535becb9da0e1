import type { Runtime } from '../app/runtime.ts';
import { TokenctlError } from '../domain/errors.ts';
import { type CleanupReport, cleanupTokens } from '../operations/cleanup/cleanup-tokens.ts';
import {
  type CleanupKind,
  type CleanupPlan,
  cleanupKinds,
  planCleanup,
} from '../operations/cleanup/plan-cleanup.ts';
import type { TargetDescription } from '../operations/ports/target.ts';
import { type MaybeMade, type NotMade, type Report, report } from '../reports/tables/result.ts';
import { countText, numberText, printable } from '../reports/tables/text.ts';
import type { Confirmation } from './confirmation.ts';
import { unfinishedWork } from './errors/failure.ts';
import type { ChangeFlags } from './flags.ts';

/** The default time to keep revoked refresh tokens. */
export const KEEP_REVOKED_FOR = 30 * 86_400_000;

/** What `tokens cleanup` prints with `--json`. Without a change, the members of the report are null. */
export interface CleanupJson extends MaybeMade<CleanupReport> {
  readonly dryRun: boolean;
  readonly plan: Omit<CleanupPlan, 'ids'>;
}

export interface CleanupRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: ChangeFlags & {
    /** In milliseconds. */
    readonly 'keep-revoked-for'?: number | undefined;
    readonly limit?: number | undefined;
  };
}

/**
 * Plans, confirms, deletes and reports.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations
 */
export async function cleanupFlow({
  runtime,
  confirmation,
  flags,
}: CleanupRequest): Promise<Report<CleanupJson>> {
  const plan = await planFor(runtime, flags);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  if (dryRun || plan.total === 0) return cleanupPlanResult(plan, { description, dryRun });
  await confirmation.confirm({
    plan: cleanupPlanText(plan, description),
    act: `delete ${countText(plan.total, 'row')}`,
    type: String(plan.total),
  });
  return cleanupResult(await cleanupTokens({ ...(await runtime.change(flags)), plan }), plan);
}

async function planFor(runtime: Runtime, flags: CleanupRequest['flags']): Promise<CleanupPlan> {
  const { 'keep-revoked-for': keepRevokedFor, limit } = flags;
  return await planCleanup({
    target: await runtime.target(),
    clock: runtime.clock,
    description: await runtime.description(),
    keepRevokedFor: keepRevokedFor ?? KEEP_REVOKED_FOR,
    ...(limit !== undefined && { limit }),
  });
}

const KINDS: Readonly<Record<CleanupKind, string>> = {
  expiredAuthorizationCodes: 'expired authorization codes',
  expiredAccessTokens: 'expired access tokens',
  expiredRefreshTokens: 'expired refresh tokens',
  revokedRefreshTokens: 'revoked refresh tokens',
  orphanedRefreshTokens: 'orphaned refresh tokens',
};

/** Failed rows of a kind to list. */
const SHOWN = 5;

/** A cleanup plan as text. */
function cleanupPlanText(plan: CleanupPlan, { address, context, identity }: TargetDescription): string {
  const { total, counts, kept, limited, notPossible, notSeen } = plan;
  const lines = [
    total === 0
      ? `Nothing${notSeen === null ? '' : ' visible'} to clean up.`
      : `Would delete ${countText(total, 'row')}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    ...(total === 0 ? [] : ['', ...kindLines((kind) => counts[kind])]),
    ...remarkLines({ kept, limited, notPossible, notSeen }),
  ];
  return `${lines.join('\n')}\n`;
}

/** A plan as a result, for `--dry-run` or if there is nothing to delete; without the ids. */
export function cleanupPlanResult(
  plan: CleanupPlan,
  { description, dryRun }: { readonly description: TargetDescription; readonly dryRun: boolean },
): Report<CleanupJson> {
  return report({
    json: { dryRun, plan: planToJson(plan), ...NOT_CLEANED },
    amount: { what: 'row', planned: plan.total, done: 0, dryRun },
    text: () => cleanupPlanText(plan, description) + (dryRun ? '\nDry run. Nothing was changed.\n' : ''),
    failure: incomplete(plan),
  });
}

/** An account that sees only part cannot clean up the whole. */
function incomplete({ notSeen }: Pick<CleanupPlan, 'notSeen'>): TokenctlError | undefined {
  if (notSeen === null) return undefined;
  return new TokenctlError('partly_done', `Not all tokens are included: ${notSeen}`, {
    hint: "Use a superuser's account, or a database context.",
  });
}

function planToJson({ ids: _ids, ...counted }: CleanupPlan): CleanupJson['plan'] {
  return counted;
}

const NOT_CLEANED: NotMade<CleanupReport> = {
  byKind: null,
  planned: null,
  deleted: null,
  kept: null,
  limited: null,
  notPossible: null,
  notSeen: null,
  interrupted: null,
  stopped: null,
  run: null,
  seconds: null,
};

/** The result of a cleanup, with its plan. */
export function cleanupResult(cleanup: CleanupReport, plan: CleanupPlan): Report<CleanupJson> {
  const { planned, deleted, interrupted, stopped } = cleanup;
  const kinds = cleanupKinds.map((kind) => cleanup.byKind[kind]);
  return report({
    json: { dryRun: false, plan: planToJson(plan), ...cleanup },
    amount: { what: 'row', planned, done: deleted },
    text: () => cleanupText(cleanup),
    failure:
      unfinishedWork({
        interrupted,
        stopped,
        open: kinds.some(({ failed, notTried }) => failed.length > 0 || notTried > 0),
        left: `${numberText(deleted)} of ${countText(planned, 'row')} were deleted`,
      }) ?? incomplete(cleanup),
  });
}

function cleanupText(cleanup: CleanupReport): string {
  const { planned, deleted, byKind, seconds, run } = cleanup;
  const lines = [
    `Deleted ${numberText(deleted)} of ${countText(planned, 'row')} in ${seconds.toFixed(1)} s.`,
    ...kindLines((kind) => byKind[kind].deleted),
    ...cleanupKinds.flatMap((kind) => failedLines(kind, cleanup)),
    `Audit log: run ${run}.`,
    ...remarkLines(cleanup),
  ];
  return `${lines.join('\n')}\n`;
}

function kindLines(count: (kind: CleanupKind) => number): string[] {
  const rows = cleanupKinds.map((kind) => [numberText(count(kind)), KINDS[kind]] as const);
  const width = Math.max(...rows.map(([number]) => number.length));
  return rows.map(([number, name]) => `  ${number.padStart(width)}  ${name}`);
}

function failedLines(kind: CleanupKind, { byKind }: CleanupReport): string[] {
  const { failed } = byKind[kind];
  const rest = failed.length - SHOWN;
  return [
    ...failed
      .slice(0, SHOWN)
      .map(({ tokenId, reason }) => `Failed: ${KINDS[kind]}: ${tokenId}: ${printable.value(reason)}`),
    ...(rest > 0 ? [`Failed: ${KINDS[kind]}: ${countText(rest, 'more', 'more')}.`] : []),
  ];
}

function remarkLines({
  kept,
  limited,
  notPossible,
  notSeen,
}: Pick<CleanupPlan, 'kept' | 'limited' | 'notPossible' | 'notSeen'>): string[] {
  const lines = [
    ...(kept === 0 ? [] : [`Kept: ${countText(kept, 'expired access token')} with a usable refresh token.`]),
    ...(limited ? ['Stopped at --limit; more rows remain.'] : []),
    ...(notPossible === null ? [] : [notPossible]),
    ...(notSeen === null ? [] : [`Not all tokens are included: ${printable.value(notSeen)}.`]),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

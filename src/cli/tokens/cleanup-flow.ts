import { type CleanupReport, cleanupTokens } from '../../operations/cleanup/cleanup-tokens.ts';
import {
  type CleanupKind,
  type CleanupPlan,
  cleanupKinds,
  planCleanup,
} from '../../operations/cleanup/plan-cleanup.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { emphasized, lines, type Part, warning, would } from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { countText, numberText } from '../../reports/tables/text.ts';
import { type ChangeRequest, type Ending, notMade, type PlannedChange } from '../change/change.ts';
import { failedLines, notSeenFailure, runLine, tookText, unfinishedWork } from '../change/ending.ts';
import { placeText } from '../change/plan-text.ts';
import type { CleanupFlags } from '../revocation/revocation-flags.ts';

/** The default retention of revoked refresh tokens, in milliseconds. */
export const KEEP_REVOKED_FOR = 30 * 86_400_000;

/** What `tokens cleanup` prints with `--json`. Without a change, the members of the report are null. */
export interface CleanupJson extends MaybeMade<CleanupReport> {
  readonly dryRun: boolean;
  readonly plan: Omit<CleanupPlan, 'ids'>;
}

export async function cleanupFlow(
  request: ChangeRequest<CleanupFlags>,
): Promise<PlannedChange<CleanupReport, CleanupJson>> {
  const { runtime, flags } = request;
  const { 'keep-revoked-for': keepRevokedFor = KEEP_REVOKED_FOR, limit } = flags;
  const read = await runtime.readTarget();
  const plan = await planCleanup({ ...read, keepRevokedFor, limit });
  return cleanupChange(plan, read.description);
}

const KINDS: Readonly<Record<CleanupKind, string>> = {
  expiredAuthorizationCodes: 'expired authorization codes',
  expiredAccessTokens: 'expired access tokens',
  expiredRefreshTokens: 'expired refresh tokens',
  revokedRefreshTokens: 'revoked refresh tokens',
  orphanedRefreshTokens: 'orphaned refresh tokens',
};

/** The maximum number of failed rows of a kind to list. */
const SHOWN = 5;

/** What a cleanup shows, does and reports; its JSON omits the ids. */
export function cleanupChange(
  plan: CleanupPlan,
  description: TargetDescription,
): PlannedChange<CleanupReport, CleanupJson> {
  const { ids: _ids, ...counted } = plan;
  const { total, counts, notSeen } = plan;
  return {
    plan: [
      lines(
        total > 0
          ? would`delete ${countText(total, 'row')}.`
          : `Nothing${notSeen === null ? '' : ' visible'} to clean up.`,
        placeText(description),
      ),
      total > 0 && kindCounts((kind) => counts[kind]),
      remarks(plan),
    ],
    question: total === 0 ? null : { act: `delete ${countText(total, 'row')}`, type: String(total) },
    amount: { what: 'row', planned: total },
    incomplete: incomplete(plan, description),
    act: async (begin) => cleanupTokens({ ...(await begin()), plan }),
    ended: (done) => cleanupEnding(done, description),
    json: ({ dryRun, done }) => ({
      dryRun,
      plan: counted,
      ...(done ??
        notMade('byKind planned deleted kept limited notPossible notSeen interrupted stopped run seconds')),
    }),
  };
}

function cleanupEnding(done: CleanupReport, viewer: TargetDescription): Ending {
  const { planned, deleted, byKind, interrupted, stopped, seconds, run } = done;
  const text = `${numberText(deleted)} of ${countText(planned, 'row')}`;
  return {
    document: [
      lines(emphasized`Deleted ${text} ${tookText(seconds)}.`),
      kindCounts((kind) => byKind[kind].deleted),
      lines(
        cleanupKinds.map((kind) => failedLines(`${KINDS[kind]}:`, byKind[kind].failed, SHOWN)),
        runLine(run),
      ),
      remarks(done),
    ],
    amount: { what: 'row', planned, done: deleted },
    failure:
      unfinishedWork({
        interrupted,
        stopped,
        open: Object.values(byKind).some(({ failed, notTried }) => failed.length > 0 || notTried > 0),
        left: `${text} were deleted`,
      }) ?? incomplete(done, viewer),
  };
}

/** An account that does not see everything cannot clean up everything. */
function incomplete({ notSeen }: Pick<CleanupPlan, 'notSeen'>, viewer: TargetDescription) {
  return notSeen === null ? undefined : notSeenFailure(`Not all tokens are included: ${notSeen}`, viewer);
}

function kindCounts(count: (kind: CleanupKind) => number): Part {
  return { kind: 'counts', counts: cleanupKinds.map((kind) => [count(kind), KINDS[kind]]) };
}

function remarks({
  kept,
  limited,
  notPossible,
  notSeen,
}: Pick<CleanupPlan, 'kept' | 'limited' | 'notPossible' | 'notSeen'>): Part {
  return lines(
    kept > 0 && warning`Kept: ${countText(kept, 'expired access token')} with a usable refresh token.`,
    limited && 'Stopped at --limit; more rows remain.',
    notPossible,
    notSeen !== null && `Not all tokens are included: ${notSeen}.`,
  );
}

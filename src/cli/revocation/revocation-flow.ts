import { TokenctlError } from '@tokenctl/common/errors.ts';
import { linkedDatabase } from '../../app/linked-database.ts';
import type { Runtime } from '../../app/runtime.ts';
import { sentenceOf } from '../../domain/access.ts';
import { amountsOf, isNothing, type RevocationPlan, type SavedPlanReference } from '../../domain/plan.ts';
import type { Selection } from '../../domain/selector.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { planSelected } from '../../operations/revocation/plan-selected.ts';
import { readLinked } from '../../operations/revocation/read-linked.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import {
  requireMayRevoke,
  revocationRefusal,
  revokeTokens,
} from '../../operations/revocation/revoke-tokens.ts';
import type { SavedPlan } from '../../operations/revocation/saved-plan.ts';
import { notCovered } from '../../reports/access-lines.ts';
import { type Line, lines, warning } from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { needsTwoPersons, revocationGuard } from '../change/approval.ts';
import {
  type ChangeRequest,
  notMade,
  type Outcome,
  type PlanFileJson,
  type PlannedChange,
} from '../change/change.ts';
import { notSeenFailure } from '../change/ending.ts';
import { writePlanFile } from '../change/plan-file.ts';
import { revocationEnding } from './revocation-ending.ts';
import type { RevocationFlags } from './revocation-flags.ts';
import { planDocument, questionFor } from './revocation-plan.ts';

/** The maximum number of ids in a JSON plan; a million ids would be 40 MB. */
const MAX_IDS = 10_000;

/** A plan as `--json` shows it, with totals. A large plan has null instead of ids and owners. */
interface RevocationPlanJson
  extends Omit<RevocationPlan, 'tokenIds' | 'owners' | 'refreshTokenIds' | 'refreshTokenOwners'> {
  readonly accessTokens: number;
  /** Including those of access tokens. */
  readonly refreshTokens: number;
  readonly authorizationCodes: number;
  /** In working order; null in a plan of more than 10,000 tokens, which the digest identifies. */
  readonly tokenIds: readonly number[] | null;
  /** `owners[i]` owns `tokenIds[i]`. */
  readonly owners: readonly string[] | null;
  /** Refresh tokens without a selected access token. */
  readonly refreshTokenIds: readonly number[] | null;
  readonly refreshTokenOwners: readonly string[] | null;
}

/** What `tokens revoke` prints with `--json`. If nothing was revoked, the members of the report are null. */
export interface RevocationJson extends MaybeMade<Omit<RevocationReport, 'plan'>>, PlanFileJson {
  readonly dryRun: boolean;
  /** Null if the plan is unknown. */
  readonly plan: RevocationPlanJson | null;
  /** The plan that was applied with --plan; null without it. */
  readonly savedPlan: SavedPlanReference | null;
}

export interface RevocationRequest extends ChangeRequest<RevocationFlags> {
  /** The selection, or a saved plan to apply instead. */
  readonly selection: Selection | SavedPlan;
  /** As the management command: keeps authorization codes; tokens created since the plan do not matter. */
  readonly isManagement?: boolean;
}

/** Plans a revocation. Throws `plan_too_large`, and the errors of the operations. */
export async function revocationFlow(
  request: RevocationRequest,
): Promise<PlannedChange<RevocationReport, RevocationJson>> {
  const { runtime, flags, selection, isManagement = false } = request;
  const { 'include-own': includeOwn = false } = flags;
  const read = await runtime.readTarget();
  const { description } = read;
  const linked = await linkedDatabase(runtime);
  const { plan, saved, selector } = await planSelected({
    ...read,
    linked,
    selection,
    includeOwn,
    accessOnly: flags['access-only'] === true,
    keepCodes: isManagement,
    withSessions: flags['with-sessions'] === true,
    sameNames:
      'format' in selection && needsTwoPersons(runtime, { context: description.context, saved: selection }),
    violating: await violatingOf(request),
    atMost: flags['at-most'],
  });
  const change = revocationChange(plan, { description, saved });
  return {
    ...change,
    plan: [...change.plan, lines(await inUseTexts(runtime, plan))],
    save: (path) => writePlanFile(runtime, { path, plan, includeOwn, flags }),
    act: async (begin) => {
      const again = isManagement ? undefined : selector;
      const done = await revokeTokens({ ...(await begin()), plan, selector: again });
      if (linked === undefined) return done;
      const accessPaths = await readLinked(done.accessPaths, linked, { plan, selector, isDone: true });
      return { ...done, accessPaths };
    },
  };
}

/** A warning that other contexts use tokens of the plan. Skipped over REST, where it takes seconds each. */
async function inUseTexts(runtime: Runtime, { tokenIds }: RevocationPlan): Promise<readonly Line[]> {
  const { credential } = await runtime.description();
  if (credential !== 'database_role' || tokenIds.length === 0) return [];
  const { tokensInUse } = await import('../../app/tokens-in-use.ts');
  const { contexts } = await tokensInUse(runtime);
  return [...contexts]
    .filter(([id]) => tokenIds.includes(id))
    .map(([id, name]) => warning`The context ${name} uses token ${String(id)}, and then needs a new one.`);
}

/** What a revocation shows, does and reports. */
export function revocationChange(
  plan: RevocationPlan,
  { description, saved }: { description: TargetDescription; saved?: SavedPlan | undefined },
): Omit<PlannedChange<RevocationReport, RevocationJson>, 'after'> {
  const amounts = amountsOf(plan);
  // Applying the rest of a plan needs the approval that the whole plan needed.
  const inPlan = (saved?.accessTokens.length ?? 0) + (saved?.refreshTokens.length ?? 0);
  const tokens = amounts.accessTokens + amounts.refreshTokens;
  const incomplete =
    plan.notSeen === null
      ? undefined
      : notSeenFailure(`The plan is incomplete: ${plan.notSeen}`, description);
  return {
    plan: planDocument(plan, description),
    namesSessions: plan.sessions !== null,
    planJson: revocationJson(plan)({ dryRun: true, done: null, file: { planFile: null, digest: null } }),
    preview: [!isNothing(amounts) && notCovered(plan.accessPaths)],
    question: isNothing(amounts) ? null : questionFor(amounts),
    amount: { what: 'token', planned: tokens },
    require: () => requireMayRevoke(plan, description),
    refusal: () => revocationRefusal(plan, description),
    guard: revocationGuard(Math.max(tokens, inPlan), saved),
    incomplete,
    nothing: () => ({
      document: planDocument(plan, description),
      failure: unseenFailure(plan) ?? incomplete,
    }),
    act: async (begin) => revokeTokens({ ...(await begin()), plan }),
    ended: revocationEnding,
    json: revocationJson(plan),
  };
}

/** The rules of `--finding`; undefined without the flag. */
async function violatingOf({ runtime, flags }: RevocationRequest) {
  if (flags.finding === undefined) return undefined;
  const { policyOf, ruleNamed } = await import('../flags/policy-flags.ts');
  return {
    rules: [...new Set(flags.finding)].map(ruleNamed),
    policy: policyOf(runtime, { policy: flags.policy }),
    openLog: () => runtime.auditLog(),
  };
}

/** The JSON of a revocation: the plan and the report, or null if nothing was done. */
function revocationJson(plan: RevocationPlan) {
  return ({ dryRun, done, file }: Outcome<RevocationReport>): RevocationJson => {
    const { plan: savedPlan = null, ...report } = done ?? {
      ...notMade(
        'planned revoked unchanged failed notTried stillAlive refreshTokens authorizationCodes sessions madeSince verification verified ownAccessEnded plan kept accessPaths interrupted stopped run seconds',
      ),
    };
    return { dryRun, plan: planToJson(plan), ...file, savedPlan, ...report };
  };
}

/** The failure if there is nothing to do but unlisted sessions may be accepted. */
function unseenFailure({ sessions }: RevocationPlan): TokenctlError | undefined {
  if (sessions?.unseen === undefined) return undefined;
  return new TokenctlError('partly_done', `Not checked: ${sentenceOf(sessions.unseen).replace(/\.$/, '')}`, {
    hint: 'To end their sessions immediately, deactivate the users, or add `cache` to the context.',
  });
}

/**
 * The JSON form of a plan. A plan of more than {@link MAX_IDS} tokens has null instead of ids and owners; its
 * digest identifies them.
 */
function planToJson(plan: RevocationPlan): RevocationPlanJson {
  const { accessTokens, refreshTokens, authorizationCodes } = amountsOf(plan);
  const isNamed = plan.tokenIds.length + plan.refreshTokenIds.length <= MAX_IDS;
  return {
    accessTokens,
    refreshTokens,
    authorizationCodes,
    ...plan,
    ...(!isNamed && { tokenIds: null, owners: null, refreshTokenIds: null, refreshTokenOwners: null }),
  };
}

import { existsSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile, writeNewFile, writeSecretFile } from '../../app/secret-file.ts';
import { approvalRuleOf } from '../../config/contexts.ts';
import { absolutePath } from '../../config/paths.ts';
import { readSecret } from '../../config/secrets.ts';
import { type Approval, type ApprovalRule, openApproval, signApproval } from '../../domain/approval.ts';
import { generateNoteKey, parseSigner } from '../../domain/note-key.ts';
import { type AppliedPlan, findApplied, noteApproval } from '../../operations/revocation/approve-plan.ts';
import type { AnyPlan, PlannedToken } from '../../operations/revocation/saved-plan.ts';
import { type Document, lines, list } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import {
  countOf,
  countsText,
  countText,
  dayText,
  expiryDayText,
  timeText,
} from '../../reports/tables/text.ts';
import { approvalPath, readApproval } from '../change/approval.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { runLine } from '../change/ending.ts';
import { readAnyPlan } from '../change/plan-file.ts';
import { tally } from '../change/plan-text.ts';
import type { ApproveFlags } from '../revocation/revocation-flags.ts';

/** What `plan show` prints with `--json`. */
export interface ShownPlanJson extends ApprovalState {
  readonly plan: AnyPlan;
  readonly approvalNeeded: boolean;
  readonly approvers: readonly string[];
  /** The last run that applied it, from the audit log in use; null for none. */
  readonly applied: AppliedPlan | null;
}

/** What `plan approve` prints with `--json`. */
export interface ApprovedPlanJson {
  readonly dryRun: boolean;
  readonly plan: AnyPlan;
  readonly approval: Approval;
  /** Null after a dry run. */
  readonly approvalFile: string | null;
  /** Whether it was already approved. */
  readonly unchanged: boolean;
  /** The run's UUID in the audit log; null if nothing was done. */
  readonly run: string | null;
}

/** What `plan key` prints with `--json`. */
export interface ApproverKeyJson {
  readonly name: string;
  readonly keyFile: string;
  readonly publicKey: string;
}

interface ApprovalState {
  readonly state: 'approved' | 'none' | 'invalid';
  readonly approval: Approval | null;
  /** Why it is invalid. */
  readonly why: string | null;
}

/**
 * Shows a plan, whether it is approved, and whether it was applied according to the audit log in use. Queries
 * no controller. Throws `configuration` for a file that is not a plan.
 */
export async function showPlan(
  { runtime, path }: { runtime: Runtime; path: string },
  flags: { readonly 'approval-file'?: string | undefined },
): Promise<Report<ShownPlanJson>> {
  const plan = readAnyPlan(path, 'The plan');
  const rule = ruleFor(runtime, plan);
  const approval = approvalState(plan, {
    rule,
    now: runtime.clock.now(),
    path: flags['approval-file'] ?? approvalPath(path),
  });
  const applied = await findApplied(await runtime.auditLog(), plan);
  const needed = plan.requiresApproval === true || rule.required;
  return report({
    json: { plan, approvalNeeded: needed, ...approval, approvers: Object.keys(rule.approvers), applied },
    document: [
      ...planDocument(plan),
      lines(
        `Approval: ${approvalText(approval, needed)}`,
        applied !== null &&
          `${applied.isDone ? 'Applied' : 'Started, but not finished'}: ${timeText(new Date(applied.at))}, run ${applied.run}, according to the current audit log.`,
      ),
    ],
  });
}

function ruleFor({ configuration }: Runtime, { target }: AnyPlan): ApprovalRule {
  return approvalRuleOf(configuration, target['context'] ?? '');
}

function approvalState(
  plan: AnyPlan,
  { rule, now, path }: { rule: ApprovalRule; now: Date; path: string },
): ApprovalState {
  const note = readApproval(path);
  if (note === null) return { state: 'none', approval: null, why: null };
  try {
    return { state: 'approved', approval: openApproval(note, { plan, rule, now }), why: null };
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    return { state: 'invalid', approval: null, why: error.message };
  }
}

function approvalText({ approval, why }: ApprovalState, needed: boolean): string {
  if (approval !== null) {
    const { by, user, host, at, expires } = approval;
    return `by ${by} (${user}@${host}) at ${instant(at)}, valid until ${instant(expires)}.`;
  }
  if (why !== null) return `invalid. ${why}.`;
  return needed ? 'pending.' : 'none.';
}

function instant(at: string): string {
  return timeText(new Date(at));
}

function planDocument(plan: AnyPlan): Document {
  const { made, target, selection, reason, ticket, digest } = plan;
  const { user, sudo_user: behind, host, as } = made.by;
  return [
    lines(
      `${DOES[plan.format]}: ${selection}.`,
      `At ${target['address']} (context ${target['context']}).`,
      `Created by ${behind ?? user}@${host}${as === undefined ? '' : ` as ${as}`} at ${instant(made.at)}.`,
      reason !== undefined && `Reason: ${reason}`,
      ticket !== undefined && `Ticket: ${ticket}`,
      `Digest: ${digest}`,
    ),
    ...partsOf(plan),
  ];
}

/** The action of a plan, before its selection. */
const DOES = {
  'tokenctl-plan': 'Revokes the tokens below. Its maker selected',
  'tokenctl-lockdown-plan': 'Locks down',
  'tokenctl-extension-plan': 'Moves',
} as const;

const APPLIES = {
  'tokenctl-plan': 'tokens revoke',
  'tokenctl-lockdown-plan': 'incident lockdown',
  'tokenctl-extension-plan': 'tokens leases',
} as const;

function partsOf(plan: AnyPlan): Document {
  if (plan.format === 'tokenctl-plan') return tokenParts(plan);
  return plan.format === 'tokenctl-lockdown-plan' ? [lines(measureLines(plan))] : [];
}

function tokenParts(plan: Extract<AnyPlan, { readonly format: 'tokenctl-plan' }>): Document {
  const { accessTokens, refreshTokens, authorizationCodes, withRefreshTokens, includeOwn } = plan;
  const all = [...accessTokens, ...refreshTokens, ...authorizationCodes];
  const counted = countsText([
    countOf(accessTokens.length, 'access token'),
    countOf(refreshTokens.length, 'refresh token'),
    countOf(authorizationCodes.length, 'authorization code'),
  ]);
  return [
    lines(
      `${counted}${withRefreshTokens ? ', and the refresh tokens of the access tokens' : ''}.`,
      includeOwn && "The context's own token may be among them.",
    ),
    tally('user', tallies(all.map(({ user }) => user?.username ?? '(none)'))),
    tally('application', tallies(all.map(({ application }) => application ?? '(personal)'))),
    ...accessTokenTable(accessTokens),
  ];
}

/** The maximum number of tokens shown; the file has all. */
const SHOWN_TOKENS = 50;

function accessTokenTable(tokens: readonly PlannedToken[]): Document {
  const shown = tokens.slice(0, SHOWN_TOKENS);
  const tellsUse = shown.some(({ details }) => details?.lastUsed !== undefined);
  const use = (at: string | null | undefined) => (at ? dayText(new Date(at)) : at === null ? 'never' : '');
  return [
    shown.length > 0 && {
      kind: 'table',
      heads: [
        ...['Id', 'User', 'Application', 'Scope', 'Expires'],
        ...(tellsUse ? ['Last used'] : []),
        'Description',
      ],
      rows: shown.map((token) => [
        ...[String(token.id), token.user?.username ?? '', token.application ?? '(personal)'],
        ...[token.details?.scope ?? '', token.details ? expiryDayText(new Date(token.details.expires)) : ''],
        ...(tellsUse ? [use(token.details?.lastUsed)] : []),
        token.details?.description ?? '',
      ]),
    },
    tokens.length > shown.length &&
      lines(
        `The first ${SHOWN_TOKENS} of ${countText(tokens.length, 'access token')}. The file contains all of them.`,
      ),
  ];
}

function tallies(names: readonly string[]): { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return Array.from(counts, ([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

function measureLines(plan: Extract<AnyPlan, { readonly format: 'tokenctl-lockdown-plan' }>): string[] {
  const { measures, lasts } = plan;
  const { basicAuthentication, externalTokens, deactivate, keepActive, lifetimes } = measures;
  const { resetPasswords, stripRoles, endApplications } = measures;
  const but = keepActive.length === 0 ? '' : ` except ${keepActive.join(', ')}`;
  return [
    ...(basicAuthentication ? ['Turns basic authentication off.'] : []),
    ...(externalTokens ? ['Stops external users from creating tokens.'] : []),
    ...(deactivate ? [`Deactivates the users${but}.`] : []),
    ...(resetPasswords ? ['Sets random passwords for the users, which are not stored.'] : []),
    ...(stripRoles ? ['Removes the roles of the users.'] : []),
    ...(endApplications
      ? [
          `Deletes the applications${plan.scope.kind === 'users' ? ' of the users' : ''} with their tokens. This cannot be undone.`,
        ]
      : []),
    'Revokes everything that exists when it runs: refresh tokens, access tokens, sessions.',
    ...(lifetimes ? ['Shortens the lifetimes of new tokens to one hour.'] : []),
    lasts === null ? 'The lockdown has no end time.' : `Ends ${lasts / 60_000} minutes after it starts.`,
  ];
}

/**
 * Plans the approval of a plan, signed with the caller's key: recorded in the audit log, then written to a
 * new file. Changes no controller. Does nothing if there is already a valid approval.
 * @throws TokenctlError `not_approved` for a key or a person that may not approve it, `plan_outdated` for an
 * applied plan, `audit_unavailable`, `configuration`
 */
export async function approvePlan(
  request: ChangeRequest<ApproveFlags> & { readonly path: string },
): Promise<
  | PlannedChange<{ readonly approval: Approval; readonly run: string }, ApprovedPlanJson>
  | Report<ApprovedPlanJson>
> {
  const { runtime, path, flags } = request;
  const plan = readAnyPlan(path, 'The plan');
  const output = flags.output ?? approvalPath(path);
  const rule = ruleFor(runtime, plan);
  const now = runtime.clock.now();
  const known = approvalState(plan, { rule, now, path: output });
  if (known.approval !== null) {
    const { by, expires } = known.approval;
    return report({
      json: {
        dryRun: false,
        plan,
        approval: known.approval,
        approvalFile: output,
        unchanged: true,
        run: null,
      },
      document: [
        lines(`Previously approved by ${by}, valid until ${instant(expires)}. Nothing was changed.`),
      ],
    });
  }
  const signer = parseSigner(ownKey(runtime, flags['key-file']));
  const validFor = flags['valid-for'] === undefined ? rule.validFor : flags['valid-for'] / 1000;
  const sign = (at: Date) => signApproval({ plan, rule, signer, validFor, now: at, actor: runtime.operator });
  const { approval } = sign(now);
  const log = await runtime.auditLog();
  const applied = await findApplied(log, plan);
  if (applied?.isDone === true) {
    throw new TokenctlError('plan_outdated', `The plan was applied at ${applied.at} by run ${applied.run}`);
  }
  if (known.why !== null && existsSync(output)) {
    throw new TokenctlError('configuration', `${output} exists: ${known.why}`, {
      hint: 'Remove it, or specify another file with --output.',
    });
  }
  requireNewFile(output);
  return {
    plan: planDocument(plan),
    isElsewhere: true,
    question: { act: `approve this plan as ${approval.by}`, type: plan.digest.slice(0, 6) },
    async act() {
      const signed = sign(runtime.clock.now());
      const { reason, ticket } = flags;
      const actor = runtime.operator;
      const run = await noteApproval({ log, actor, plan, approval: signed.approval, reason, ticket });
      writeNewFile(output, signed.note);
      return { approval: signed.approval, run };
    },
    ended: ({ approval: { by, expires }, run }) => ({
      document: [
        lines(
          `Approved by ${by}, valid until ${instant(expires)}: ${output}.`,
          {
            text: 'To apply it, another person runs:',
            commands: [`tokenctl ${APPLIES[plan.format]} --plan FILE`],
          },
          runLine(run),
        ),
      ],
    }),
    json: ({ dryRun, done }) => ({
      dryRun,
      plan,
      approval: done?.approval ?? approval,
      approvalFile: done === null ? null : output,
      unchanged: false,
      run: done?.run ?? null,
    }),
  };
}

function ownKey(runtime: Runtime, flag: string | undefined) {
  const { environment, configuration } = runtime;
  if (flag !== undefined) {
    return readSecret({ file: absolutePath(flag, process.cwd(), environment) }, environment);
  }
  const key = configuration.approval?.key;
  if (key !== undefined) return readSecret(key, environment);
  throw new TokenctlError('usage', 'No key to sign with', {
    hint: 'Specify your key file with --key-file, or in approval.key in the configuration. `tokenctl plan key` creates one.',
  });
}

/** Creates an approver's key. Throws `usage` for a file that exists or a name that keys do not allow. */
export function makeApproverKey(flags: { name: string; output: string }): Report<ApproverKeyJson> {
  const { name, output } = flags;
  const key = generateNoteKey(name);
  const { text } = parseSigner(key).verifier;
  writeSecretFile(output, key);
  return report({
    json: { name, keyFile: output, publicKey: text },
    document: [
      lines(`Wrote the private key to ${output} (mode 0600). Keep it private.`, `Public key: ${text}`),
      lines(
        'Add this to the configuration, under your login name:',
        list('approval:', { text: 'approvers:', depth: 2 }, { text: `${name}: ${text}`, depth: 3 }),
      ),
    ],
  });
}

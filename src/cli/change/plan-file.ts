import { statSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { describeScope, providers } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { entryTarget } from '../../operations/journal/journal.ts';
import {
  type AnyPlan,
  digestOf,
  extensionText,
  type SavedExtension,
  type SavedLockdown,
  type SavedPlan,
  savePlan,
} from '../../operations/revocation/saved-plan.ts';
import { jsonIn, type PlanFlags, requireReadable } from '../flags/flags.ts';
import { requestedApproval } from './approval.ts';

/** The maximum file size, in bytes: 100,000 tokens take about 35 MB, without long descriptions. */
const MAX_BYTES = 64 * 1024 * 1024;

const planned = z.array(
  z.strictObject({
    id: z.number().int().positive(),
    user: z.strictObject({ id: z.number().int(), username: z.string() }).nullable(),
    application: z.string().nullable(),
    created: z.iso.datetime(),
    fingerprint: z.string().nullable(),
    details: z
      .strictObject({
        scope: z.string(),
        description: z.string(),
        expires: z.iso.datetime(),
        lastUsed: z.iso.datetime().nullable().exactOptional(),
      })
      .exactOptional(),
  }),
);

const common = {
  version: z.literal(1),
  made: z.strictObject({ at: z.iso.datetime(), by: z.record(z.string(), z.string()) }),
  target: z.record(z.string(), z.string()),
  selection: z.string(),
  reason: z.string().exactOptional(),
  ticket: z.string().exactOptional(),
  requiresApproval: z.literal(true).optional(),
  digest: z.string(),
};

const names = z.array(z.string());

/** The holders of the names: a plan applies to them, by id, not to later holders of the names. */
const bound = z.array(
  z.strictObject({
    id: z.number().int().positive(),
    name: z.string(),
    created: z.iso.datetime().exactOptional(),
  }),
);

const file = z.discriminatedUnion('format', [
  z.strictObject({
    format: z.literal('tokenctl-plan'),
    ...common,
    withRefreshTokens: z.boolean(),
    includeOwn: z.boolean(),
    accessTokens: planned,
    refreshTokens: planned,
    authorizationCodes: planned,
  }),
  z.strictObject({
    format: z.literal('tokenctl-lockdown-plan'),
    ...common,
    scope: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('users'), names, bound }),
      z.strictObject({ kind: z.literal('applications'), names, bound }),
      z.strictObject({ kind: z.literal('identity_provider'), provider: z.enum(providers) }),
      z.strictObject({ kind: z.literal('all') }),
    ]),
    measures: z.strictObject({
      basicAuthentication: z.boolean(),
      externalTokens: z.boolean(),
      deactivate: z.boolean(),
      keepActive: names,
      keepActiveBound: bound.exactOptional(),
      lifetimes: z.boolean(),
      resetPasswords: z.literal(true).exactOptional(),
      stripRoles: z.literal(true).exactOptional(),
      endApplications: z.literal(true).exactOptional(),
    }),
    lasts: z.number().positive().nullable(),
  }),
  z.strictObject({
    format: z.literal('tokenctl-extension-plan'),
    ...common,
    lease: z.string(),
    token: z.number().int().positive(),
    user: z.string(),
    until: z.iso.datetime(),
  }),
]);

/**
 * Saves the plan of a revocation to a new file that only its owner can read. Changes nothing at the target.
 * Throws `configuration` for a file that exists or cannot be written, and as {@link savePlan}.
 */
export async function writePlanFile(
  runtime: Runtime,
  options: { path: string; plan: RevocationPlan; includeOwn: boolean; flags: PlanFlags },
): Promise<SavedPlan> {
  const { path, flags, ...planned } = options;
  const description = await runtime.description();
  const requiresApproval = requestedApproval(flags, { runtime, context: description.context });
  const saved = await savePlan({
    ...planned,
    account: accountOf(flags),
    requiresApproval,
    description,
    target: await runtime.target(),
    ...(await madeNow(runtime)),
  });
  writeNew(path, saved);
  return saved;
}

/** Saves a lockdown to a new file that only its owner can read. Throws `configuration` if it cannot. */
export async function writeLockdownFile(
  runtime: Runtime,
  options: Pick<SavedLockdown, 'scope' | 'measures' | 'lasts' | 'selection'> & {
    readonly path: string;
    readonly flags: PlanFlags;
  },
): Promise<SavedLockdown> {
  const { path, flags, ...order } = options;
  const draft = { format: 'tokenctl-lockdown-plan', ...(await draftOf(runtime, flags)), ...order } as const;
  const saved = { ...draft, digest: digestOf(draft) };
  writeNew(path, saved);
  return saved;
}

/**
 * Saves a lease's new end to a new file that only its owner can read.
 * @throws TokenctlError `configuration` for a file that exists or cannot be written.
 */
export async function writeExtensionFile(
  runtime: Runtime,
  options: Parameters<typeof extensionText>[0] & { readonly path: string; readonly flags: PlanFlags },
): Promise<SavedExtension> {
  const { path, flags, ...order } = options;
  const selection = extensionText(order);
  const drafted = await draftOf(runtime, flags);
  const draft = { format: 'tokenctl-extension-plan', ...drafted, selection, ...order } as const;
  const saved = { ...draft, digest: digestOf(draft) };
  writeNew(path, saved);
  return saved;
}

async function draftOf(runtime: Runtime, flags: PlanFlags) {
  const description = await runtime.description();
  const { at, by } = await madeNow(runtime);
  return {
    version: 1 as const,
    made: { at: at.toISOString(), by },
    target: entryTarget(description),
    ...accountOf(flags),
    ...(requestedApproval(flags, { runtime, context: description.context }) && {
      requiresApproval: true as const,
    }),
  };
}

function accountOf({ reason, ticket }: PlanFlags): Pick<SavedPlan, 'reason' | 'ticket'> {
  return { ...(reason !== undefined && { reason }), ...(ticket !== undefined && { ticket }) };
}

async function madeNow(runtime: Runtime) {
  const { identity } = await runtime.description();
  return { at: runtime.clock.now(), by: { ...runtime.operator, as: identity.username } };
}

function writeNew(path: string, plan: AnyPlan): void {
  try {
    writeFileSync(path, `${JSON.stringify(plan, null, 2)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError(
      'configuration',
      code === 'EEXIST'
        ? `The --plan-out file ${path} already exists`
        : `Cannot write the plan to ${path} (${code})`,
      { hint: 'Specify a new file in a directory that you can write to.', cause },
    );
  }
}

/** Reads a saved plan of any kind. Throws `configuration` if it is not a plan, or was edited. */
export function readAnyPlan(path: string, what = 'The file of --plan'): AnyPlan {
  requireReadable(path, what);
  const saved = statSync(path).size > MAX_BYTES ? undefined : file.safeParse(jsonIn(path)).data;
  if (saved === undefined) {
    throw new TokenctlError('configuration', `${path} is not a plan of this version of tokenctl`, {
      hint: 'Create a plan with `tokenctl tokens revoke --plan-out FILE`.',
    });
  }
  // The digest and the types require an absent member to be missing.
  const { requiresApproval, ...others } = saved;
  const plan: AnyPlan = { ...others, ...(requiresApproval && { requiresApproval }) };
  // The words of a lockdown or an extension are derived from the rest: others would mislead an approver.
  const isWorded =
    plan.format === 'tokenctl-plan' ||
    (plan.format === 'tokenctl-extension-plan'
      ? plan.selection === extensionText(plan)
      : plan.selection === describeScope(plan.scope) && hasNamesOf(plan));
  if (digestOf(plan) === plan.digest && isWorded) return plan;
  throw new TokenctlError(
    'configuration',
    `The plan ${path} was modified after it was created: its digest or its wording differs`,
    { hint: 'Create a new plan with --plan-out.' },
  );
}

/** Whether a lockdown has exactly the ids of the names that an approver is shown. */
function hasNamesOf({ scope, measures }: Pick<SavedLockdown, 'scope' | 'measures'>): boolean {
  const areSame = (shown: readonly string[], of: readonly { readonly name: string }[] = []) =>
    isDeepStrictEqual(new Set(shown), new Set(of.map(({ name }) => name)));
  const { keepActive, keepActiveBound } = measures;
  return (!('names' in scope) || areSame(scope.names, scope.bound)) && areSame(keepActive, keepActiveBound);
}

/** Reads a saved revocation. Throws as {@link readAnyPlan}; `usage` for another kind of plan. */
export function readPlanFile(path: string): SavedPlan {
  const plan = readAnyPlan(path);
  if (plan.format === 'tokenctl-plan') return plan;
  throw notOfThis(path, plan);
}

/** Reads the saved extension of a lease. Throws as {@link readAnyPlan}; `usage` for another plan. */
export function readExtensionFile(path: string): SavedExtension {
  const plan = readAnyPlan(path);
  if (plan.format === 'tokenctl-extension-plan') return plan;
  throw notOfThis(path, plan);
}

/** The kinds of plans, and the commands that take them. */
const KINDS = {
  'tokenctl-plan': ['a revocation', 'tokens revoke'],
  'tokenctl-lockdown-plan': ['a lockdown', 'incident lockdown'],
  'tokenctl-extension-plan': ['an extension', 'tokens leases'],
} as const;

/** The refusal of a plan for another command. */
export function notOfThis(path: string, { format }: AnyPlan): TokenctlError {
  const [kind, command] = KINDS[format];
  return new TokenctlError('usage', `${path} is a plan for ${kind}`, {
    hint: `Apply it with \`tokenctl ${command} --plan FILE\`.`,
  });
}

import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { approvalPath } from '../cli/change/approval.ts';
import { readAnyPlan } from '../cli/change/plan-file.ts';
import { lockdownFlags } from '../cli/incident/incident-flags.ts';
import { lockdownFlow } from '../cli/incident/lockdown-flow.ts';
import { lockdownOrder } from '../cli/incident/lockdown-order.ts';
import { showPlan } from '../cli/plans/plan-flow.ts';
import { revokeFlags } from '../cli/revocation/revocation-flags.ts';
import { revocationFlow } from '../cli/revocation/revocation-flow.ts';
import { approvalRuleOf } from '../config/contexts.ts';
import { type Environment, stateFolder } from '../config/paths.ts';
import { shellWord } from '../domain/remedies.ts';
import { account, commandOf, type Prepared, type Preparing, pathOf, pathSchema } from './command-line.ts';
import { endedOf } from './operations.ts';
import type { Places } from './places.ts';

/** A saved revocation or lockdown to carry out. */
export const savedSchema = z.strictObject({
  kind: z.literal('plan apply'),
  path: pathSchema,
  approvalFile: pathSchema.optional(),
  breakGlass: z.boolean().optional(),
  ...account,
});

/**
 * The flow of the command that applies a saved plan, `tokens revoke --plan` or `incident lockdown --plan`,
 * including the four-eyes rule.
 * @throws TokenctlError as the commands do for a file that is not a plan, or was edited.
 */
export async function prepareSaved(
  request: z.infer<typeof savedSchema>,
  preparing: Preparing & { readonly places: Pick<Places, 'environment'> },
): Promise<Prepared> {
  const { approvalFile, breakGlass } = request;
  const { environment } = preparing.places;
  const path = pathOf(request.path, environment);
  const typed = {
    plan: path,
    'approval-file': approvalFile && pathOf(approvalFile, environment),
    'break-glass': breakGlass,
  };
  const saved = readAnyPlan(path);
  if (saved.format === 'tokenctl-plan') {
    const kind = 'tokens revoke';
    const { command, flags } = await commandOf(revokeFlags, { command: kind, typed, request, ...preparing });
    const plan: Prepared['plan'] = ({ runtime }) => revocationFlow({ runtime, selection: saved, flags });
    return { kind, command, flags, plan };
  }
  const kind = 'incident lockdown';
  const { command, flags } = await commandOf(lockdownFlags, { command: kind, typed, request, ...preparing });
  const order = lockdownOrder({ plan: path });
  const plan: Prepared['plan'] = ({ runtime }) => lockdownFlow({ runtime, flags, order, several: false });
  return { kind, command, flags, plan };
}

/** The four-eyes rule of a context, without the keys. */
export function ruleOf({ configuration }: Runtime, context: string) {
  const { required, approvers, aloneUpTo, validFor, breakGlass } = approvalRuleOf(configuration, context);
  return { required, approvers: Object.keys(approvers), aloneUpTo, validFor, breakGlass };
}

/** The maximum size of a browser's plan, in characters: enough for several hundred thousand tokens. */
const MAX_PLAN = 16 * 1024 * 1024;
const MAX_APPROVAL = 64 * 1024;

const uploadSchema = z.strictObject({
  /** The name of the file in the browser. */
  name: z.string().min(1).max(300),
  plan: z.string().min(1).max(MAX_PLAN),
  approval: z.string().min(1).max(MAX_APPROVAL).optional(),
});

/**
 * Stores a plan from a browser, and its approval next to it, in the state folder: for this user only, and at
 * the same path each time. Everything else uses that path.
 * @returns The path.
 * @throws TokenctlError `configuration` if it is not a plan, or was edited; and without a state folder.
 */
function keepPlan({ name, plan, approval }: z.infer<typeof uploadSchema>, environment: Environment): string {
  const folder = join(stateFolder(environment), 'plans');
  const digest = createHash('sha256').update(plan).digest('hex').slice(0, 16);
  const path = join(folder, `${digest}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path, plan, { mode: 0o600 });
  try {
    readAnyPlan(path);
  } catch (error) {
    rmSync(path, { force: true });
    if (!(error instanceof TokenctlError)) throw error;
    const { code, hint } = error;
    throw new TokenctlError(code, error.message.replaceAll(path, name), {
      ...(hint && { hint }),
      cause: error,
    });
  }
  if (approval !== undefined) writeFileSync(approvalPath(path), approval, { mode: 0o600 });
  return path;
}

/** The routes that show a saved plan with the state of its approval. They query no controller. */
export function serveSavedPlans(app: FastifyInstance, { places }: { places: Places }): void {
  const { environment } = places;
  // Allowed with --read-only: a plan is read from where the console can read it.
  const reads = { config: { readsOnly: true }, bodyLimit: 2 * MAX_PLAN } as const;
  app.post('/api/saved-plan', reads, ({ body }) => ({
    path: keepPlan(uploadSchema.parse(body), environment),
  }));
  app.get('/api/saved-plan', async ({ query }) => {
    const { path, approvalFile } = z
      .object({ path: pathSchema, approvalFile: pathSchema.optional() })
      .parse(query);
    const approval = approvalFile && pathOf(approvalFile, environment);
    return await places.anywhere((runtime) => savedPlanOf(runtime, pathOf(path, environment), approval));
  });
}

/** A saved plan with the state of its approval. */
export type ShownPlan = Awaited<ReturnType<typeof savedPlanOf>>;

async function savedPlanOf(runtime: Runtime, path: string, approvalFile: string | undefined) {
  const shown = await showPlan({ runtime, path }, { 'approval-file': approvalFile });
  const { context = '' } = shown.json.plan.target;
  // A plan may have many tokens; the text counts them.
  const { plan, ...state } = shown.json;
  const { text, document } = await endedOf(shown);
  return {
    ...state,
    path,
    text,
    document,
    context,
    format: plan.format,
    rule: ruleOf(runtime, context),
    // The approver has a separate configuration.
    approve: `tokenctl plan approve ${shellWord(path)} --key-file FILE`,
  };
}

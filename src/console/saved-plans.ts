import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { lockdownFlow } from '../cli/incident/lockdown-flow.ts';
import { lockdownOrder } from '../cli/incident/lockdown-order.ts';
import { showPlan } from '../cli/plans/plan-flow.ts';
import { approvalPath, readAnyPlan } from '../cli/revocation/plan-file.ts';
import { revocationFlow } from '../cli/revocation/revocation-flow.ts';
import { approvalRuleOf } from '../config/contexts.ts';
import { type Environment, stateFolder } from '../config/paths.ts';
import { TokenctlError } from '../domain/errors.ts';
import { shellWord } from '../domain/remedies.ts';
import { account, accountOf, line, option, type Prepared, pathOf, pathSchema } from './command-line.ts';
import { endedOf } from './operations.ts';
import type { Places } from './places.ts';

/** A saved plan that is carried out: of a revocation or of a lockdown. */
export const savedSchema = z.strictObject({
  kind: z.literal('plan apply'),
  place: z.string().max(300),
  path: pathSchema,
  approvalFile: pathSchema.optional(),
  breakGlass: z.boolean().optional(),
  ...account,
});

/**
 * The flow of the command that applies a saved plan, `tokens revoke --plan` or `incident lockdown --plan`: it applies the
 * rule of two persons.
 *
 * @throws TokenctlError as the commands do for a file that is no plan, or was changed.
 */
export function prepareSaved(
  request: z.infer<typeof savedSchema>,
  places: Pick<Places, 'environment' | 'startedWith'>,
): Prepared {
  const { environment } = places;
  const { approvalFile, breakGlass } = request;
  const path = pathOf(request.path, environment);
  const approval = approvalFile === undefined ? undefined : pathOf(approvalFile, environment);
  const saved = readAnyPlan(path);
  const flags = {
    ...accountOf(request),
    plan: path,
    ...(approval !== undefined && { 'approval-file': approval }),
    ...(breakGlass === true && { 'break-glass': true }),
  };
  const isRevocation = saved.format === 'tokenctl-plan';
  const kind = isRevocation ? 'tokens revoke' : 'incident lockdown';
  const words = [
    kind,
    option('--plan', path),
    ...(approval === undefined ? [] : [option('--approval-file', approval)]),
    ...(breakGlass === true ? ['--break-glass'] : []),
  ];
  return {
    kind,
    command: line(words, { ...request, places }),
    flow: (dryRun) => (run) => {
      const given = { ...run, flags: { ...flags, 'dry-run': dryRun } };
      return isRevocation
        ? revocationFlow({ ...given, selection: saved })
        : lockdownFlow({ ...given, order: lockdownOrder({ plan: path }), several: false });
    },
  };
}

/** The rule of two persons of a context, without the keys. */
export function ruleOf({ configuration }: Runtime, context: string) {
  const { required, approvers, aloneUpTo, validFor, breakGlass } = approvalRuleOf(configuration, context);
  return { required, approvers: Object.keys(approvers), aloneUpTo, validFor, breakGlass };
}

/** The most characters of a plan that a browser sends: enough for several hundred thousand tokens. */
const MAX_PLAN = 16 * 1024 * 1024;
const MAX_APPROVAL = 64 * 1024;

const uploadSchema = z.strictObject({
  /** That of the file in the browser. */
  name: z.string().min(1).max(300),
  plan: z.string().min(1).max(MAX_PLAN),
  approval: z.string().min(1).max(MAX_APPROVAL).optional(),
});

/**
 * Keeps a plan that a browser sent, and its approval beside it, in the state folder: for this user only, and under the same
 * path each time. Everything else works with that path.
 *
 * @returns The path.
 * @throws TokenctlError `configuration` for what is no plan, or was changed; and without a state folder.
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

/** The routes that show a saved plan, with the state of its approval. They ask no controller. */
export function serveSavedPlans(app: FastifyInstance, { places }: { readonly places: Places }): void {
  const { environment } = places;
  // With --read-only too: it is read from where the console can read it.
  const reads = { config: { readsOnly: true }, bodyLimit: 2 * MAX_PLAN } as const;
  app.post('/api/saved-plan', reads, ({ body }) => ({
    path: keepPlan(uploadSchema.parse(body), environment),
  }));
  app.get('/api/saved-plan', async ({ query }) => {
    const { path, approvalFile } = z
      .object({ path: pathSchema, approvalFile: pathSchema.optional() })
      .parse(query);
    const request = { path: pathOf(path, environment) };
    const flags = approvalFile === undefined ? {} : { 'approval-file': pathOf(approvalFile, environment) };
    return await places.anywhere(async (runtime) => {
      const shown = await showPlan({ runtime, ...request }, flags);
      const { context = '' } = shown.json.plan.target;
      // The tokens of a plan are many; the text counts them.
      const { plan, ...state } = shown.json;
      const { text } = await endedOf(shown);
      return {
        ...{ ...state, ...request, text, context, format: plan.format, rule: ruleOf(runtime, context) },
        // The approver has a configuration of their own.
        approve: `tokenctl plan approve ${shellWord(request.path)} --key-file FILE`,
      };
    });
  });
}

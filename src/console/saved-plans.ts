import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { lockdownFlow } from '../cli/incident/lockdown-flow.ts';
import { lockdownOrder } from '../cli/incident/lockdown-order.ts';
import { showPlan } from '../cli/plans/plan-flow.ts';
import { readAnyPlan } from '../cli/revocation/plan-file.ts';
import { revocationFlow } from '../cli/revocation/revocation-flow.ts';
import { approvalRuleOf } from '../config/contexts.ts';
import type { Environment } from '../config/paths.ts';
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
export function prepareSaved(request: z.infer<typeof savedSchema>, environment: Environment): Prepared {
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
    command: line(words, request),
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

/** The route that shows a saved plan, with the state of its approval. It asks no controller. */
export function serveSavedPlans(app: FastifyInstance, { places }: { readonly places: Places }): void {
  const { environment } = places;
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
        approve: `tokenctl plan approve ${shellWord(request.path)} --key-file FILE`,
      };
    });
  });
}

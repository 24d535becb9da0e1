import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { digestOf, type SavedPlan, savePlan } from '../../operations/revocation/saved-plan.ts';
import { requireReadable } from '../flags.ts';

/** The largest file that is read, in bytes: 100,000 tokens take about 20 MB. */
const MAX_BYTES = 64 * 1024 * 1024;

const planned = z.array(
  z.strictObject({
    id: z.number().int().positive(),
    user: z.strictObject({ id: z.number().int(), username: z.string() }).nullable(),
    application: z.string().nullable(),
    created: z.iso.datetime(),
    fingerprint: z.string().nullable(),
  }),
);

const file = z.strictObject({
  format: z.literal('tokenctl-plan'),
  version: z.literal(1),
  made: z.strictObject({ at: z.iso.datetime(), by: z.record(z.string(), z.string()) }),
  target: z.record(z.string(), z.string()),
  selection: z.string(),
  withRefreshTokens: z.boolean(),
  includeOwn: z.boolean(),
  accessTokens: planned,
  refreshTokens: planned,
  authorizationCodes: planned,
  digest: z.string(),
});

/**
 * Saves a plan to a new file that only its owner can read. Changes nothing at the target.
 *
 * @throws TokenctlError `configuration` for a file that exists or cannot be written, and as {@link savePlan}.
 */
export async function writePlanFile(
  runtime: Runtime,
  options: { readonly path: string; readonly plan: RevocationPlan; readonly includeOwn: boolean },
): Promise<SavedPlan> {
  const { path, plan, includeOwn } = options;
  const description = await runtime.description();
  const saved = await savePlan({
    ...{ plan, includeOwn, description },
    target: await runtime.target(),
    at: runtime.clock.now(),
    by: { ...runtime.operator, as: description.identity.username },
  });
  try {
    writeFileSync(path, `${JSON.stringify(saved, null, 2)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError(
      'configuration',
      code === 'EEXIST'
        ? `The file of --plan-out, ${path}, exists`
        : `Cannot write the plan to ${path} (${code})`,
      { hint: 'Give the name of a new file in a directory that you can write.', cause },
    );
  }
  return saved;
}

/**
 * Reads a saved plan.
 *
 * @throws TokenctlError `configuration` for a file that cannot be read, is no plan, or was changed since.
 */
export function readPlanFile(path: string): SavedPlan {
  requireReadable(path, 'The file of --plan');
  const saved = statSync(path).size > MAX_BYTES ? undefined : file.safeParse(parsed(path)).data;
  if (saved === undefined) {
    throw new TokenctlError('configuration', `${path} is not a plan of this version of tokenctl`, {
      hint: 'Make a plan with `tokenctl tokens revoke --plan-out FILE`.',
    });
  }
  if (digestOf(saved) === saved.digest) return saved;
  throw new TokenctlError(
    'configuration',
    `The plan ${path} was changed after it was made: its digest differs`,
    {
      hint: 'Make a new plan with --plan-out.',
    },
  );
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { type Change, OperationRun, type RunEnd, type StepReport } from '../journal/operation-run.ts';
import { recordAct } from '../journal/record-act.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { RevocationListeners } from '../revocation/revocation-report.ts';
import { revokeAllAccess } from '../revocation/revoke-all-access.ts';
import { notPossible } from '../scope/target-parts.ts';
import { requireFullView, requireRights } from '../scope/visibility.ts';
import {
  type ApplicationName,
  type NamedApplication,
  type ShownApplication,
  showApplication,
  tokensOf,
} from './show-application.ts';

/**
 * Plans the deletion of an application and its tokens. Reads only.
 * @throws TokenctlError `lockout_refused` if the caller authenticates with one of its tokens,
 * `permission_refused` for an account that does not see everything or a role without the rights, and as
 * `findApplication`.
 */
export async function planDeletion(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly clock: Change['clock'];
  readonly name: ApplicationName;
}): Promise<ShownApplication> {
  const { target, description } = options;
  requireFullView(description, 'The deletion of an application');
  requireRights(description, { what: 'The deletion of an application', purposes: ['applications'] });
  const shown = await showApplication(options);
  const own = new Set(await target.ownTokenIds());
  if (own.size > 0) {
    for await (const { id } of tokensOf(target, shown.application)) {
      if (own.has(id))
        throw new TokenctlError(
          'lockout_refused',
          `tokenctl may authenticate with token ${id}, which belongs to ${shown.application.name}`,
          { hint: 'Use a password, or a token that does not belong to this application.' },
        );
    }
  }
  return shown;
}

export interface DeletionReport extends RunEnd {
  readonly application: { readonly id: number; readonly name: string };
  /** `done` if neither the application nor any of its tokens is still listed. */
  readonly result: 'done' | 'partly';
  readonly steps: readonly StepReport[];
  /** What is listed after the deletion; null if that was not reached. */
  readonly left: { readonly application: boolean; readonly accessTokens: number } | null;
}

/**
 * Deletes an application: records the intent, revokes its tokens in batches, deletes it, then lists it and
 * its tokens again. Deleting the application also deletes tokens issued in the meantime. Running it again
 * finishes the work.
 * @throws TokenctlError as any {@link OperationRun}.
 */
export async function deleteApplication(
  options: Change & RevocationListeners & { readonly plan: ShownApplication },
): Promise<DeletionReport> {
  const { target, plan } = options;
  const { application, accessTokens, refreshTokens } = plan;
  const { id, name } = application;
  using work = new OperationRun(options, 'applications.delete');
  const common = { application: { id, name } };
  const planned = { tokens: accessTokens.total, ...(refreshTokens !== null && { refreshTokens }) };
  await work.open({ ...common, planned });
  // A selector uses the name: if applications share it, the tokens are only deleted with the application.
  if (application.isOnlyOne) {
    const selector = () => Promise.resolve({ applications: [name] });
    await revokeAllAccess(work, { selector, common, listeners: options });
  }
  work.steps.push(await endApplication(work, { id, name }, common));
  let left: DeletionReport['left'] = null;
  await work.stage({ name: 'verify', title: 'Verifying' }, async () => {
    left = await leftOf(target, { id, name });
    return [];
  });
  const found = left as DeletionReport['left'];
  const isGone = found !== null && !found.application && found.accessTokens === 0;
  const isDone = isGone && work.stopped === null;
  const report: DeletionReport = {
    ...common,
    result: isDone ? 'done' : 'partly',
    steps: isDone ? work.steps.map(madeGood) : work.steps,
    left: found,
    ...work.ending(),
  };
  const { result, interrupted, stopped } = report;
  await work.close({ ...common, result, steps: work.stepsRecorded, left: found, interrupted, stopped });
  return report;
}

/** A failed step of a deletion that was verified: the tokens were deleted with the application. */
function madeGood(step: StepReport): StepReport {
  if (step.result === 'done' || step.result === 'unchanged') return step;
  const message = `${step.message} The tokens were deleted with the application instead.`;
  return { ...step, result: 'unchanged', message };
}

/** Deletes an application with its remaining tokens. Throws as {@link OperationRun.step}. */
export function endApplication(
  work: OperationRun,
  application: { readonly id: number; readonly name: string },
  common: Readonly<Record<string, unknown>>,
): Promise<StepReport> {
  const { id, name } = application;
  return work.step({
    name: 'application',
    title: `Deleting the application ${name}`,
    common: { ...common, application: { id, name } },
    act: async () => {
      const deleted = await work.target.applications.delete(id);
      return {
        result: deleted ? 'done' : 'unchanged',
        message: deleted
          ? `Deleted the application ${name} and its tokens.`
          : `The application ${name} was already deleted.`,
        data: { deleted },
      };
    },
  });
}

/** What is still listed of an application after its deletion. */
export async function leftOf(
  target: Target,
  application: { readonly id: number; readonly name: string },
): Promise<NonNullable<DeletionReport['left']>> {
  const listed = await target.applications.list([application.name]);
  let accessTokens = 0;
  for await (const _token of tokensOf(target, application)) accessTokens += 1;
  return { application: listed.some(({ id }) => id === application.id), accessTokens };
}

/**
 * Gives a confidential application a new client secret, recorded before and after. The log contains no part
 * of it.
 * @throws TokenctlError `outcome_unrecorded` if the secret was replaced but the log could not record it: its
 * value is withheld; and as `Applications.replaceSecret`.
 */
export async function replaceSecret(
  options: Change & { readonly application: NamedApplication; readonly controllerKey?: Secret | undefined },
): Promise<Secret> {
  const { target, application, controllerKey } = options;
  const { replaceSecret: replace } = target.applications;
  const { id, name } = application;
  if (replace === undefined) throw secretsKept(options.description);
  return await recordAct({
    ...options,
    operation: 'applications.rotate-secret',
    intent: { application: { id, name } },
    act: () => replace(id, controllerKey),
    outcome: () => ({ application: { id, name } }),
    unrecorded: () =>
      new TokenctlError(
        'outcome_unrecorded',
        `The secret of ${name} was replaced, but the audit log could not record it`,
        { hint: 'Its value is withheld. Run the command again when the audit log is writable.' },
      ),
  });
}

/** The error for a target whose API cannot replace client secrets. */
export function secretsKept({ address }: Pick<TargetDescription, 'address'>): TokenctlError {
  return notPossible(
    `The REST API at ${address} cannot replace a client secret`,
    'Use a database context. Alternatively, delete the application with `tokenctl applications delete`, which revokes its tokens, and create it again, which also changes its client ID.',
  );
}

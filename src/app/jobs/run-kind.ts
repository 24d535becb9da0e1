import { expiryNotices } from '../../../jobs/expiry-notices.ts';
import { incidentLift } from '../../../jobs/incident-lift.ts';
import { logCheckpoint } from '../../../jobs/log-checkpoint.ts';
import { offboarding } from '../../../jobs/offboarding.ts';
import { revocationSweep } from '../../../jobs/revocation-sweep.ts';
import { settingsGuard } from '../../../jobs/settings-guard.ts';
import { tokenAudit } from '../../../jobs/token-audit.ts';
import { tokenCleanup } from '../../../jobs/token-cleanup.ts';
import type { JobKind } from '../../config/job-parameters.ts';
import type { JobSettings } from '../../config/jobs.ts';
import { policyFrom } from '../../config/policy.ts';
import type { PolicySettings } from '../../config/policy-schema.ts';
import type { JobReport, LogJobContext, TargetJobContext } from '../../operations/jobs/job.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';

/** Every kind of job, by its name in the configuration. */
export const kinds = {
  'revocation-sweep': revocationSweep,
  'token-audit': tokenAudit,
  'expiry-notices': expiryNotices,
  'token-cleanup': tokenCleanup,
  'settings-guard': settingsGuard,
  offboarding,
  'incident-lift': incidentLift,
  'log-checkpoint': logCheckpoint,
} as const satisfies Readonly<Record<JobKind, { readonly name: string; readonly schedule: string }>>;

/** The kinds of job that work on a target. */
export type TargetJobSettings = Exclude<JobSettings, { readonly job: 'log-checkpoint' }>;

/** What jobs are told besides their own parameters. */
export interface KindOptions {
  /** The configuration's policy. */
  readonly policy: PolicySettings;
  /** Whom expiry notices go to. */
  readonly notifiers: readonly Notifier[];
}

/** Runs a job on a target with its parameters. Throws what the job throws. */
export function runOnTarget(
  settings: TargetJobSettings,
  context: TargetJobContext,
  { policy, notifiers }: KindOptions,
): Promise<JobReport> {
  switch (settings.job) {
    case 'revocation-sweep': {
      const { parameters } = settings;
      const keepIfYounger = parameters.keepIfYounger * 1000;
      const given = { ...parameters, keepIfYounger, policy: policyFrom(parameters.policy ?? policy) };
      return revocationSweep.run(context, given);
    }
    case 'token-audit': {
      const { policy: own, rules, baseline, report, notifyAt } = settings.parameters;
      return tokenAudit.run(context, {
        policy: policyFrom(own ?? policy),
        rules: rules ?? null,
        baseline: baseline ?? null,
        report: report ?? null,
        notifyAt,
      });
    }
    case 'expiry-notices':
      return expiryNotices.run(context, { thresholds: settings.parameters.thresholds, notifiers });
    case 'token-cleanup': {
      const { keepRevokedFor, atMost } = settings.parameters;
      return tokenCleanup.run(context, { keepRevokedFor: keepRevokedFor * 1000, atMost });
    }
    case 'settings-guard':
      return settingsGuard.run(context, settings.parameters);
    case 'offboarding':
      return offboarding.run(context, {
        ...settings.parameters,
        present: settings.parameters.present ?? null,
      });
    case 'incident-lift':
      return incidentLift.run(context, settings.parameters);
  }
}

/** Runs a job on the audit log with its parameters. Throws what the job throws. */
export function runOnLog(
  { parameters }: Extract<JobSettings, { readonly job: 'log-checkpoint' }>,
  context: LogJobContext,
): Promise<JobReport> {
  return logCheckpoint.run(context, { keepIn: parameters.keepIn ?? null, notify: parameters.notify });
}

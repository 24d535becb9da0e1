import type { Job, TargetJobContext } from '../src/operations/jobs/job.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';
import {
  enforceSettings,
  findDrift,
  type WantedSettings,
} from '../src/operations/settings/guard-settings.ts';

/** What the guard is told. */
export interface SettingsGuardParameters {
  readonly settings: WantedSettings;
  /** Whether settings are put right, or only reported. */
  readonly enforce: boolean;
}

/** Sees that the controller's settings are what the configuration says. */
export const settingsGuard: Job<TargetJobContext, SettingsGuardParameters> = {
  name: 'settings-guard',
  schedule: '*/15 * * * *',
  async run(context, { settings, enforce }) {
    // A killed run may have left nothing to do, and an intent without an outcome.
    await reconcile(context);
    const drift = await findDrift(context.target, settings);
    const checked = Object.keys(settings).length;
    if (drift.length === 0)
      return { message: `All ${checked} settings are as they should be`, summary: { drift } };
    const names = drift.map(({ setting }) => setting).join(', ');
    const puts = enforce && !context.dryRun;
    if (puts)
      await enforceSettings({ ...context, wanted: settings, reason: 'scheduled guard of the settings' });
    const found = drift.map(
      ({ setting, wanted, found }) =>
        `${setting} is ${JSON.stringify(found)}, and should be ${JSON.stringify(wanted)}`,
    );
    const message = `${puts ? 'Put right' : 'Not as they should be'}: ${names}`;
    return {
      message,
      summary: { drift, enforced: puts },
      notices: [{ subject: message, text: found.join('\n'), severity: 'warning' }],
    };
  },
};

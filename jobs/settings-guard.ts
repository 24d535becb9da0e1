import type { Job, TargetJobContext } from '../src/operations/jobs/job.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';
import { enforceSettings, findDrift, type WantedSettings } from '../src/operations/settings/settings.ts';

/** The parameters of the guard. */
export interface SettingsGuardParameters {
  readonly settings: WantedSettings;
  /** Whether to correct settings, or only report them. */
  readonly enforce: boolean;
}

/** Compares the controller's settings with the configuration. */
export const settingsGuard: Job<TargetJobContext, SettingsGuardParameters> = {
  name: 'settings-guard',
  schedule: '*/15 * * * *',
  async run(context, { settings, enforce }) {
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const drift = await findDrift(context.target, settings);
    const checked = Object.keys(settings).length;
    if (drift.length === 0) return { message: `All ${checked} settings match`, summary: { drift } };
    const names = drift.map(({ setting }) => setting).join(', ');
    const corrects = enforce && !context.dryRun;
    if (corrects)
      await enforceSettings({ ...context, wanted: settings, reason: 'scheduled guard of the settings' });
    const found = drift.map(
      ({ setting, wanted, found }) =>
        `${setting} is ${JSON.stringify(found)}; expected ${JSON.stringify(wanted)}`,
    );
    const message = `${corrects ? 'Corrected' : 'Drifted'}: ${names}`;
    return {
      message,
      summary: { drift, enforced: corrects },
      notices: [{ subject: message, text: found.join('\n'), severity: 'warning' }],
    };
  },
};

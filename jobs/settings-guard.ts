import { z } from 'zod';
import { defineJob } from '../src/operations/jobs/job.ts';

/** Compares the controller's settings with the configuration. */
export const settingsGuard = defineJob({
  name: 'settings-guard',
  on: 'target',
  schedule: '*/15 * * * *',
  dryRun: true,
  parameters: () =>
    z.strictObject({
      settings: z
        .strictObject({
          AUTH_BASIC_ENABLED: z.boolean(),
          ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
          SESSION_COOKIE_AGE: z.number().int().positive(),
          SESSIONS_PER_USER: z.number().int(),
          MAX_EXTRA_SESSIONS_PER_USER: z.number().int(),
          DISABLE_LOCAL_AUTH: z.boolean(),
          OAUTH2_PROVIDER: z
            .strictObject({
              ACCESS_TOKEN_EXPIRE_SECONDS: z.number().int().positive(),
              REFRESH_TOKEN_EXPIRE_SECONDS: z.number().int().positive(),
              AUTHORIZATION_CODE_EXPIRE_SECONDS: z.number().int().positive(),
            })
            .partial(),
          LOGIN_REDIRECT_OVERRIDE: z.string(),
          ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
        })
        .partial()
        .refine((settings) => Object.keys(settings).length > 0, 'must name a setting'),
      /** Whether to correct settings, or only report them. */
      enforce: z.boolean().default(false),
    }),
  async run(context, { settings, enforce }) {
    const { reconcile } = await import('../src/operations/journal/reconcile.ts');
    const { enforceSettings, findDrift } = await import('../src/operations/settings/settings.ts');
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const drift = await findDrift(context.target, settings);
    const checked = Object.keys(settings).length;
    if (drift.length === 0) return { message: `All ${checked} settings match`, summary: { drift } };
    const names = drift.map(({ setting }) => setting).join(', ');
    const corrects = enforce && !context.dryRun;
    if (corrects) await enforceSettings({ ...context, wanted: settings, reason: 'scheduled settings guard' });
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
});

import { expect, test } from 'vitest';
import { settingsResult } from '../../../src/cli/settings/settings-result.ts';
import { noScreen } from '../../../src/reports/tables/text.ts';
import { installed } from '../../support/memory-target.ts';

test('settings that a target has not are said to be none, and are null in JSON', async () => {
  const settings = {
    ...installed,
    SESSIONS_PER_USER: null,
    DISABLE_LOCAL_AUTH: null,
    OAUTH2_PROVIDER: null,
    ALLOW_METRICS_FOR_ANONYMOUS_USERS: null,
  };
  const { json, text } = settingsResult(settings, { dialect: 'gateway' });
  expect(json).toEqual(settings);
  const lines = (await text(noScreen)).trimEnd().split('\n');
  expect(
    lines.filter((line) => line.endsWith('not available here')).map((line) => line.split(':')[0]),
  ).toEqual([
    'Local accounts',
    'Access token lifetime',
    'Refresh token lifetime',
    'Authorization code lifetime',
    'Sessions for each user',
    'Anonymous metrics',
  ]);
  expect(lines[0]).toMatch(/^Basic authentication: +on$/);
  const whole = await settingsResult(installed, { dialect: 'service' }).text(noScreen);
  expect(whole).not.toContain('not available here');
  expect(whole).toMatch(/^Sign-in page: +default$/m);
});

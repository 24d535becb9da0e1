import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { changeSetting } from '../../../src/operations/settings/settings.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { failingFrom, fixture } from '../../support/fixture.ts';
import { description, installed } from '../../support/memory-target.ts';

const off = { change: { AUTH_BASIC_ENABLED: false }, operation: 'settings.basic-auth' };

describe('changeSetting', () => {
  test('changes, reads again, and records what was and what is', async () => {
    await using at = await fixture();
    const result = await changeSetting({ ...at.common, ...off, reason: 'incident' });
    expect(result).toEqual({
      changed: true,
      before: installed,
      after: { ...installed, AUTH_BASIC_ENABLED: false },
    });
    expect(await at.entries()).toMatchObject([
      {
        kind: 'intent',
        operation: 'settings.basic-auth',
        data: {
          before: { AUTH_BASIC_ENABLED: true },
          after: { AUTH_BASIC_ENABLED: false },
          reason: 'incident',
        },
      },
      {
        kind: 'outcome',
        closes: 1,
        open: [],
        data: { result: 'done', now: { AUTH_BASIC_ENABLED: false }, verified: true },
      },
    ]);
  });

  test('does nothing and records nothing location of the value there already', async () => {
    await using at = await fixture();
    const change = { OAUTH2_PROVIDER: { ...installed.OAUTH2_PROVIDER } };
    expect(await changeSetting({ ...at.common, operation: 'settings.token-lifetime', change })).toMatchObject(
      { changed: false },
    );
    expect(await at.entries()).toEqual([]);
  });

  test.each([{ AUTH_BASIC_ENABLED: false }, { DISABLE_LOCAL_AUTH: true }])(
    'does not lock itself out with %o',
    async (change) => {
      await using at = await fixture();
      const work = changeSetting({
        ...at.common,
        ...off,
        change,
        description: description({ credential: 'password' }),
      });
      await expect(work).rejects.toMatchObject({
        code: 'lockout_refused',
        hint: expect.stringContaining('tokenctl tokens create'),
      });
      expect(at.target.values).toEqual(installed);
    },
  );

  test('says so where the target takes the change and reads otherwise', async () => {
    await using at = await fixture();
    at.target.forgetful = true;
    await expect(changeSetting({ ...at.common, ...off })).rejects.toMatchObject({
      code: 'target_misbehaved',
    });
    expect((await at.entries()).at(-1)).toMatchObject({
      kind: 'outcome',
      open: [],
      data: { verified: false },
    });
  });

  test('records a refusal', async () => {
    await using at = await fixture();
    at.target.settings.write = () => Promise.reject(new TokenctlError('permission_refused', 'Not you'));
    await expect(changeSetting({ ...at.common, ...off })).rejects.toMatchObject({
      code: 'permission_refused',
    });
    expect((await at.entries()).at(-1)).toMatchObject({
      open: [],
      data: { result: 'refused', reason: 'Not you' },
    });
  });

  test('no log, no act', async () => {
    await using at = await fixture();
    const work = changeSetting({ ...at.common, ...off, log: failingFrom(at.log, 1) });
    await expect(work).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(at.target.values).toEqual(installed);
  });

  test('in a dry run shows the change and makes none', async () => {
    await using at = await fixture();
    const result = await changeSetting({ ...at.common, ...off, target: dryRun(at.target) });
    expect(result).toMatchObject({ changed: true, after: { AUTH_BASIC_ENABLED: false } });
    expect(at.target.values).toEqual(installed);
  });
});

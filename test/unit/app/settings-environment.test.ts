import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fixedSettings, givenSecretKey } from '../../../src/app/service/run-service.ts';

const SECRET = 'SOCIAL_AUTH_GITHUB_SECRET';

describe('settings from the environment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-environment-'));
  const file = join(folder, 'secret');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are read from variables and files, and checked as those over the API', () => {
    writeFileSync(file, 'from-a-file\n', { mode: 0o600 });
    const found = fixedSettings({
      SOCIAL_AUTH_GITHUB_KEY: 'k',
      [`${SECRET}_FILE`]: file,
      SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS: '["Example.org"]',
      SOCIAL_AUTH_GITHUB_CALLBACK_URL: 'https://ignored.example',
      SOCIAL_AUTH_ORGANIZATION_MAP: '{"Ops": {"users": true}}',
      OTHER: 'x',
    });
    expect(Object.fromEntries(found)).toEqual({
      SOCIAL_AUTH_GITHUB_KEY: 'k',
      [SECRET]: 'from-a-file',
      SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS: ['example.org'],
      SOCIAL_AUTH_ORGANIZATION_MAP: { Ops: { users: true } },
    });
    writeFileSync(join(folder, 'open'), 'x', { mode: 0o644 });
    for (const environment of [
      { SOCIAL_AUTH_GITHUB_URL: 'http://github.example.org' },
      { SOCIAL_AUTH_SAML_ENABLED_IDPS: '{' },
      { SOCIAL_AUTH_SAML_ENABLED_IDPS: '[]' },
      { SOCIAL_AUTH_SAML_ENABLED_IDPS: '{"corp": {"metadata_url": "https://i.example/"}}' },
      { SOCIAL_AUTH_GITHUB_KEYS: 'k' },
      { SOCIAL_AUTH_SAML_ORG_INFO: '{}' },
      { [`${SECRET}_FILE`]: join(folder, 'missing') },
      { [`${SECRET}_FILE`]: join(folder, 'open') },
    ]) {
      expect(() => fixedSettings(environment)).toThrow(expect.objectContaining({ code: 'configuration' }));
    }
    expect(givenSecretKey({ TOKENCTL_SERVICE_SECRET_KEY_FILE: file })?.reveal()).toBe('from-a-file');
    expect(givenSecretKey({})).toBeNull();
  });

  it.skipIf(process.platform === 'win32')('refuses a named pipe as a secret file at once', () => {
    const pipe = join(folder, 'pipe');
    expect(spawnSync('sh', ['-c', 'mkfifo -m 600 "$0"', pipe]).status).toBe(0);
    expect(() => givenSecretKey({ TOKENCTL_SERVICE_SECRET_KEY_FILE: pipe })).toThrow(
      expect.objectContaining({ code: 'configuration', message: `The secret file ${pipe} is not a file.` }),
    );
  });
});

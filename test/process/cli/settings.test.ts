import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { estate } from './estate.ts';

const { home, url } = estate({ users: 12, tokens: 40 });

/** A home whose context signs in with a token. */
async function tokenHome() {
  const made = home();
  const output = join(made.folder, 'admin.token');
  await made.run(['tokens', 'create', '--scope', 'write', '--output', output, '--yes']);
  await made.run(['context', 'add', 'by-token', '--url', url(), '--token-file', output]);
  await made.run(['context', 'use', 'by-token']);
  return made;
}

test('settings show prints them under their names for programs, in words for people', async () => {
  const { run } = home();
  expect(JSON.parse((await run(['settings', 'show', '--json'])).stdout)).toMatchObject({
    AUTH_BASIC_ENABLED: true,
    OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000 },
  });
  const { stdout } = await run(['settings', 'show']);
  expect(stdout).toMatch(/^Basic authentication: +on\n(.*\n)*.*1,000 years \(31536000000 s\)/);
  // The service reads them with each request, as it says over REST too.
  expect(stdout).not.toMatch(/restart/i);
});

describe('settings basic-auth', () => {
  test('refuses to saw off the branch that it sits on; a dry run shows the plan too', async () => {
    const { run } = home();
    for (const [confirmation, plan] of [
      ['--yes', /^$/],
      ['--dry-run', /^Would turn basic authentication off at .*\n\nDry run\. Nothing was changed\.\n$/],
    ] as const) {
      const { code, stdout, stderr } = await run(['settings', 'basic-auth', 'off', confirmation]);
      expect([code, stdout]).toEqual([2, expect.stringMatching(plan)]);
      expect(stderr).toContain('--rescue-token FILE');
    }
  });

  test('goes on with a token that it creates first where the context has a password', {
    tags: ['long'],
  }, async () => {
    const { run, folder } = home();
    const file = join(folder, 'rescue.token');
    const off = ['settings', 'basic-auth', 'off', '--rescue-token', file];
    const dry = await run([...off, '--dry-run']);
    expect([dry.code, dry.stdout, existsSync(file)]).toEqual([0, expect.stringContaining(file), false]);
    const done = await run([...off, '--yes', '--json']);
    expect(JSON.parse(done.stdout)).toMatchObject({
      changed: true,
      enabled: false,
      rescueToken: { tokenId: expect.any(Number), file },
    });
    expect(done.stdout + done.stderr).not.toContain(readFileSync(file, 'utf8').trim());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(['whoami'])).code).toBe(4);
    await run(['context', 'add', 'test', '--replace', '--url', url(), '--token-file', file]);
    expect((await run(['whoami'])).stdout).toContain('with a token');
    expect((await run(['settings', 'basic-auth', 'on', '--yes'])).code).toBe(0);
    // A token needs no rescue.
    const again = await run(['settings', 'basic-auth', 'off', '--rescue-token', `${file}.2`, '--dry-run']);
    expect([again.code, existsSync(`${file}.2`)]).toEqual([0, false]);
  });

  test('needs a terminal, --yes or --dry-run; status needs nothing', async () => {
    const { run } = home();
    expect((await run(['settings', 'basic-auth', 'off'])).code).toBe(2);
    expect(await run(['settings', 'basic-auth', 'status'])).toMatchObject({
      code: 0,
      stdout: 'Basic authentication is on.\n',
    });
  });

  test('turns it off and on again with a token, and is idempotent', async () => {
    const { run } = await tokenHome();
    const dry = await run(['settings', 'basic-auth', 'off', '--dry-run', '--json']);
    expect(JSON.parse(dry.stdout)).toEqual({
      setting: 'AUTH_BASIC_ENABLED',
      enabled: false,
      changed: true,
      dryRun: true,
      holds: 'at_once',
      rescueToken: null,
    });
    expect((await run(['settings', 'basic-auth', 'status'])).stdout).toBe('Basic authentication is on.\n');
    const off = ['settings', 'basic-auth', 'off', '--yes'];
    expect(await run(off)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\nBasic authentication is off now\.\n$/),
    });
    expect(await run(off)).toMatchObject({ code: 0, stdout: expect.stringContaining('already') });
    expect((await run(['settings', 'show', '--context', 'test'])).code).toBe(4);
    expect((await run(['settings', 'show', '--context', 'test', '--json'])).code).toBe(4);
    expect((await run(['settings', 'basic-auth', 'on', '--yes'])).code).toBe(0);
    expect((await run(['settings', 'show', '--context', 'test'])).code).toBe(0);
  });
});

test('settings external-tokens deny changes nothing without the approval that revoking the tokens needs', async () => {
  const { run, folder } = home();
  const key = await run(['plan', 'key', '--name', 'bob', '--output', join(folder, 'bob.key'), '--json']);
  const { publicKey } = JSON.parse(key.stdout) as { publicKey: string };
  const rule = JSON.stringify({ approvers: { bob: publicKey }, aloneUpTo: 0 });
  appendFileSync(join(folder, '.config/tokenctl/tokenctl.yaml'), `approval: ${rule}\n`);
  expect((await run(['settings', 'external-tokens', 'allow', '--yes'])).code).toBe(0);
  const deny = ['settings', 'external-tokens', 'deny', '--revoke-existing', '--yes'];
  const { code, stdout, stderr } = await run(deny);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('Deny without --revoke-existing');
  const { stdout: state } = await run(['settings', 'external-tokens', 'status', '--json']);
  expect(JSON.parse(state)).toMatchObject({ enabled: true });
});

test('settings external-tokens deny says how many stay alive, and revokes them where asked to', async () => {
  const { run } = home();
  expect((await run(['settings', 'external-tokens', 'allow', '--yes'])).code).toBe(0);
  const denied = await run(['settings', 'external-tokens', 'deny', '--yes', '--json']);
  const { existing, ...state } = JSON.parse(denied.stdout) as { existing: { users: number; tokens: number } };
  expect(state).toEqual({
    setting: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
    enabled: false,
    changed: true,
    dryRun: false,
    holds: 'at_once',
    rescueToken: null,
    revocation: null,
    issuedUntil: null,
    sources: null,
  });
  expect(existing.tokens).toBeGreaterThan(0);
  const deny = ['settings', 'external-tokens', 'deny', '--revoke-existing', '--json'];
  const dry = JSON.parse((await run([...deny, '--dry-run'])).stdout) as {
    revocation: { plan: { tokenIds: number[] } };
  };
  expect(dry.revocation.plan.tokenIds).toHaveLength(existing.tokens);
  const revoked = await run([...deny, '--yes']);
  expect(revoked.code).toBe(0);
  expect(JSON.parse(revoked.stdout)).toMatchObject({
    changed: false,
    revocation: { revoked: existing.tokens },
  });
  expect((await run(['settings', 'external-tokens', 'deny', '--yes'])).stdout).toContain(
    'No external user has a token.',
  );
});

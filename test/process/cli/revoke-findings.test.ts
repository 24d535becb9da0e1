import { expect, test } from 'vitest';
import { estate } from './estate.ts';

const { home } = estate({ users: 40, tokens: 200 });

interface Found {
  readonly findings: readonly { readonly rule: string; readonly token?: { readonly id: number } }[];
}

async function foundBy(run: ReturnType<typeof home>['run'], rule: string): Promise<number[]> {
  const { findings } = JSON.parse((await run(['tokens', 'audit', '--json'])).stdout) as Found;
  return findings.flatMap((each) => (each.rule === rule && each.token ? [each.token.id] : []));
}

test('revokes what a rule finds and nothing else, and names the rule in the plan', async () => {
  const { run } = home();
  const found = await foundBy(run, 'owner-inactive');
  expect(found.length).toBeGreaterThan(0);
  const rule = ['tokens', 'revoke', '--finding', 'owner-inactive'];
  const { plan } = JSON.parse((await run([...rule, '--dry-run', '--json'])).stdout);
  expect(plan.tokenIds).toEqual(found.toSorted((a, b) => a - b));
  expect((await run([...rule, '--dry-run'])).stdout).toContain(
    `${found.length} tokens: tokens with the finding owner-inactive.`,
  );
  const done = await run([...rule, '--yes', '--json']);
  expect(done.code).toBe(0);
  expect(JSON.parse(done.stdout)).toMatchObject({ revoked: found.length, verified: true });
  expect(await foundBy(run, 'owner-inactive')).toEqual([]);
  const left = JSON.parse((await run(['tokens', 'list', '--json'])).stdout) as object[];
  expect(left).toHaveLength(200 - found.length);
});

test('has nothing to do where the rule finds nothing among the selected tokens', async () => {
  const { run } = home();
  const { code, stdout } = await run(['tokens', 'revoke', '--finding', 'owner-inactive', '--yes']);
  expect(code).toBe(0);
  expect(stdout).toContain('Nothing to revoke');
});

test.each([
  ['a rule that is none', ['--finding', 'never-usd'], 'did you mean "never-used"?'],
  ['a rule about settings', ['--finding', 'basic-auth-on'], 'does not apply to individual tokens'],
  ['a rule that the policy does not apply', ['--finding', 'write-unneeded'], 'is not enabled in the policy'],
  ['a policy without a finding', ['--all', '--policy', 'policy.yaml'], '--finding'],
])('refuses %s', async (_, flags, message) => {
  const { code, stderr } = await home().run(['tokens', 'revoke', ...flags, '--yes']);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import canonicalize from 'canonicalize';
import { describe, expect, test } from 'vitest';
import { estate, type Home } from './estate.ts';
import type { Run } from './program.ts';

const { home, url } = estate({ users: 8, tokens: 60 });

/** The members of the JSON that these tests read. */
interface Printed {
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
  readonly [member: string]: unknown;
}

/** A home in which more than three tokens need the approval of bob or carol. */
async function guarded(settings: Readonly<Record<string, unknown>> = {}) {
  const at = home();
  const keys: Record<string, string> = {};
  for (const name of ['alice', 'bob', 'carol']) {
    const made = await at.run(['plan', 'key', '--name', name, '--output', path(at, `${name}.key`), '--json']);
    keys[name] = printed(made)['publicKey'] as string;
  }
  const rule = JSON.stringify({ approvers: keys, aloneUpTo: 3, ...settings });
  appendFileSync(configuration(at), `approval: ${rule}\n`);
  const as =
    (user: string) =>
    (...args: string[]) =>
      at.run([...args, '--json'], { env: { SUDO_USER: user } });
  return { at, keys, alice: as('alice'), bob: as('bob'), plan: path(at, 'plan.json') };
}

const path = ({ folder }: Home, name: string) => join(folder, name);
const configuration = (at: Home) => path(at, '.config/tokenctl/tokenctl.yaml');
const printed = ({ stdout }: Run) => JSON.parse(stdout) as Printed;
const refusal = (run: Run) => ({ code: run.code, error: printed(run).error?.code });

/** Tokens that every test takes for itself: the ids of one page are not those of the next. */
async function ids(at: Home, count: number): Promise<string[]> {
  const { stdout } = await at.run(['tokens', 'list', '--json']);
  const all = (JSON.parse(stdout) as { readonly id: number }[]).map(({ id }) => id);
  // What other tests revoked is not listed: these are always new.
  return all.slice(0, count).flatMap((id) => ['--id', String(id)]);
}

async function entries(at: Home): Promise<{ operation: string; kind: string; data: Printed }[]> {
  const file = path(at, '.local/state/tokenctl/audit.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { operation: string; kind: string; data: Printed });
}

async function rename(id: number, username: string): Promise<void> {
  const basic = Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64');
  const answer = await fetch(`${url()}/api/v2/users/${id}/`, {
    method: 'PATCH',
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
    body: JSON.stringify({ username }),
  });
  expect(answer.status).toBe(200);
}

/** Edits a plan as its maker can: with a digest that fits. */
function forge(file: string, change: (plan: Printed) => Readonly<Record<string, unknown>>): void {
  const plan = JSON.parse(readFileSync(file, 'utf8')) as Printed;
  const { digest: _, ...forged } = { ...plan, ...change(plan) };
  const digest = createHash('sha256')
    .update(canonicalize(forged) ?? '')
    .digest('hex');
  writeFileSync(file, JSON.stringify({ ...forged, digest }));
}

const NOT_APPROVED = { code: 2, error: 'not_approved' };

describe('a revocation of more than one person may do', () => {
  test('is refused alone, and is carried out as another person approved it, once', async () => {
    const { at, alice, bob, plan } = await guarded();
    const four = await ids(at, 4);
    expect(refusal(await alice('tokens', 'revoke', ...four, '--yes'))).toEqual(NOT_APPROVED);
    const { stderr, stdout, code } = await at.run(['tokens', 'revoke', ...four, '--dry-run']);
    expect([code, stdout]).toEqual([2, expect.stringContaining('Nothing was changed')]);
    expect(stderr).toContain('one person may revoke up to 3 here');
    expect(stderr).toContain('tokenctl plan approve plan.json');
    expect(await entries(at)).toEqual([]);

    const why = ['--reason', 'laptop stolen', '--ticket', 'SEC-7'];
    expect((await alice('tokens', 'revoke', ...four, '--plan-out', plan, ...why)).code).toBe(0);
    const apply = ['tokens', 'revoke', '--plan', plan, '--yes'];
    expect(refusal(await alice(...apply))).toEqual(NOT_APPROVED);
    const approve = ['plan', 'approve', plan, '--yes', '--key-file'];

    // Neither the maker's key nor another's key in the maker's hands.
    expect(refusal(await alice(...approve, path(at, 'alice.key')))).toEqual(NOT_APPROVED);
    expect(refusal(await alice(...approve, path(at, 'bob.key')))).toEqual(NOT_APPROVED);
    expect(refusal(await bob(...approve, path(at, 'alice.key')))).toEqual(NOT_APPROVED);
    const dry = await bob('plan', 'approve', plan, '--dry-run', '--key-file', path(at, 'bob.key'));
    expect([dry.code, printed(dry)['approvalFile'], existsSync(`${plan}.approval`)]).toEqual([
      0,
      null,
      false,
    ]);
    const unlogged = await bob(...approve, path(at, 'bob.key'), '--log-file', '/dev/null/audit.jsonl');
    expect([unlogged.code, existsSync(`${plan}.approval`)]).toEqual([6, false]);
    expect(await entries(at)).toEqual([]);

    // The approver needs no access to the controller.
    const noContext = path(at, 'approvers.yaml');
    const [, approvers] = /^(approval: .*)$/m.exec(readFileSync(configuration(at), 'utf8')) ?? [];
    writeFileSync(noContext, `${approvers}\n`);
    const approved = await bob(
      ...[...approve, path(at, 'bob.key'), '--ticket', 'OPS-17', '--config', noContext],
    );
    expect(approved.code).toBe(0);
    expect(printed(approved)).toMatchObject({ approval: { by: 'bob', user: 'bob' }, unchanged: false });
    expect(statSync(path(at, 'bob.key')).mode & 0o777).toBe(0o600);
    const again = await bob(...approve, path(at, 'bob.key'));
    expect([again.code, printed(again)['unchanged']]).toEqual([0, true]);
    const shown = printed(await alice('plan', 'show', plan));
    expect(shown).toMatchObject({ state: 'approved', approvalNeeded: true, applied: null });
    const text = await at.run(['plan', 'show', plan]);
    expect(text.stdout).toContain('Approval: by bob (bob@');
    expect(text.stdout).toContain('Reason: laptop stolen\nTicket: SEC-7\n');
    expect(text.stdout).toMatch(/^1 +ci-lint +Night runner +write +never +Tower CLI$/m);

    expect(refusal(await bob(...apply))).toEqual(NOT_APPROVED);
    expect((await alice(...apply, '--dry-run')).code).toBe(0);
    const done = await alice(...apply);
    expect([done.code, printed(done)['revoked']]).toEqual([0, 4]);

    const log = await entries(at);
    expect(log.map(({ operation, kind }) => `${operation} ${kind}`)).toEqual([
      'plan.approve note',
      'tokens.revoke intent',
      'tokens.revoke intent',
      'tokens.revoke outcome',
      'tokens.revoke outcome',
    ]);
    expect(log[1]?.data).toMatchObject({
      ...{ reason: 'laptop stolen', ticket: 'SEC-7' },
      plan: { made: { by: { sudo_user: 'alice' } } },
      approval: { by: 'bob', user: 'bob', plan: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    const list = (await at.run(['log', 'list'])).stdout.replace(/\s+/g, ' ');
    expect(list).toContain('bob approved a plan for');
    expect(list).toContain('approved by bob');
    const run = printed(done)['run'] as string;
    expect((await at.run(['log', 'show', run])).stdout).toMatch(/Approved by: +bob/);

    expect(refusal(await alice(...apply))).toEqual({ code: 2, error: 'plan_outdated' });
    expect(printed(await bob('plan', 'show', plan))).toMatchObject({ applied: { run, isDone: true } });
    expect(await entries(at)).toHaveLength(log.length);
  });

  test('is refused with an approval of another plan, or one that was changed', {
    tags: ['long'],
  }, async () => {
    const { at, alice, bob, plan } = await guarded();
    const [one, other] = [await ids(at, 4), (await ids(at, 9)).slice(-8)];
    const second = path(at, 'second.json');
    await alice('tokens', 'revoke', ...one, '--plan-out', plan);
    await alice('tokens', 'revoke', ...other, '--plan-out', second);
    await bob('plan', 'approve', plan, '--yes', '--key-file', path(at, 'bob.key'));
    const approval = `${plan}.approval`;
    const use = (file: string, note: string) =>
      alice('tokens', 'revoke', '--plan', file, '--approval-file', note, '--yes');
    expect(refusal(await use(second, approval))).toEqual(NOT_APPROVED);
    const { digest } = JSON.parse(readFileSync(second, 'utf8')) as { readonly digest: string };
    const forged = path(at, 'forged');
    writeFileSync(forged, readFileSync(approval, 'utf8').replace(/plan [0-9a-f]{64}/, `plan ${digest}`));
    expect(refusal(await use(second, forged))).toEqual(NOT_APPROVED);
    writeFileSync(forged, 'no note');
    expect(refusal(await use(second, forged))).toEqual(NOT_APPROVED);
    writeFileSync(plan, readFileSync(plan, 'utf8').replace('"includeOwn": false', '"includeOwn": true'));
    expect(refusal(await use(plan, approval))).toEqual({ code: 2, error: 'configuration' });
    expect((await entries(at)).map(({ operation }) => operation)).toEqual(['plan.approve']);
  });

  test('is refused if the plan names other owners or another address than the approver read', {
    tags: ['long'],
  }, async () => {
    const { at, alice, bob, plan } = await guarded();
    const four = await ids(at, 4);
    const forgeries: [code: string, change: (saved: Printed) => Readonly<Record<string, unknown>>][] = [
      [
        'plan_outdated',
        ({ accessTokens }) => ({
          accessTokens: (accessTokens as { user: object }[]).map((token) => ({
            ...token,
            user: { ...token.user, username: 'nobody-important' },
          })),
        }),
      ],
      [
        'not_approved',
        ({ target }) => ({ target: { ...(target as object), address: 'https://lab.example.org' } }),
      ],
    ];
    for (const [number, [error, change]] of forgeries.entries()) {
      const file = `${plan}.${number}`;
      await alice('tokens', 'revoke', ...four, '--plan-out', file);
      forge(file, change);
      expect((await bob('plan', 'approve', file, '--yes', '--key-file', path(at, 'bob.key'))).code).toBe(0);
      expect(refusal(await alice('tokens', 'revoke', '--plan', file, '--yes'))).toEqual({ code: 2, error });
    }
    expect((await entries(at)).map(({ operation }) => operation)).toEqual(['plan.approve', 'plan.approve']);
  });

  test('goes on alone with --break-glass and a reason, and is recorded as such, unless that is off', async () => {
    const { at, alice } = await guarded();
    const four = await ids(at, 4);
    const broken = ['tokens', 'revoke', ...four, '--break-glass', '--yes'];
    expect(refusal(await alice(...broken))).toEqual({ code: 2, error: 'usage' });
    expect((await alice(...broken, '--reason', 'leaked at night')).code).toBe(0);
    expect((await entries(at))[0]?.data).toMatchObject({ approval: { breakGlass: true } });
    const list = (await at.run(['log', 'list'])).stdout.replace(/\s+/g, ' ');
    expect(list).toContain('without approval (--break-glass)');

    const strict = await guarded({ breakGlass: false });
    const more = ['tokens', 'revoke', ...(await ids(strict.at, 4)), '--break-glass', '--yes'];
    const refused = await strict.alice(...more, '--reason', 'leaked at night');
    expect(refusal(refused)).toEqual(NOT_APPROVED);
    expect(printed(refused).error?.message).toContain('--break-glass is not allowed here');
  });

  test('needs no one else up to the limit; --require-approval asks for it all the same', {
    tags: ['long'],
  }, async () => {
    const { at, alice, bob, plan } = await guarded();
    const two = await ids(at, 2);
    await alice('tokens', 'revoke', ...two, '--plan-out', plan, '--require-approval');
    const apply = ['tokens', 'revoke', '--plan', plan, '--yes'];
    expect(refusal(await alice(...apply))).toEqual(NOT_APPROVED);
    await bob('plan', 'approve', plan, '--yes', '--key-file', path(at, 'bob.key'), '--valid-for', '1h');
    expect((await alice(...apply)).code).toBe(0);
    const done = await alice('tokens', 'revoke', ...(await ids(at, 2)), '--yes');
    expect([done.code, printed(done)['revoked']]).toEqual([0, 2]);
  });

  test('is refused to the management command, and in a context of the environment', async () => {
    const { at, alice } = await guarded();
    expect(refusal(await alice('revoke_oauth2_tokens'))).toEqual(NOT_APPROVED);
    const password = readFileSync(path(at, 'admin.password'), 'utf8');
    const env = { CONTROLLER_HOST: url(), CONTROLLER_USERNAME: 'admin', CONTROLLER_PASSWORD: password };
    const four = await ids(at, 4);
    const around = await at.run(['tokens', 'revoke', ...four, '--yes', '--json'], { env });
    expect(refusal(around)).toEqual(NOT_APPROVED);
    expect(await entries(at)).toEqual([]);
  });
});

test('the end of a sunset is moved as another person approved it, once', async () => {
  const { at, alice, bob, plan } = await guarded({ aloneUpTo: 0 });
  const why = ['--reason', 'no permanent tokens', '--break-glass'];
  const sunset = printed(await alice('tokens', 'sunset', '--max-lifetime', '1d', '--yes', ...why));
  const [{ tokens }] = sunset['owners'] as [{ readonly tokens: readonly [number] }];
  const undo = ['tokens', 'sunset', '--undo', String(sunset['sunset'])];
  expect(refusal(await alice(...undo, '--yes'))).toEqual(NOT_APPROVED);
  expect((await at.run([...undo, '--dry-run'])).stderr).toContain('Change end dates one by one');
  const extend = ['tokens', 'leases', '--extend', String(tokens[0]), '--for', '90d'];
  expect(refusal(await alice(...extend))).toEqual(NOT_APPROVED);
  const saved = await alice(...extend, '--plan-out', plan, '--ticket', 'SEC-8');
  expect([saved.code, printed(saved)['planFile']]).toEqual([0, plan]);
  const apply = ['tokens', 'leases', '--plan', plan];
  expect(refusal(await alice(...apply))).toEqual(NOT_APPROVED);
  const shown = await at.run(['plan', 'show', plan]);
  expect(shown.stdout).toMatch(
    new RegExp(`^Moves: the end of sunset-\\w+-${tokens[0]}, token ${tokens[0]} of `),
  );
  await bob('plan', 'approve', plan, '--yes', '--key-file', path(at, 'bob.key'));
  const done = await alice(...apply);
  const [{ until }] = printed(done)['leases'] as [{ readonly until: string }];
  expect([done.code, until]).toEqual([0, JSON.parse(readFileSync(plan, 'utf8')).until]);
  const note = (await entries(at)).find(({ operation }) => operation === 'leases.extend');
  expect(note?.data).toMatchObject({ until, approval: { by: 'bob' }, ticket: 'SEC-8' });
  expect(refusal(await alice(...apply))).toEqual({ code: 2, error: 'plan_outdated' });
  // What an approver reads is what is done.
  forge(plan, () => ({ until: '2999-01-01T00:00:00.000Z' }));
  expect(refusal(await alice(...apply))).toEqual({ code: 2, error: 'configuration' });
});

test('the deletion of an application with more tokens is refused alone, by a dry run too', async () => {
  const { at, alice } = await guarded();
  const { stdout } = await at.run(['applications', 'list', '--tokens', '--json']);
  const listed = JSON.parse(stdout) as { readonly name: string; readonly accessTokens: number }[];
  const [large] = listed.toSorted((one, other) => other.accessTokens - one.accessTokens);
  expect(large?.accessTokens).toBeGreaterThan(3);
  const name = large?.name ?? '';
  expect(refusal(await alice('applications', 'delete', name, '--yes'))).toEqual(NOT_APPROVED);
  const { code, stderr } = await at.run(['applications', 'delete', name, '--dry-run']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('one person may revoke up to 3 here')]);
  expect(await entries(at)).toEqual([]);
});

describe('a lockdown', () => {
  test('of all is refused alone, is saved, approved and applied; of one user needs no one else', async () => {
    const { at, alice, bob, plan } = await guarded();
    const keep = ['--no-basic-auth-off', '--no-external-tokens-off', '--no-shorten-lifetimes'];
    const all = ['incident', 'lockdown', '--all', ...keep];
    expect(refusal(await alice(...all, '--yes'))).toEqual(NOT_APPROVED);
    const dry = await at.run([...all, '--dry-run']);
    expect([dry.code, dry.stderr]).toEqual([2, expect.stringContaining("second person's approval")]);
    const one = await at.run(['incident', 'lockdown', '--user', 'admin', '--dry-run']);
    expect(one.code).toBe(0);
    expect(await entries(at)).toEqual([]);

    const saved = await alice(...all, '--for', '2h', '--plan-out', plan);
    expect([saved.code, printed(saved)['planFile']]).toEqual([0, plan]);
    expect((await at.run(['plan', 'show', plan])).stdout).toContain('Ends 120 minutes after it starts.');
    const apply = ['incident', 'lockdown', '--plan', plan, '--yes'];
    expect(refusal(await alice(...apply))).toEqual(NOT_APPROVED);
    expect(refusal(await alice('tokens', 'revoke', '--plan', plan, '--yes'))).toEqual({
      code: 2,
      error: 'usage',
    });
    await bob('plan', 'approve', plan, '--yes', '--key-file', path(at, 'bob.key'));
    const done = await alice(...apply);
    // Over REST, not every access path can be checked.
    expect([done.code, printed(done)['result']]).toEqual([5, 'locked']);
    const opening = (await entries(at)).find(({ operation }) => operation === 'incident.lockdown');
    expect(opening?.data).toMatchObject({ approval: { by: 'bob' } });
    expect(refusal(await alice(...apply))).toEqual({ code: 2, error: 'plan_outdated' });
  });

  test('that was approved for one user is refused once another has the name', {
    tags: ['long'],
  }, async () => {
    const { at, alice, bob, plan } = await guarded();
    const listed = JSON.parse((await at.run(['users', 'list', '--json'])).stdout) as readonly {
      readonly id: number;
      readonly username: string;
    }[];
    const [meant, honest] = listed.filter(({ username }) => username !== 'admin').slice(-2);
    if (meant === undefined || honest === undefined) throw new Error('the estate has two users');
    const order = [
      'incident',
      'lockdown',
      '--user',
      meant.username,
      '--plan-out',
      plan,
      '--require-approval',
    ];
    expect((await alice(...order)).code).toBe(0);
    expect(JSON.parse(readFileSync(plan, 'utf8'))).toMatchObject({
      scope: { bound: [{ id: meant.id, name: meant.username, created: expect.stringMatching(/Z$/) }] },
    });
    await bob('plan', 'approve', plan, '--yes', '--key-file', path(at, 'bob.key'));
    await rename(meant.id, 'somebody-else');
    const apply = ['incident', 'lockdown', '--plan', plan, '--yes'];
    const renamed = await alice(...apply);
    expect(refusal(renamed)).toEqual({ code: 2, error: 'plan_outdated' });
    expect(printed(renamed).error?.message).toContain('is now called "somebody-else"');
    await rename(honest.id, meant.username);
    const taken = await alice(...apply);
    expect(refusal(taken)).toEqual({ code: 2, error: 'plan_outdated' });
    expect(printed(taken).error?.message).toContain(`now belongs to user ${honest.id}. Nothing was changed`);
    expect((await entries(at)).filter(({ operation }) => operation === 'incident.lockdown')).toEqual([]);
  });

  test('shows an approver all that it does, and no other words for it', async () => {
    const { at, alice, bob, plan } = await guarded();
    const listed = await at.run(['users', 'list', '--json']);
    const names = (JSON.parse(listed.stdout) as { readonly username: string }[])
      .map(({ username }) => username)
      .filter((name) => name !== 'admin')
      .slice(0, 2);
    const users = names.flatMap((name) => ['--user', name]);
    expect((await alice('incident', 'lockdown', ...users, '--plan-out', plan)).code).toBe(0);
    // Measures that a controller knows, and this service does not.
    const more = { resetPasswords: true, stripRoles: true, endApplications: true };
    forge(plan, ({ measures }) => ({ measures: { ...(measures as object), ...more } }));
    const { stdout } = await at.run(['plan', 'show', plan]);
    expect(stdout).toContain(`Locks down: the access of ${names.toSorted().join(' or ')}.`);
    expect(stdout).toContain('Sets random passwords for the users, which are not stored.');
    expect(stdout).toContain('Removes the roles of the users.');
    expect(stdout).toContain('Deletes the applications of the users');

    const approve = ['plan', 'approve', plan, '--yes', '--key-file', path(at, 'bob.key')];
    const whole = readFileSync(plan, 'utf8');
    forge(plan, ({ scope }) => ({ scope: { ...(scope as object), bound: [{ id: 1, name: 'admin' }] } }));
    expect(refusal(await bob(...approve))).toEqual({ code: 2, error: 'configuration' });
    writeFileSync(plan, whole);
    forge(plan, () => ({ scope: { kind: 'all' } }));
    expect(refusal(await bob(...approve))).toEqual({ code: 2, error: 'configuration' });
  });
});

test('a rule without approvers, or with a key that is none, is refused', async () => {
  const at = home();
  const file = path(at, '.config/tokenctl/tokenctl.yaml');
  const text = readFileSync(file, 'utf8');
  for (const [rule, message] of [
    ['{ required: true }', 'names no approvers'],
    ['{ approvers: { bob: secret } }', 'must be a public key'],
    ['{ approvers: { bob: x }, above: 3 }', 'above'],
  ]) {
    writeFileSync(file, `${text}approval: ${rule}\n`);
    const { code, stderr } = await at.run(['tokens', 'list']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message ?? '')]);
  }
});

test('a context that is replaced keeps its rule', async () => {
  const { at, keys } = await guarded({ required: false });
  const file = path(at, '.config/tokenctl/tokenctl.yaml');
  const rule = JSON.stringify({ required: true, approvers: { bob: keys['bob'] } });
  writeFileSync(file, readFileSync(file, 'utf8').replace(' } }\n', ` }, approval: ${rule} }\n`));
  const password = path(at, 'admin.password');
  const add = ['context', 'add', 'test', '--url', url(), '--username', 'admin', '--password-file', password];
  expect((await at.run([...add, '--replace'])).code).toBe(0);
  expect((await at.run(['context', 'show', 'test'])).stdout).toContain('by bob, for more than 3 tokens');
});

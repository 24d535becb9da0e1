import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { describe, expect, test } from 'vitest';
import { estate } from './estate.ts';
import { typedInto } from './terminal.ts';

const at = estate({ users: 3, tokens: 6 });
const PASSWORD = 'correct horse';
const DAY = 86_400_000;

let made = 0;

/** An intruder who changed the address of another user, which can be undone later, and made an application, which is deleted for good. */
async function intrusion() {
  const home = at.home();
  made += 1;
  const [intruder, victim] = [`intruder${made}`, `victim${made}`];
  const send = async (user: string, method: string, path: string, body?: object) => {
    const response = await fetch(`${at.url()}/api/v2/${path}`, {
      method,
      headers: { authorization: `Basic ${btoa(user)}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as { readonly id: number; readonly email: string; readonly count: number };
  };
  const admin = `${ADMIN.username}:${ADMIN.password}`;
  await send(admin, 'POST', 'users/', { username: intruder, password: PASSWORD, is_superuser: true });
  const { id } = await send(admin, 'POST', 'users/', {
    ...{ username: victim, password: PASSWORD, email: 'v@example.org' },
  });
  const login = `${intruder}:${PASSWORD}`;
  await send(login, 'PATCH', `users/${id}/`, { email: 't@example.org' });
  const client = { client_type: 'public', authorization_grant_type: 'password', organization: 1 };
  await send(login, 'POST', 'applications/', { name: `app${made}`, ...client });
  return {
    ...{ home, intruder, app: `app${made}` },
    left: async () => ({
      email: (await send(admin, 'GET', `users/${id}/`)).email,
      applications: (await send(admin, 'GET', `applications/?name=app${made}`)).count,
    }),
    async lockDown(reason: string): Promise<string> {
      const lockdown = ['incident', 'lockdown', '--user', intruder, '--yes', '--json', '--reason', reason];
      return JSON.parse((await home.run(lockdown)).stdout).incident;
    },
  };
}

const day = (ago: number) => new Date(Date.now() - ago * DAY).toISOString().slice(0, 10);
const FIRST = { question: 'Type 1 to clean 1 item that can be undone later', answer: '1' };
const SECOND = 'Type 1 for good to also do what cannot be undone to 1 item';

describe('a cleaning on a terminal', () => {
  test('asks a second time for what cannot be undone, and does the rest if the first answer is given again', async () => {
    const { home, app, left, lockDown } = await intrusion();
    const incident = await lockDown(`stolen on ${day(1)}`);
    const clean = ['incident', 'clean', '--incident', incident];
    const { screen, code } = await typedInto(clean, {
      ...{ home: home.folder, ...FIRST, next: { question: SECOND, answer: '1' } },
    });
    expect(screen).toContain(`Cleans only actions since ${day(1)}T00:00:00Z.`);
    expect(screen).toContain(`The date is from the reason of ${incident}. Check it, or add --since WHEN.`);
    expect(screen).toContain(SECOND);
    expect(screen).toMatch(/created the application app\d+/);
    expect(code).toBe(5);
    expect(await left()).toEqual({ email: 'v@example.org', applications: 1 });
    // The second run has nothing but that.
    const rest = await typedInto(clean, {
      home: home.folder,
      question: `Type ${app} to clean 1 item, which cannot be undone`,
      answer: app,
    });
    expect([rest.code, await left()]).toEqual([0, { email: 'v@example.org', applications: 0 }]);
    expect(rest.screen).not.toContain('also do what cannot be undone');
  });

  test('a lift warns of what a run with --yes left, until that is done', async () => {
    const { home, left, lockDown } = await intrusion();
    const incident = await lockDown(`stolen on ${day(1)}`);
    const clean = ['incident', 'clean', '--incident', incident, '--yes'];
    const lift = ['incident', 'lift', incident];
    expect((await home.run([...lift, '--dry-run'])).stdout).not.toContain('skipped these items');
    expect((await home.run(clean)).code).toBe(5);
    const warned = await home.run([...lift, '--dry-run']);
    expect(warned.stdout).toMatch(
      /\nThe cleanup in run [-\w]+ skipped these items because .*: 1 item\.\n.*app\d+/,
    );
    // The command that is printed can be pasted as it is.
    const [, printed = ''] = /Clean them first: `tokenctl ([^`]*)`/.exec(warned.stdout) ?? [];
    expect(printed).toContain('--since');
    expect((await home.run([...printed.split(' '), '--dry-run'])).stdout).toMatch(/application app\d+/);
    const planned = JSON.parse((await home.run([...lift, '--dry-run', '--json'])).stdout);
    expect(planned.plans[0].leftByCleaning.items).toMatchObject([
      { item: expect.stringMatching(/^o_auth2_application:\d+$/) },
    ]);
    expect((await home.run([...clean, '--irreversible'])).code).toBe(0);
    expect(await left()).toEqual({ email: 'v@example.org', applications: 0 });
    const done = await home.run([...lift, '--yes', '--json']);
    expect(JSON.parse(done.stdout)).toMatchObject({ plans: [{ leftByCleaning: null }] });
  });

  test('does all of it if both are confirmed', async () => {
    const { home, left, lockDown } = await intrusion();
    const incident = await lockDown(`stolen on ${day(1)}`);
    const { screen, code } = await typedInto(['incident', 'clean', '--incident', incident], {
      ...{ home: home.folder, ...FIRST, next: { question: SECOND, answer: '1 for good' } },
    });
    for (const about of ['1 of 2: actions that can be undone.', '2 of 2: actions that cannot be undone.'])
      expect(screen).toContain(`Question ${about}`);
    expect(screen).toContain('Cleaned: 2 of 2 items.');
    expect([code, await left()]).toEqual([0, { email: 'v@example.org', applications: 0 }]);
  });

  test('changes nothing, and asks nothing more, if the first is not confirmed', async () => {
    const { home, left, lockDown } = await intrusion();
    const incident = await lockDown(`stolen on ${day(1)}`);
    const { screen, code } = await typedInto(['incident', 'clean', '--incident', incident], {
      ...{
        home: home.folder,
        question: FIRST.question,
        answer: '2',
        next: { question: SECOND, answer: '1' },
      },
    });
    expect(screen).toContain('Not confirmed. Nothing was changed.');
    expect(screen).not.toContain(SECOND);
    expect([code, await left()]).toEqual([2, { email: 't@example.org', applications: 1 }]);
  });

  test('leaves alone what is older than the date in the reason', async () => {
    const { home, left, lockDown } = await intrusion();
    // A date that has not begun when the deeds were done, in time zones ahead of it as well.
    const incident = await lockDown(`seen at ${new Date(Date.now()).toISOString()}`);
    const { stdout, code } = await home.run(['incident', 'clean', '--incident', incident, '--dry-run']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('The date is from the reason of')]);
    expect(stdout).not.toMatch(/Delete the application|email/);
    expect(await left()).toEqual({ email: 't@example.org', applications: 1 });
  });

  test.each([
    ['no date', 'stolen'],
    ['two dates', 'stolen between 2026-01-02 and 2026-01-05'],
    ['a date that does not exist', 'stolen on 2026-13-45'],
    ['a date that was not yet', 'stolen on 2126-01-01'],
  ])('asks for --since if the reason has %s', async (_what, reason) => {
    const { home, left, lockDown } = await intrusion();
    const incident = await lockDown(reason);
    const { code, stderr } = await home.run(['incident', 'clean', '--incident', incident, '--yes']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Add --since WHEN.')]);
    expect(await left()).toEqual({ email: 't@example.org', applications: 1 });
  });
});

describe('incident mark', () => {
  test('hands an item over to someone, for a reason; a cleaning leaves it then', async () => {
    const { home, left, lockDown } = await intrusion();
    const incident = await lockDown(`stolen on ${day(1)}`);
    const clean = ['incident', 'clean', '--incident', incident];
    const { plan } = JSON.parse((await home.run([...clean, '--dry-run', '--json'])).stdout) as {
      readonly plan: { readonly clean: readonly { readonly id: string }[] };
    };
    const item = plan.clean.find(({ id }) => id.startsWith('o_auth2_application:'))?.id ?? '';
    const mark = ['incident', 'mark', incident, '--item', item, '--handed-over'];
    for (const [wrong, message] of [
      [[], '--handed-over requires --to and --reason'],
      [['--to', 'carol'], '--handed-over requires --reason'],
      [['--to', ' ', '--reason', 'hers'], '--handed-over requires --to'],
      [['--to', 'c'.repeat(201), '--reason', 'hers'], 'more than 200 characters'],
      [['--by-hand'], '--by-hand'],
    ] as const) {
      const { code, stderr } = await home.run([...mark, ...wrong]);
      expect([wrong, code, stderr]).toEqual([wrong, 2, expect.stringContaining(message)]);
    }
    const handed = [...mark, '--to', 'carol', '--reason', 'hers', '--json'];
    expect(JSON.parse((await home.run(handed)).stdout)).toMatchObject({
      ...{ handedOver: 'carol', legitimate: false, byHand: false, changed: [item] },
    });
    expect(JSON.parse((await home.run(handed)).stdout)).toMatchObject({ changed: [] });
    const cleaned = await home.run([...clean, '--yes', '--irreversible']);
    expect([cleaned.code, cleaned.stdout]).toEqual([
      0,
      expect.stringMatching(/\nSkipped because reassigned: 1 item\.\n.*app\d+ .*Reassigned to carol by/),
    ]);
    expect(await left()).toEqual({ email: 'v@example.org', applications: 1 });
    const undo = await home.run([...mark, '--undo', '--json']);
    expect(JSON.parse(undo.stdout)).toMatchObject({ handedOver: null, changed: [item] });
    expect((await home.run([...clean, '--yes', '--irreversible'])).code).toBe(0);
    expect((await left()).applications).toBe(0);
  });
});

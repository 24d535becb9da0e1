import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { testConsole } from '../../support/console.ts';
import { NO_SLAPD, PEOPLE, person, READER, startSlapd } from '../../support/slapd.ts';
import { databaseEstate } from './database-estate.ts';
import { estate, homeFor } from './estate.ts';
import { startTokenctl } from './program.ts';

const MINUTE = 60_000;
/** Times are compared across programs that round to the second. */
const ROUNDED_MS = 1_000;

const leavers = databaseEstate();

/** A machine whose clock is wrong by some minutes, as runs of the program in a home. */
function machine(folder: string, minutes: number) {
  const shift = join(folder, 'shift-clock.mjs');
  writeFileSync(
    shift,
    `const by = ${minutes * MINUTE};
globalThis.Date = class extends Date {
  constructor(...args) { if (args.length === 0) super(Date.now()); else super(...args); }
  static now() { return super.now() + by; }
};
`,
  );
  const env = { HOME: folder, NODE_OPTIONS: `--import ${pathToFileURL(shift).href}` };
  const run = (...args: readonly string[]) => startTokenctl(args, { env }).ended;
  const json = async (...args: readonly string[]) => JSON.parse((await run(...args, '--json')).stdout);
  return { run, json };
}

/** A time that was taken by a right clock since the test began. */
function isSince(begin: number, time: string): void {
  expect(Date.parse(time)).toBeGreaterThanOrEqual(begin - ROUNDED_MS);
  expect(Date.parse(time)).toBeLessThanOrEqual(Date.now() + ROUNDED_MS);
}

describe.each([
  ['behind', -2],
  ['ahead', 2],
])('on a machine whose clock is two minutes %s', (where, minutes) => {
  const db = databaseEstate();
  const rest = estate({ users: 4, tokens: 12 });
  const wrong = new RegExp(
    `Warning: This machine's clock is 2 minutes ${where === 'ahead' ? 'ahead of' : 'behind'} the clock of`,
  );

  async function makeToken(name: string, expires = "now() + interval '1 day'"): Promise<number> {
    const [row] = await db.database().query<{ id: number }>(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       VALUES ($1, ${expires}, 'write', (SELECT id FROM auth_user WHERE username = $2)) RETURNING id`,
      [randomBytes(32).toString('hex'), name],
    );
    return row?.id ?? 0;
  }

  test('a lockdown in the database begins, is compared and is lifted by the clock of the database', async () => {
    const begin = Date.now();
    const { name } = await db.addUser();
    const { run, json } = machine(db.home().folder, minutes);
    const locked = await run('incident', 'lockdown', '--user', name, '--deactivate', '--for', '1h', '--yes');
    expect(locked).toMatchObject({ code: 0, stderr: expect.stringMatching(wrong) });
    const [incident] = (await json('incident', 'status')).incidents;
    expect(incident).toMatchObject({ holds: true, isOverdue: false });
    isSince(begin, incident.since);
    isSince(begin, new Date(Date.parse(incident.until) - 60 * MINUTE).toISOString());

    await makeToken(name);
    expect((await run('incident', 'status', '--check')).stdout).toContain('NOT IN EFFECT');
    const again = await run('incident', 'lockdown', '--user', name, '--deactivate', '--yes');
    expect(again).toMatchObject({ code: 0 });
    const report = await json('incident', 'report', incident.id);
    isSince(begin, report.incident.since);

    expect((await run('incident', 'lift', '--due', '--yes')).stdout).toContain('No incidents to lift');
    expect(await run('incident', 'lift', incident.id, '--yes')).toMatchObject({ code: 0 });
  });

  test('a lockdown is due by the clock of the database', async () => {
    const { name } = await db.addUser();
    const { run, json } = machine(db.home().folder, minutes);
    const locked = await run('incident', 'lockdown', '--user', name, '--deactivate', '--for', '1m', '--yes');
    expect(locked).toMatchObject({ code: 0 });
    const status = async () => (await json('incident', 'status')).incidents[0];
    const { until: end, isOverdue } = await status();
    if (Date.now() < Date.parse(end)) expect(isOverdue).toBe(false);
    // It is due after a minute.
    if (where === 'ahead' || !inject('longTests')) return;
    await until(async () => (await status()).isOverdue);
    expect(Date.now()).toBeGreaterThan(Date.parse(end));
    const lifted = await json('incident', 'lift', '--due', '--yes');
    expect(lifted.reports).toMatchObject([{ result: 'lifted' }]);
  });

  test('a lockdown over REST begins and is compared by the clock of the controller', async () => {
    const begin = Date.now();
    const home = homeFor(rest.url());
    const { run, json } = machine(home.folder, minutes);
    const [{ user }] = JSON.parse((await home.run(['tokens', 'list', '--json'])).stdout);
    const { username } = user;
    const locked = await run('incident', 'lockdown', '--user', username, '--deactivate', '--yes');
    expect(locked.stderr).toMatch(wrong);
    const [incident] = (await json('incident', 'status')).incidents;
    isSince(begin, incident.since);
    const requests = incident.accessPaths.find(({ path }: { path: string }) => path === 'requests');
    // Two minutes after the act, rounded up to the minute.
    expect(Date.parse(requests.until)).toBeGreaterThan(begin + 2 * MINUTE - ROUNDED_MS);
    expect(Date.parse(requests.until)).toBeLessThan(Date.now() + 3 * MINUTE + ROUNDED_MS);
  });

  test('a trace has the times of the audit log by the clock of the database', async () => {
    const begin = Date.now();
    const { name, personal } = await db.addUser();
    const { run, json } = machine(db.home().folder, minutes);
    await run('tokens', 'revoke', '--user', name, '--yes');
    const { entries } = await json('tokens', 'trace', String(personal.id));
    expect(entries.length).toBeGreaterThan(1);
    for (const { at } of entries) isSince(begin, at);
  });

  describe('in the console', () => {
    afterEach(() => {
      vi.useRealTimers();
    });

    test('tokens are expired by the clock of the database', async () => {
      const { name } = await db.addUser();
      const other = await db.addUser();
      await makeToken(name, "now() - interval '1 minute'");
      await makeToken(name, "now() + interval '1 minute'");
      const { folder } = db.home();
      vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: Date.now() + minutes * MINUTE });
      const { send, operations, app } = await testConsole({ home: folder });
      onTestFinished(async () => {
        await operations.close();
        await app.close();
      });
      const page = async (query: string) =>
        (await send(`/api/tokens?place=db&user=${name}&sort=id&offset=0&limit=50${query}`)).json();
      await until(async () => (await page('')).readings[0]?.state === 'complete');
      expect((await page('')).total).toBe(4);
      expect((await page('&expiry=expired')).total).toBe(1);
      expect((await page('&expiry=live')).total).toBe(3);
      const { expiry } = await page('');
      expect(expiry[0]).toMatchObject({ count: 1 });
      for (const { from, to, count } of expiry) {
        const range = [from && `&expiresSince=${from}`, to && `&expiresBefore=${to}`]
          .filter(Boolean)
          .join('');
        expect((await page(range)).total, `${from} to ${to}`).toBe(count);
      }
      expect(other.name).not.toBe(name);
    });
  });
});

describe('a controller that does not report its time', () => {
  const { url } = estate({ users: 2, tokens: 2 });
  let proxy: Server;

  beforeAll(async () => {
    proxy = createServer((request, response) => {
      const to = new URL(request.url ?? '/', url());
      const onward = httpRequest(
        to,
        { method: request.method, headers: { ...request.headers, host: to.host } },
        (answer) => {
          const { date: _, ...headers } = answer.headers;
          response.sendDate = false;
          response.writeHead(answer.statusCode ?? 502, headers);
          answer.pipe(response);
        },
      );
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    proxy.close();
  });

  test('is named in a warning', async () => {
    const home = homeFor(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    const text =
      /does not report its time: its responses have no Date header\. Times are from this machine's clock\./;
    expect((await home.run(['tokens', 'list'])).stderr).toMatch(text);
    expect((await home.run(['context', 'check'])).stdout).toMatch(text);
    expect((await homeFor(url()).run(['tokens', 'list'])).stderr).not.toMatch(text);
  });
});

test.skipIf(NO_SLAPD !== null)(
  'an account of a directory that expires next month is there for a machine that is a year ahead',
  async () => {
    const day = Math.floor(Date.now() / 86_400_000);
    const uids = ['past', 'next'];
    const slapd = await startSlapd(
      uids.map((uid, index) => person(uid, { shadowExpire: String(day - 30 + 60 * index) })).join(''),
    );
    onTestFinished(() => slapd.stop());
    const home = leavers.home();
    const names: string[] = [];
    for (const uid of uids) {
      const { name } = await leavers.addUser();
      names.push(name);
      await leavers
        .database()
        .execute(
          'INSERT INTO main_profile (user_id, ldap_dn) SELECT id, $1 FROM auth_user WHERE username = $2',
          [`uid=${uid},${PEOPLE}`, name],
        );
    }
    const secret = join(home.folder, 'bind-password');
    writeFileSync(secret, READER.password, { mode: 0o600 });
    const staff = {
      ...{ kind: 'ldap', url: slapd.url, base: PEOPLE },
      ...{ bindDn: READER.dn, bindPassword: { file: secret } },
    };
    appendFileSync(
      join(home.folder, '.config/tokenctl/tokenctl.yaml'),
      `directories: ${JSON.stringify({ staff })}\n`,
    );
    const { json } = machine(home.folder, 366 * 24 * 60);
    const { directory } = await json('users', 'offboard', '--gone', 'staff', '--dry-run');
    expect(directory).toMatchObject({ listed: 2, disabled: 1, present: 1, gone: [{ username: names[0] }] });
  },
);

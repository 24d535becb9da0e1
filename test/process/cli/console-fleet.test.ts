import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Answers } from '../../../src/console/answers.ts';
import type { FleetRow } from '../../../src/console/overview.ts';
import { testConsole } from '../../support/console.ts';
import { estate } from './estate.ts';

const east = estate({ users: 12, tokens: 40 });

/** A controller that takes connections and answers nothing. */
async function silentController(): Promise<string> {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A console with a context that answers, one that never does, and one that cannot be reached. */
async function fleet() {
  const { folder } = east.home();
  const login = `username: admin, password: { file: "${join(folder, 'any')}" }`;
  writeFileSync(join(folder, 'any'), 'a password', { mode: 0o600 });
  const file = join(folder, 'fleet.yaml');
  writeFileSync(
    file,
    `contexts:
  gone: { url: "http://127.0.0.1:9", ${login} }
  silent: { url: "${await silentController()}", ${login} }
  east: { url: "${east.url()}", username: admin, password: { file: "${join(folder, 'admin.password')}" } }
`,
  );
  return { folder, file };
}

describe('the overview of several controllers', () => {
  it('plans no revocation of tokens that are not all read', async () => {
    const { folder, file } = await fleet();
    const { send, app, operations } = await testConsole({ home: folder, config: file, allContexts: true });
    onTestFinished(async () => {
      await operations.close();
      await app.close();
    });
    const request = { kind: 'tokens revoke', place: 'silent', filter: { text: 'laptop' } };
    const answer = await send('/api/plans', request);
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      {
        error: {
          code: 'usage',
          message: expect.stringMatching(/^Not all tokens of silent have been read yet: 0 so far/),
        },
      },
    ]);
  });

  it('shows those that answer, and names the one that does not', { tags: ['long'] }, async () => {
    const { folder, file } = await fleet();
    const { send, app, operations } = await testConsole({ home: folder, config: file, allContexts: true });
    onTestFinished(async () => {
      await operations.close();
      await app.close();
    });
    const read = async () => (await send('/api/fleet')).json().controllers as readonly FleetRow[];
    const row = async (place: string) => (await read()).find((each) => each.place === place);
    await until(
      () => row('east'),
      (each) => each?.audit.value?.tokensRead === 40,
    );
    expect(await row('east')).toMatchObject({
      context: { value: { identity: { username: 'admin' } }, problem: null, waits: null },
      incidents: { value: { open: [] } },
      audit: { value: { tokensRead: 40, expiring: { week: expect.any(Number) }, calendar: {} } },
    });
    expect(await row('silent')).toMatchObject({ context: { value: null, problem: null } });
    expect((await row('silent'))?.context.waits).toBeGreaterThanOrEqual(0);
    expect(await row('gone')).toMatchObject({ context: { problem: { code: 'target_unreachable' } } });
    const lists = async () => (await send('/api/incidents')).json().controllers;
    expect(await until(lists, ([gone, , other]) => gone.list.value && other.list.value)).toMatchObject([
      { place: 'gone', list: { value: { incidents: [], unread: { code: 'target_unreachable' } } } },
      { place: 'silent', list: { value: null, problem: null, waits: expect.any(Number) } },
      { place: 'east', list: { value: { incidents: [], unread: null } } },
    ]);
    expect((await send('/api/incidents?through=west')).statusCode).toBe(404);
    // The findings are those of the overview; who is missing is named, and keeps no one else.
    const audit = (await send('/api/audit')).json();
    const found = (await row('east'))?.audit.value?.found;
    expect(audit).toMatchObject({
      summary: { tokensRead: 40, found },
      byContext: [{ place: 'east', found }],
      readings: [
        { place: 'gone', problem: { code: 'target_unreachable' }, waits: null },
        { place: 'silent', problem: null, waits: expect.any(Number) },
        { place: 'east', problem: null, waits: null },
      ],
    });
    expect(new Set(audit.findings.map(({ place }: { place: string }) => place))).toEqual(new Set(['east']));
    // The list of tokens says whose are missing.
    const { readings } = (await send('/api/tokens')).json();
    expect(readings).toContainEqual(
      expect.objectContaining({ place: 'silent', state: 'reading', tokens: 0 }),
    );
    expect((await send('/api/console')).json()).toMatchObject({ places: ['gone', 'silent', 'east'] });
    expect((await send('/api/fleet?place=east')).json().controllers).toHaveLength(1);
  });

  it('suggests names that begin with a text before those that contain it', async () => {
    const { folder } = east.home();
    const { send, app } = await testConsole({ home: folder });
    onTestFinished(() => app.close());
    const names = async (text: string, kind = 'users') =>
      (await send(`/api/names?place=test&kind=${kind}&text=${text}`)).json().names as readonly string[];
    // A field does not wait for names that take longer than a second.
    const isThere = (found: readonly string[]) => found.length > 0;
    expect(await until(() => names('ADMI'), isThere)).toEqual(['admin']);
    expect((await names('b'))[0]).toMatch(/^b/);
    expect(await names('no such user')).toEqual([]);
    expect(await until(() => names('', 'applications'), isThere)).not.toEqual([]);
    expect((await send('/api/names?place=test&kind=teams')).statusCode).toBe(400);
  });
});

describe('what contexts answer', () => {
  it('is asked once, kept, asked again after a failure, and not waited for', async () => {
    let asked = 0;
    let end = (_value: string) => {};
    const answers = new Answers<string>(() => {
      asked += 1;
      return asked === 1 ? Promise.reject(new Error('no')) : new Promise((resolve) => (end = resolve));
    }, 60_000);
    await expect(answers.whole('east')).rejects.toThrow('no');
    expect(answers.of('east')).toMatchObject({ value: undefined, error: new Error('no'), waitsMs: null });
    expect(asked).toBe(1);
    answers.forget('east');
    expect(answers.of('east').waitsMs).not.toBeNull();
    await answers.soon(['east']);
    expect(answers.of('east').waitsMs).toBeGreaterThanOrEqual(990);
    end('yes');
    expect(await answers.whole('east')).toBe('yes');
    expect(answers.of('east')).toEqual({ value: 'yes', error: undefined, waitsMs: null });
    expect(asked).toBe(2);
  });
});

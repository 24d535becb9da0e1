import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { until } from '@tokenctl/testing/until.ts';
import { expect, it, onTestFinished } from 'vitest';
import type { AccountsRead } from '../../../src/console/names.ts';
import { theftConsole } from '../../support/theft.ts';
import { temporaryFolder } from './program.ts';

const PASSWORD = 'long enough for it';

it('names the users of every controller, what is near, and which controller was not read', {
  tags: ['long'],
}, async () => {
  const folder = temporaryFolder();
  const west = await startTestService();
  onTestFinished(() => west.close());
  const admin = new Client(west.url, basic(ADMIN.username, ADMIN.password));
  await admin.post('/api/v2/users/', { username: 'bob', password: PASSWORD });
  const login = `username: admin, password: { file: "${join(folder, 'password')}" }`;
  const { opened, close } = await theftConsole(folder, {
    more: [`west: { url: "${west.url}", ${login} }`, `gone: { url: "http://127.0.0.1:9", ${login} }`],
  });
  onTestFinished(close);
  const accounts = async (query: string) => {
    const read = async () =>
      (await opened.send(`/api/accounts?${query}`)).json().accounts as readonly AccountsRead[];
    const isPending = ({ names, problem }: AccountsRead) => names === null && problem === null;
    // A context is on its own until it has answered.
    const isTwin = ({ place }: AccountsRead) => place === 'east';
    return await until(read, (rows) => !rows.some((row) => isPending(row) || isTwin(row)));
  };
  // One controller with two contexts is asked once; two users of one name are two.
  expect(await accounts('text=bob')).toMatchObject([
    { place: 'east-db', names: ['bob'], near: null, problem: null },
    { place: 'west', names: ['bob'], near: null, problem: null },
    { place: 'gone', names: null, near: null, problem: { code: 'target_unreachable' } },
  ]);
  expect(await accounts('text=bbo&place=west')).toEqual([
    { place: 'west', names: [], near: 'bob', problem: null },
  ]);
  expect((await opened.send('/api/accounts?text=bob&place=elsewhere')).json().accounts).toMatchObject([
    { names: null, problem: { code: 'not_found' } },
  ]);
});

it('finds whose the value of a token is, which goes nowhere', { tags: ['long'] }, async () => {
  const folder = temporaryFolder();
  const { service, opened, close } = await theftConsole(folder, { readOnly: true });
  onTestFinished(close);
  const bob = new Client(service.url, basic('bob', PASSWORD));
  const { id, token: value } = (await bob.post('/api/v2/tokens/', { scope: 'read' })).json;
  const find = (place: string, text: string) => opened.send('/api/tokens/value', { place, text });
  expect((await find('east-db', `Bearer ${value}\n`)).json()).toEqual({
    found: [{ kind: 'access_token', live: true, ids: [id], user: 'bob' }],
  });
  expect((await find('east-db', value.split('').reverse().join(''))).json()).toEqual({ found: [] });
  // Over REST it would be used, and the last use of the thief's be gone.
  expect((await find('east', value)).json()).toMatchObject({ error: { code: 'unsupported' } });
  expect((await bob.get(`/api/v2/tokens/?id=${id}&last_used__isnull=true`)).json.count).toBe(1);
  await bob.delete(`/api/v2/tokens/${id}/`);
  expect((await find('east-db', value)).json().found).toEqual([]);

  const tooLong = await find('east-db', value.repeat(200));
  expect(tooLong.statusCode).toBe(400);
  expect(tooLong.body).not.toContain(value);
  expect((await find('elsewhere', value)).body).not.toContain(value);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(files.length).toBeGreaterThan(0);
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain(value);
});

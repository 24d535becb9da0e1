import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { estate } from './estate.ts';
import { temporaryFolder, tokenctl } from './program.ts';
import { typedInto } from './terminal.ts';

const { url } = estate({ users: 5, tokens: 10 });

/** An empty home with the password in a file, and another one in a second. */
function home() {
  const folder = temporaryFolder();
  const password = join(folder, 'password');
  const wrong = join(folder, 'wrong');
  writeFileSync(password, `${ADMIN.password}\n`, { mode: 0o600 });
  writeFileSync(wrong, 'not-the-password\n', { mode: 0o600 });
  const own = join(folder, '.config/tokenctl');
  return {
    ...{
      folder,
      password,
      wrong,
      config: join(own, 'tokenctl.yaml'),
      secret: join(own, 'secrets/lab.token'),
    },
    secrets: () => (existsSync(join(own, 'secrets')) ? readdirSync(join(own, 'secrets')) : []),
    run: (args: readonly string[], env: Record<string, string> = {}) =>
      tokenctl(args, { env: { HOME: folder, ...env } }),
    login: (...more: string[]) => ['login', url(), '--name', 'lab', '--username', ADMIN.username, ...more],
  };
}

/** How many tokens the user has. */
async function tokens(): Promise<number> {
  const basic = Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64');
  const response = await fetch(`${url()}/api/v2/tokens/`, { headers: { authorization: `Basic ${basic}` } });
  return ((await response.json()) as { count: number }).count;
}

/** What the service answers to a token. */
async function status(token: string): Promise<number> {
  return (await fetch(`${url()}/api/v2/me/`, { headers: { authorization: `Bearer ${token.trim()}` } }))
    .status;
}

/** A proxy of the service in which accounts may not create tokens. */
async function withoutCreation(): Promise<string> {
  const proxy = createServer(async ({ method, url: path, headers }, response) => {
    const isRefused = method === 'POST';
    const answer = await fetch(`${url()}${path}`, {
      headers: { authorization: headers.authorization ?? '' },
    });
    const text = isRefused
      ? '{"detail":"You do not have permission to perform this action."}'
      : await answer.text();
    response.writeHead(isRefused ? 403 : answer.status, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

describe('login', () => {
  test('makes a token that works, stores it and makes its context the current one', async () => {
    const { run, login, password, config, secret, secrets } = home();
    const done = await run(login('--password-file', password, '--json', '--ticket', 'OPS-1'));
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const printed = JSON.parse(done.stdout);
    expect(printed).toMatchObject({ dryRun: false, context: 'lab', tokenFile: secret, overriddenBy: null });
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(secrets()).toEqual(['lab.token']);
    const who = await run(['whoami', '--json']);
    expect(JSON.parse(who.stdout)).toMatchObject({
      context: 'lab',
      credential: 'token',
      ownToken: { ids: [printed.tokenId] },
    });
    const log = await run(['log', 'list', '--json']);
    expect(log.stdout).toContain('OPS-1');
    const token = readFileSync(secret, 'utf8').trim();
    const everything = readFileSync(config, 'utf8') + done.stdout + log.stdout;
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(ADMIN.password);
  });

  test('a leaked token of the same user is reported separately from the one of the login', {
    tags: ['long'],
  }, async () => {
    const { run, login, password, folder } = home();
    expect((await run(login('--password-file', password))).code).toBe(0);
    const leaked = join(folder, 'leaked');
    const made = await run(['tokens', 'create', '--scope', 'read', '--output', leaked, '--yes', '--json']);
    const { id } = JSON.parse(made.stdout).token ?? JSON.parse(made.stdout);
    const found = await run(['tokens', 'find', '--leaked', leaked, '--revoke', '--yes', '--json']);
    expect([found.code, JSON.parse(found.stdout)]).toEqual([
      0,
      expect.objectContaining({ found: [expect.objectContaining({ live: true, ids: [id] })] }),
    ]);
    expect((await run(['whoami'])).code).toBe(0);
  });

  test('asks for user and password on a terminal, and shows only the user', async () => {
    const { folder, run, secret } = home();
    const { screen, code } = await typedInto(['login', url(), '--name', 'lab'], {
      ...{ home: folder, question: 'User name: ', answer: ADMIN.username },
      next: { question: 'Password of', answer: ADMIN.password },
    });
    expect(code).toBe(0);
    expect(screen).toContain(`as ${ADMIN.username} (superuser).`);
    expect(screen).not.toContain(ADMIN.password);
    expect(existsSync(secret)).toBe(true);
    expect((await run(['whoami'])).code).toBe(0);
  });

  test('again, replaces the token and keeps the other settings of the context', async () => {
    const { run, login, password, folder, secret, config } = home();
    const database = join(folder, 'db.url');
    writeFileSync(database, 'postgres://awx@127.0.0.1/awx\n', { mode: 0o600 });
    await run(['context', 'add', 'lab-db', '--database-file', database]);
    const early = await run(login('--password-file', password, '--database-context', 'nowhere'));
    expect([early.code, existsSync(secret)]).toEqual([2, false]);
    await run(login('--password-file', password, '--database-context', 'lab-db'));
    const before = readFileSync(secret, 'utf8');
    const again = await run([
      'login',
      `${url()}/`,
      '--username',
      ADMIN.username,
      '--password-file',
      password,
    ]);
    expect(again.stdout).toMatch(/Revoked the token from the earlier login: \d+\./);
    expect(await status(before)).toBe(401);
    expect(readFileSync(secret, 'utf8')).not.toBe(before);
    expect(readFileSync(config, 'utf8')).toMatch(/currentContext: lab\n/);
    expect(JSON.parse((await run(['context', 'show', 'lab', '--json'])).stdout).databaseContext).toBe(
      'lab-db',
    );
  });

  test('ends what an interrupted login left: its token is in the configuration before it is used', async () => {
    const { run, login, password, secret, config } = home();
    const made = JSON.parse((await run(login('--password-file', password, '--json'))).stdout);
    // As if it was killed between the revocation of the earlier one and the record of that, with a second one that was never used.
    const lost = JSON.parse((await run(login('--password-file', password, '--json'))).stdout);
    expect(lost.revoked).toEqual([made.tokenId]);
    const value = readFileSync(secret, 'utf8');
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace(/(loginTokens:\s+)- /, `$1- ${made.tokenId}\n      - `),
    );
    const next = JSON.parse((await run(login('--password-file', password, '--json'))).stdout);
    expect(next).toMatchObject({ revoked: [made.tokenId, lost.tokenId], left: [] });
    expect(await status(value)).toBe(401);
    expect(await status(readFileSync(secret, 'utf8'))).toBe(200);
  });

  test('logout revokes the token and then deletes its file, also where it was killed between the two', async () => {
    const { run, login, password, secret, secrets } = home();
    expect((await run(['logout', '--context', 'lab'])).code).not.toBe(0);
    const { tokenId } = JSON.parse((await run(login('--password-file', password, '--json'))).stdout);
    const value = readFileSync(secret, 'utf8');
    const dry = await run(['logout', '--dry-run', '--json']);
    expect([JSON.parse(dry.stdout).tokenIds, await status(value)]).toEqual([[tokenId], 200]);
    const done = await run(['logout', '--json', '--ticket', 'OPS-2']);
    expect([done.code, JSON.parse(done.stdout)]).toEqual([
      0,
      { dryRun: false, context: 'lab', tokenIds: [tokenId], refused: false, tokenFile: secret },
    ]);
    expect([await status(value), secrets()]).toEqual([401, []]);
    const log = (await run(['log', 'list', '--raw', '--json'])).stdout;
    expect(log).toMatch(/tokens\.revoke[\s\S]*OPS-2|OPS-2[\s\S]*tokens\.revoke/);
    writeFileSync(secret, value, { mode: 0o600 });
    const again = await run(['logout']);
    expect([again.code, again.stdout, secrets()]).toEqual([
      0,
      expect.stringMatching(/does not accept the token\. Nothing was revoked\. .*not known/),
      [],
    ]);
    expect((await run(['whoami'])).stderr).toContain(`Log in: tokenctl login ${url()}`);
  });

  test('context remove revokes the token of a login, and names the one that it cannot', async () => {
    const { run, login, password, secret, secrets } = home();
    await run(login('--password-file', password));
    const value = readFileSync(secret, 'utf8');
    const removed = await run(['context', 'remove', 'lab']);
    expect([removed.code, removed.stdout, await status(value), secrets()]).toEqual([
      0,
      expect.stringContaining('Revoked the tokens of its logins'),
      401,
      [],
    ]);
    const { tokenId } = JSON.parse(
      (await run(login('--password-file', password, '--scope', 'read', '--json'))).stdout,
    );
    const left = await run(['context', 'remove', 'lab']);
    expect([left.code, left.stderr, secrets()]).toEqual([
      5,
      expect.stringContaining(`To revoke: tokenctl tokens revoke --id ${tokenId}`),
      [],
    ]);
  });

  test('with a pasted token, stores it once the controller has accepted it', { tags: ['long'] }, async () => {
    const { folder, run, login, password, secret } = home();
    await run(login('--password-file', password));
    const token = readFileSync(secret, 'utf8').trim();
    const before = await tokens();
    const other = temporaryFolder();
    const paste = (answer: string) =>
      typedInto(['login', url(), '--name', 'lab', '--browser'], { home: other, question: 'Token: ', answer });
    expect((await paste('no-token')).code).toBe(4);
    expect(existsSync(join(other, '.config'))).toBe(false);
    const { screen, code } = await paste(token);
    expect([code, screen.includes(token)]).toEqual([0, false]);
    expect(readFileSync(join(other, '.config/tokenctl/secrets/lab.token'), 'utf8').trim()).toBe(token);
    expect(await tokens()).toBe(before);
    expect(folder).not.toBe(other);
  });

  describe('leaves nothing', () => {
    const unchanged = async (
      work: (place: ReturnType<typeof home>) => Promise<number | null>,
      code: number,
    ) => {
      const place = home();
      const before = await tokens();
      expect(await work(place)).toBe(code);
      expect(await tokens()).toBe(before);
      expect([existsSync(place.config), place.secrets()]).toEqual([false, []]);
    };

    test('for a wrong password', () =>
      unchanged(async ({ run, login, wrong }) => (await run(login('--password-file', wrong))).code, 4));

    test('for an account that may not create tokens', () =>
      unchanged(async ({ run, password }) => {
        const address = await withoutCreation();
        const login = ['login', address, '--username', ADMIN.username, '--password-file', password];
        const { code, stderr } = await run(login);
        expect(stderr).toContain('does not allow this account a new token.');
        return code;
      }, 4));

    test('if no one listens there', () =>
      unchanged(async ({ run, password }) => {
        const login = ['login', 'https://127.0.0.1:1', '--username', 'admin', '--password-file', password];
        return (await run(login)).code;
      }, 7));

    test('without an audit log', () =>
      unchanged(async ({ run, login, password, folder }) => {
        mkdirSync(join(folder, 'log'));
        return (await run(login('--password-file', password, '--log-file', join(folder, 'log')))).code;
      }, 6));

    test('in a dry run', () =>
      unchanged(async ({ run, login, password }) => {
        const { code, stdout } = await run(login('--password-file', password, '--dry-run'));
        expect(stdout).toContain('Would create a token with scope write');
        return code;
      }, 0));

    test('for Ctrl-C at the password', () =>
      unchanged(async ({ folder, login }) => {
        const { code, screen } = await typedInto(login(), {
          home: folder,
          question: 'Password of',
          answer: '\u0003',
        });
        expect(screen).toContain('Interrupted. Nothing was changed.');
        return code;
      }, 130));

    test.each([
      ['--context', '--name'],
      ['--database-file', '--database-context'],
    ])('for %s, which names the place of other commands', (flag, instead) =>
      unchanged(async ({ run, login, password }) => {
        const { code, stderr } = await run(login('--password-file', password, flag, 'other'));
        expect(stderr).toContain(instead);
        return code;
      }, 2),
    );

    test('for an address that is none of a controller', async () => {
      const { run } = home();
      const { code, stderr } = await run(['login', 'ftp://lab.example.org']);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('"ftp://lab.example.org" is not a controller address.'),
      ]);
    });

    test('for a name whose context is another place', async () => {
      const { run, login, password } = home();
      expect((await run(login('--password-file', password))).code).toBe(0);
      const args = ['login', 'https://lab.example.org', '--name', 'lab', '--username', 'admin'];
      const { code, stderr } = await run([...args, '--password-file', password]);
      expect(code).toBe(2);
      expect(stderr).toBe(
        `Error: The context "lab" has a different address: ${url()}.\nLog in to that address, or set another name for the new context with --name.\n`,
      );
    });

    test('without a terminal to ask on', () =>
      unchanged(async ({ run }) => (await run(['login', url(), '--username', 'admin'])).code, 2));
  });
});

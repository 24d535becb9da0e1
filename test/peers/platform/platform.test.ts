import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { temporaryFolder, tokenctl } from '../../process/cli/program.ts';
import { type Access, makeAccess, makeUser } from '../access.ts';
import { describePeer, type Peer } from '../peer.ts';
import { PlatformFront } from './front.ts';

/** What a command prints of one component. */
interface Part<Result> {
  readonly context: string;
  readonly result: Result;
}

/** What the reports of lockdowns and offboardings say. */
interface Said {
  readonly incident?: string;
  readonly accessPaths: readonly { readonly path: string; readonly state: string }[];
}

const GATEWAY_API = '/api/gateway/v1/';
const CONTROLLER_API = '/api/controller/v2/';
const TOKENS = { gateway: 'dab_oauth2_provider_oauth2accesstoken', awx: 'main_oauth2accesstoken' };

describePeer('gateway', 'a platform', (gateway) => {
  describePeer('awx', 'of a gateway and the controller behind it', (controller) => {
    let front: PlatformFront;
    let folder: string;

    beforeAll(async () => {
      front = await PlatformFront.start({ gateway: gateway(), controller: controller() });
    }, 300_000);
    beforeEach(() => {
      folder = homeOf({ url: front.url, gateway: gateway(), controller: controller() });
    });
    afterAll(() => front?.[Symbol.asyncDispose]());

    const run = (...args: string[]) => tokenctl(args, { env: { HOME: folder } });
    const json = async <Result>(...args: string[]) => {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect(stdout, stderr).not.toBe('');
      return { code, body: JSON.parse(stdout) as Result };
    };
    const parts = async <Result>(...args: string[]) => {
      const { code, body } = await json<{ contexts: readonly Part<Result>[] }>(...args);
      return { code, parts: new Map(body.contexts.map(({ context, result }) => [context, result])) };
    };
    /** The status that the platform answers a user's own request with. */
    const statusOf = async (api: string, authorization: string) => {
      const answer = await fetch(new URL(`${api}me/`, front.url), { headers: { authorization } });
      await answer.body?.cancel();
      return answer.status;
    };
    const passwordOf = (name: string) => `Basic ${Buffer.from(`${name}:${name}pw`).toString('base64')}`;
    /** A user of this name on both sides, each with tokens of its own. */
    const makeBoth = async (name: string) => {
      const ids = [await makeUser(gateway(), name), await makeUser(controller(), name)];
      return {
        ids,
        gateway: await makeAccess(gateway(), name),
        controller: await makeAccess(controller(), name),
      };
    };
    /** How the platform answers the tokens of both sides, at the gateway and at the controller. */
    const tokensAnswered = async (access: { readonly gateway: Access; readonly controller: Access }) => [
      await statusOf(GATEWAY_API, `Bearer ${access.gateway.personal}`),
      await statusOf(CONTROLLER_API, `Bearer ${access.gateway.personal}`),
      await statusOf(CONTROLLER_API, `Bearer ${access.controller.personal}`),
    ];
    const ownersOf = async (peer: Peer) =>
      (
        await peer.sql<{ name: string; n: number }>(
          `SELECT u.username AS name, count(*)::int AS n
           FROM ${peer.isGateway ? TOKENS.gateway : TOKENS.awx} t
           JOIN ${peer.isGateway ? 'aap_gateway_api_user' : 'auth_user'} u ON u.id = t.user_id GROUP BY 1 ORDER BY 1`,
        )
      ).map(({ name, n }) => `${name} ${n}`);

    test('the controller knows the users of the gateway by their names', async () => {
      const id = await makeUser(gateway(), 'only-gateway');
      const before = await controller().sql("SELECT FROM auth_user WHERE username = 'only-gateway'");
      expect(await statusOf(CONTROLLER_API, passwordOf('only-gateway'))).toBe(200);
      const [made] = await controller().sql<{ id: number }>(
        "SELECT id FROM auth_user WHERE username = 'only-gateway'",
      );
      expect([before, made?.id === undefined, made?.id === id]).toEqual([[], false, false]);
    });

    test('tokens of both are listed and audited; one of them can be selected', async () => {
      const places = async (...args: string[]) =>
        (await json<{ context: string }[]>('tokens', 'list', ...args)).body.map(({ context }) => context);
      expect([...new Set(await places())]).toEqual(['aap/gateway', 'aap/controller']);
      expect(new Set(await places('--context', 'aap/controller'))).toEqual(new Set([undefined]));
      const audited = await run('tokens', 'audit');
      expect(audited.stdout).toMatch(/== aap\/gateway ==[\s\S]*== aap\/controller ==/);
    });

    test('tokens revoke ends the tokens of a name on both sides, and no others', async () => {
      const access = await makeBoth('swept');
      expect(new Set(access.ids).size).toBe(2);
      expect(await tokensAnswered(access)).toEqual([200, 200, 200]);
      const others = async () =>
        (await Promise.all([gateway(), controller()].map(ownersOf))).map((each) =>
          each.filter((line) => !line.startsWith('swept ')),
        );
      const before = await others();
      expect((await parts('tokens', 'revoke', '--user', 'swept', '--yes')).code).toBe(0);
      expect(await tokensAnswered(access)).toEqual([401, 401, 401]);
      expect(await others()).toEqual(before);
    });

    test('remedies name the database of their own component, and work as printed', async () => {
      const access = await makeBoth('remedied');
      const { stdout } = await run('tokens', 'revoke', '--user', 'remedied', '--yes');
      const remedies = [...stdout.matchAll(/`tokenctl (tokens revoke --context \S+ --user remedied)`/g)];
      const commands = new Set(remedies.map(([, command = '']) => command));
      expect([...commands].sort()).toEqual([
        'tokens revoke --context awx-db --user remedied',
        'tokens revoke --context gateway-db --user remedied',
      ]);
      for (const command of commands) expect((await run(...command.split(' '), '--yes')).code).toBe(0);
      for (const [peer, { refresh }] of [
        [gateway(), access.gateway],
        [controller(), access.controller],
      ] as const) {
        const table = peer.isGateway
          ? 'dab_oauth2_provider_oauth2refreshtoken'
          : 'oauth2_provider_refreshtoken';
        const name = peer.isGateway ? 'aap_gateway_api_user' : 'auth_user';
        const live = await peer.sql(
          `SELECT FROM ${table} r JOIN ${name} u ON u.id = r.user_id WHERE u.username = 'remedied' AND r.revoked IS NULL`,
        );
        expect([refresh === null, live]).toEqual([false, []]);
      }
    });

    test('a lockdown is one incident on both sides, checked and lifted on both', async () => {
      const access = await makeBoth('locked');
      const locked = await parts<Said>('incident', 'lockdown', '--user', 'locked', '--yes');
      expect([...locked.parts.keys()]).toEqual(['aap/gateway', 'aap/controller']);
      const said = [...locked.parts.values()];
      expect(new Set(said.map(({ incident }) => incident)).size).toBe(1);
      for (const { accessPaths } of said) {
        const closed = accessPaths.filter(({ state }) => state === 'closed').map(({ path }) => path);
        expect(closed).toEqual(['access_tokens', 'revoked_token']);
      }
      expect(locked.code).toBe(5);
      expect(await tokensAnswered(access)).toEqual([401, 401, 401]);
      const status = await run('incident', 'status');
      expect(status.stdout.match(/In effect as far as this context can check/g)).toHaveLength(2);
      expect(await run('incident', 'lift', said[0]?.incident ?? '', '--yes')).toMatchObject({ code: 0 });
      expect((await run('incident', 'status')).stdout).not.toContain(said[0]?.incident);
    });

    test('offboarding at the controller alone does not claim what the gateway still allows', async () => {
      const access = await makeBoth('leaver');
      const password = passwordOf('leaver');
      const alone = await run('users', 'offboard', 'leaver', '--yes', '--context', 'awx-db');
      expect(alone).toMatchObject({ code: 0 });
      expect(alone.stdout).toContain('All access of leaver that this database shows has ended.');
      expect(alone.stdout).toContain(
        'a platform gateway: If this controller is behind one, it lets in users',
      );
      // The controller does not ask whether the user whom the gateway names is active.
      expect([await statusOf(CONTROLLER_API, password), ...(await tokensAnswered(access))]).toEqual([
        ...[200, 200, 200, 401],
      ]);
      const { code, parts: both } = await parts<Said>(
        'users',
        'offboard',
        'leaver',
        '--yes',
        '--context',
        'databases',
      );
      expect(code).toBe(0);
      const open = [...both.values()].flatMap(({ accessPaths }) =>
        accessPaths.filter(({ state }) => state !== 'closed'),
      );
      expect([both.size, open]).toEqual([2, []]);
      expect([await statusOf(CONTROLLER_API, password), ...(await tokensAnswered(access))]).toEqual([
        ...[401, 401, 401, 401],
      ]);
      const cookie = access.gateway.cookie ?? '';
      const session = await fetch(new URL(`${CONTROLLER_API}me/`, front.url), { headers: { cookie } });
      expect(session.status).toBe(401);
    });

    test('offboarding over REST says on both sides that users stay active', async () => {
      await makeBoth('stays');
      const { code, parts: both } = await parts<Said>('users', 'offboard', 'stays', '--yes');
      expect(code).toBe(5);
      for (const { accessPaths } of both.values()) {
        expect(accessPaths.find(({ path }) => path === 'users')?.state).toBe('open');
      }
      expect(await statusOf(CONTROLLER_API, passwordOf('stays'))).toBe(200);
    });

    test('a lockdown in both databases deactivates on both sides, and lift gives both back', async () => {
      const access = await makeBoth('incident');
      const args = [
        'incident',
        'lockdown',
        '--user',
        'incident',
        '--deactivate',
        '--yes',
        '--context',
        'databases',
      ];
      const { code, parts: both } = await parts<Said>(...args);
      expect(code).toBe(0);
      expect([...both.values()].flatMap(({ accessPaths }) => accessPaths.map(({ path }) => path))).toEqual(
        expect.arrayContaining(['gateway', 'controller']),
      );
      const password = passwordOf('incident');
      expect([await statusOf(CONTROLLER_API, password), ...(await tokensAnswered(access))]).toEqual([
        ...[401, 401, 401, 401],
      ]);
      const id = both.get('gateway-db')?.incident ?? '';
      expect(both.get('awx-db')?.incident).toBe(id);
      expect(await run('incident', 'lift', id, '--yes', '--context', 'databases')).toMatchObject({ code: 0 });
      expect([await statusOf(GATEWAY_API, password), await statusOf(CONTROLLER_API, password)]).toEqual([
        200, 200,
      ]);
    });
  });
});

/** A home with the platform as the context `aap`, and both databases, which are also a group. */
function homeOf(platform: {
  readonly url: string;
  readonly gateway: Peer;
  readonly controller: Peer;
}): string {
  const folder = temporaryFolder();
  const secret = (name: string, value: string): string => {
    writeFileSync(join(folder, name), `${value}\n`, { mode: 0o600 });
    return `{ file: "${join(folder, name)}" }`;
  };
  mkdirSync(join(folder, '.config/tokenctl'), { recursive: true });
  writeFileSync(
    join(folder, '.config/tokenctl/tokenctl.yaml'),
    `currentContext: aap
contexts:
  aap:
    url: "${platform.url}"
    token: ${secret('admin.token', platform.gateway.fill.admintoken)}
    databaseContext: { gateway: gateway-db, controller: awx-db }
  gateway-db: { database: ${secret('gateway.url', platform.gateway.databaseUrl())} }
  awx-db: { database: ${secret('awx.url', platform.controller.databaseUrl())} }
groups: { databases: [gateway-db, awx-db] }
`,
  );
  return folder;
}

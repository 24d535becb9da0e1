import { runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  entriesOf,
  FIRST,
  FIRST_ENTRY,
  ORGANIZATIONS,
  Rules,
  setting,
  sqlFor,
  tokensOf,
  USERS,
  value,
  type World,
  worlds,
} from './access-world.ts';
import { type Answer, bearer, Client, useService } from './support/service.ts';

/** Filters that try to widen what is listed; none of them may show more. */
const WIDENING = [
  '',
  'or__id__gt=0',
  'or__id__gt=0&or__id__lt=1',
  'not__id=0',
  'or__not__id__isnull=true',
  'chain__not__id=0&order_by=-id',
];
const TOKEN_WIDENING = [
  'user__email__contains=',
  'or__user__is_superuser=true&or__user__is_superuser=false',
  'user__search=',
];

/** The ids that a list shows, as indexes, with those that every service has from its first start left out. */
function indexes(answer: Answer, first = FIRST): number[] {
  expect(answer.status).toBe(200);
  const ids = answer.json.results.map(({ id }) => id - first).filter((index) => index >= 0);
  return ids.sort((one, other) => one - other);
}

describe('access', () => {
  const { service } = useService();

  beforeAll(async () => {
    await service.database.script(setting);
  });

  it('shows and changes what the rules allow and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        await service.database.script(sqlFor(world));
        for (let viewer = 0; viewer < USERS; viewer += 1) await compare(world, viewer);
      }),
      // Making a failing world smaller takes minutes over HTTP.
      { numRuns: runs(10), endOnFailure: true },
    );
  });

  async function compare(world: World, viewer: number): Promise<void> {
    const rules = new Rules(world);
    const client = new Client(service.url, bearer(value(viewer)));
    const list = async (path: string, query = '') =>
      indexes(await client.get(`/api/v2/${path}?page_size=200&${query}`));
    const all = tokensOf(world);
    const where = (test: (index: number) => boolean, size: number) =>
      Array.from({ length: size }, (_, index) => index).filter(test);
    const tokens = where(
      (index) => all[index] !== undefined && rules.seesToken(viewer, all[index]),
      all.length,
    );
    for (const query of TOKEN_WIDENING) expect(await list('tokens/', query)).toEqual(tokens);
    const users = where((other) => rules.seesUser(viewer, other), USERS);
    for (const query of WIDENING) {
      expect(await list('tokens/', query)).toEqual(tokens);
      expect(await list('users/', query)).toEqual(users);
    }
    const narrow = `id__lt=${FIRST + 2}`;
    expect(await list('tokens/', narrow)).toEqual(tokens.filter((index) => index < 2));
    expect(await list('users/', narrow)).toEqual(users.filter((index) => index < 2));
    expect(await list('me/')).toEqual([viewer]);
    const organizations = where((index) => rules.seesOrganization(viewer, index), ORGANIZATIONS.length);
    expect(await list('organizations/')).toEqual(organizations);
    expect(await list('applications/')).toEqual(organizations);
    expect(await list('hosts/')).toEqual(
      where((index) => rules.seesHost(viewer, index), ORGANIZATIONS.length),
    );
    await compareTeams(client, world, viewer);
    await compareTokens(client, all, { viewer, rules });
    await compareApplications(client, world, viewer);
    await compareEntries(client, world, viewer);
    for (let other = 0; other < USERS; other += 1) {
      const path = `/api/v2/users/${FIRST + other}/`;
      expect((await client.get(path)).status).toBe(rules.seesUser(viewer, other) ? 200 : 403);
      const may = rules.changesUser(viewer, other) && rules.seesUser(viewer, other);
      expect((await client.patch(path, { first_name: 'x' })).status).toBe(may ? 200 : 403);
      const theirs = tokens.filter((index) => all[index]?.owner === other);
      expect(await list(`users/${FIRST + other}/tokens/`)).toEqual(theirs);
    }
  }

  async function compareTokens(
    client: Client,
    all: World['tokens'],
    { viewer, rules }: { viewer: number; rules: Rules },
  ): Promise<void> {
    const compareOne = async (token: World['tokens'][number], index: number) => {
      const path = `/api/v2/tokens/${FIRST + index}/`;
      expect((await client.get(path)).status).toBe(rules.seesToken(viewer, token) ? 200 : 403);
      expect((await client.get(`${path}activity_stream/`)).status).toBe(
        rules.seesToken(viewer, token) ? 200 : 403,
      );
      const change = await client.patch(path, { description: 'x' });
      expect(change.status).toBe(rules.changesToken(viewer, token) ? 200 : 403);
    };
    await Promise.all(all.map(compareOne));
  }

  async function compareTeams(client: Client, world: World, viewer: number): Promise<void> {
    const rules = new Rules(world);
    const seen = ORGANIZATIONS.filter((team) => rules.seesTeam(viewer, team));
    for (const query of WIDENING) expect(indexes(await client.get(`/api/v2/teams/?${query}`))).toEqual(seen);
    for (const team of ORGANIZATIONS) {
      const path = `/api/v2/teams/${FIRST + team}/`;
      const members = await client.get(`${path}users/`);
      const may = rules.changesTeam(viewer, team);
      expect((await client.patch(path, { description: 'x' })).status).toBe(may ? 200 : 403);
      if (!rules.seesTeam(viewer, team)) {
        expect(members.status).toBe(403);
        continue;
      }
      const isShown = (user: number) =>
        world.users[user]?.teams[team] === 'member' && rules.seesUser(viewer, user);
      expect(indexes(members)).toEqual(world.users.map((_user, index) => index).filter(isShown));
    }
  }

  async function compareApplications(client: Client, world: World, viewer: number): Promise<void> {
    const rules = new Rules(world);
    const all = tokensOf(world);
    for (const organization of ORGANIZATIONS) {
      const path = `/api/v2/applications/${FIRST + organization}/`;
      const sees = rules.seesOrganization(viewer, organization);
      expect((await client.get(path)).status).toBe(sees ? 200 : 403);
      const may = rules.changesApplication(viewer, organization);
      expect((await client.patch(path, { description: 'x' })).status).toBe(may ? 200 : 403);
      const tokens = await client.get(`${path}tokens/?page_size=200`);
      if (!sees) {
        expect(tokens.status).toBe(403);
        continue;
      }
      const theirs = all.flatMap((token, index) =>
        token.organization === organization && rules.seesToken(viewer, token) ? [index] : [],
      );
      expect(indexes(tokens)).toEqual(theirs);
      expect((await client.get(path)).json['summary_fields']).toMatchObject({
        tokens: { count: theirs.length },
      });
    }
  }

  async function compareEntries(client: Client, world: World, viewer: number): Promise<void> {
    const rules = new Rules(world);
    const seen = entriesOf(world).flatMap((entry, index) => (rules.seesEntry(viewer, entry) ? [index] : []));
    const queries = [...WIDENING, 'search=description', 'or__actor__id__gt=0&or__actor__isnull=true'];
    for (const query of queries) {
      const path = `/api/v2/activity_stream/?page_size=200&id__gte=${FIRST_ENTRY}&${query}`;
      expect(indexes(await client.get(path), FIRST_ENTRY)).toEqual(seen);
    }
    const compareOne = async (_entry: unknown, index: number) => {
      const { status } = await client.get(`/api/v2/activity_stream/${FIRST_ENTRY + index}/`);
      expect(status).toBe(seen.includes(index) ? 200 : 403);
    };
    await Promise.all(entriesOf(world).map(compareOne));
  }
});

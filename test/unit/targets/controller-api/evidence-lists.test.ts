import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, it } from 'vitest';
import { openApiEvidence } from '../../../../src/targets/controller-api/evidence.ts';
import { FakeController, type Fault } from '../../../support/fake-controller.ts';
import { HAS_RECORDING, recordedExchange } from '../../../support/recordings.ts';

/** What the controller answered to its superuser. */
function recorded(path: string): { results: Record<string, unknown>[]; count: number } {
  return recordedExchange((each) => each.method === 'GET' && each.path === path).response as ReturnType<
    typeof recorded
  >;
}

const window = { since: new Date('2026-11-23T00:00:00Z'), until: new Date('2026-11-24T00:00:00Z') };

/** Opens evidence of a controller that answers lists by the beginning of their addresses. */
async function opened(lists: Readonly<Record<string, (query: URLSearchParams) => unknown>>) {
  const fake = await FakeController.start();
  const fault: Fault = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
    const list = lists[pathname.replace('/api/v2/', '')];
    if (list === undefined) return false;
    const body = list(searchParams);
    response
      .writeHead(body === null ? 403 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body ?? { detail: 'No.' }));
    return true;
  };
  fake.fault = fault;
  const credential = { kind: 'token' as const, token: new Secret('x') };
  const evidence = openApiEvidence({ address: fake.address, credential, verifyTls: true });
  return { evidence, fake };
}

const NONE = { count: 0, next: null, previous: null, results: [] };
const one = (path: string) => (query: URLSearchParams) =>
  query.get('id__gt') === '0' ? { ...recorded(path), count: 1, next: null } : NONE;

describe.skipIf(!HAS_RECORDING)('lists of a controller 24.6.1, as recorded', () => {
  it('reads who made and changed a credential type', async () => {
    const types = '/api/v2/credential_types/?page_size=1&order_by=-id';
    const { evidence, fake } = await opened({
      'credential_types/': one(types),
      'credential_input_sources/': () =>
        recorded('/api/v2/credential_input_sources/?page_size=1&order_by=-id'),
      'hosts/': () => null,
    });
    await using _fake = fake;
    const { objects, unread } = await evidence.madeBy({ ...window, by: [1] });
    const admin = { id: 1, username: 'admin' };
    expect(objects).toMatchObject([
      { kind: 'credential_type', id: 22, name: 'Own type', createdBy: admin, modifiedBy: admin },
    ]);
    // Refused, or not there at all: not read.
    expect(unread).toContain('host');
    expect(unread).not.toContain('credential_type');
    expect(unread).not.toContain('credential_input_source');
    expect(fake.requests.filter((each) => each.includes('credential_types'))).toEqual([
      expect.stringContaining(
        'created__gte=2026-11-23T00%3A00%3A00.000Z&created__lt=2026-11-24T00%3A00%3A00.000Z&created_by__id=1',
      ),
      expect.stringContaining('modified_by__id=1'),
    ]);
    await evidence.close();
  });

  it('reads who has a role of an object, by both lists', async () => {
    const access = '/api/v2/credentials/1/access_list/?page_size=1';
    const assigned = recorded('/api/v2/role_user_assignments/?user=2').results;
    const ofOrganization = assigned.filter(({ object_id: object }) => object === '2');
    const { evidence, fake } = await opened({
      'credentials/1/access_list/': () => ({ ...recorded(access), count: 1, next: null }),
      'organizations/2/access_list/': () => NONE,
      'role_user_assignments/': () => ({ ...NONE, count: ofOrganization.length, results: ofOrganization }),
      'role_team_assignments/': () => NONE,
    });
    await using _fake = fake;
    expect(await evidence.roleHolders({ kind: 'credential', id: 1 })).toEqual([
      { holder: 'admin', role: 'admin_role' },
    ]);
    expect(await evidence.roleHolders({ kind: 'organization', id: 2 })).toEqual([
      { holder: 'alice', role: 'member_role' },
    ]);
    await evidence.close();
  });

  it('tells users with an entry from users without one', async () => {
    const users = recorded('/api/v2/users/?page_size=3&order_by=id');
    const create = recorded('/api/v2/activity_stream/?object1=user&page_size=1');
    const { evidence, fake } = await opened({
      'users/': () => ({ ...users, count: 3, next: null }),
      'activity_stream/': () => ({ ...create, count: 1, next: null }),
    });
    await using _fake = fake;
    const made = await evidence.usersMade(window);
    expect(made?.map(({ username, isSuperuser, isRecorded }) => [username, isSuperuser, isRecorded])).toEqual(
      [
        ['admin', true, true],
        ['alice', false, false],
        ['bob', false, false],
      ],
    );
    await evidence.close();
  });

  it('counts the numbers between the first and the last entry', async () => {
    const entry = recorded('/api/v2/activity_stream/?page_size=2&order_by=-id').results[0] ?? {};
    const page = (id: number, count: number) => ({
      count,
      next: null,
      previous: null,
      results: [{ ...entry, id }],
    });
    const { evidence, fake } = await opened({
      'activity_stream/': (query) => {
        if (query.has('timestamp__gte')) return page(12, 9);
        if (query.get('id__lt') === '12') return page(9, 9);
        return query.has('id__gt') ? page(12, 9) : page(20, 18);
      },
    });
    await using _fake = fake;
    expect(await evidence.missingEntries(window.since)).toEqual({
      first: 10,
      last: 20,
      missing: 2,
      isEndKnown: false,
    });
    expect(await evidence.missingJobs(window.since)).toBeNull();
    await evidence.close();
  });
});

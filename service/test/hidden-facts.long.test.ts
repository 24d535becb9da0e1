import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Relation } from '../src/listing/fields.ts';
import { activityFields } from '../src/resources/activity.ts';
import { applicationKind } from '../src/resources/applications.ts';
import { ORGANIZATION } from '../src/resources/organizations.ts';
import { HOST, INVENTORY } from '../src/resources/resource-kinds.ts';
import { TEAM } from '../src/resources/teams.ts';
import { tokenFields } from '../src/resources/token-json.ts';
import { userFields } from '../src/resources/user-json.ts';
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
import { bearer, Client, useService } from './support/service.ts';

/** Where to look, and the names that can be filtered by there. */
const LISTS: readonly (readonly [path: string, fields: Relation])[] = [
  ['tokens/', tokenFields],
  [`users/${FIRST}/tokens/`, tokenFields],
  [`applications/${FIRST}/tokens/`, tokenFields],
  ['users/', userFields],
  [`organizations/${FIRST}/users/`, userFields],
  ['organizations/', ORGANIZATION.fields],
  [`users/${FIRST}/organizations/`, ORGANIZATION.fields],
  ['teams/', TEAM.fields],
  ['inventories/', INVENTORY.fields],
  ['hosts/', HOST.fields],
  ['applications/', applicationKind({}).fields],
  [`organizations/${FIRST}/applications/`, applicationKind({}).fields],
  ['activity_stream/', activityFields],
  [`users/${FIRST}/activity_stream/`, activityFields],
  [`organizations/${FIRST}/activity_stream/`, activityFields],
];

/** All names that can be filtered by, through relations too. */
function names({ fields, relations = {} }: Relation): string[] {
  const own = Object.keys(fields).filter((name) => fields[name]?.column !== undefined);
  const through = Object.entries(relations).flatMap(([relation, related]) =>
    [...names(related), 'search'].map((name) => `${relation}__${name}`),
  );
  return [...own, ...through];
}

const LOOKUPS = [
  ...['', '__contains', '__icontains', '__startswith', '__iregex', '__gt', '__lte', '__in'],
  '__isnull',
];
const VALUES = ['a', 'hidden', 'o1', '1', '0', 'true', 'false', '2020-01-01', 'write', 'public', 'null', ''];
const PREFIXES = ['', '', 'not__', 'or__', 'or__not__', 'chain__'];

/** Addresses of lists with a few filters, an order and a search; some are answered with 400 or 403. */
const questions = fc.constantFrom(...LISTS).chain(([path, set]) => {
  const name = fc.constantFrom(...names(set));
  const filter = fc
    .tuple(fc.constantFrom(...PREFIXES), name, fc.constantFrom(...LOOKUPS), fc.constantFrom(...VALUES))
    .map(([prefix, field, lookup, text]) =>
      field.endsWith('__search') ? `${prefix}${field}=${text}` : `${prefix}${field}${lookup}=${text}`,
    );
  const order = fc.tuple(fc.constantFrom('', '-'), name).map(([sign, field]) => `order_by=${sign}${field}`);
  const search = fc.constantFrom(...VALUES).map((text) => `search=${text}`);
  const more = fc.array(fc.oneof({ weight: 6, arbitrary: filter }, order, search), { maxLength: 3 });
  return fc.tuple(filter, more).map(([one, others]) => `/api/v2/${path}?${[one, ...others].join('&')}`);
});

/** Relations that are declared as `team` and `created_by` are; the random questions have them as well. */
const ALIKE = /^(inventory|host|credential|project|job_template|modified_by)__(?!organization)/;
/** Relations to many, into which no regular expression reaches. */
const TO_MANY = /^(applications|teams|inventories|projects|main_oauth2accesstoken|hosts|groups)__/;

/** One question for each name, which tells what {@link changeHidden} writes from what was there. */
const TELLING = LISTS.filter(([path]) => /^[a-z_]+\/$/.test(path)).flatMap(([path, set]) =>
  names(set).flatMap((name) => {
    if (ALIKE.test(name)) return [];
    const filter = name.endsWith('__search')
      ? `${name}=hidden`
      : TO_MANY.test(name)
        ? `${name}__icontains=hidden`
        : `${name}__regex=hidden|true|2019|confidential|code`;
    return `/api/v2/${path}?${filter}`;
  }),
);

/** The user with the most to hide from: one who owns a token whose application is out of sight, if there is. */
function mostCurious(world: World): number {
  const rules = new Rules(world);
  const owner = world.tokens.find(
    ({ owner, organization }) => organization !== null && !rules.seesOrganization(owner, organization),
  )?.owner;
  const unprivileged = world.users.findIndex(({ superuser, auditor }) => !superuser && !auditor);
  return owner ?? Math.max(0, unprivileged);
}

/** SQL that changes everything of a world that a viewer may not know. Names that visible rows show stay. */
function changeHidden(world: World, viewer: number): string {
  const rules = new Rules(world);
  const ids = (length: number, hidden: (index: number) => boolean, first = FIRST) =>
    `(-1${Array.from({ length }, (_, index) => (hidden(index) ? `, ${first + index}` : '')).join('')})`;
  const tokens = tokensOf(world);
  const entries = entriesOf(world);
  const users = ids(USERS, (index) => !rules.seesUser(viewer, index));
  const organizations = ids(ORGANIZATIONS.length, (index) => !rules.seesOrganization(viewer, index));
  const teams = ids(ORGANIZATIONS.length, (index) => !rules.seesTeam(viewer, index));
  const hosts = ids(ORGANIZATIONS.length, (index) => !rules.seesHost(viewer, index));
  const hiddenTokens = ids(tokens.length, (index) => {
    const token = tokens[index];
    return token !== undefined && !rules.seesToken(viewer, token);
  });
  const hiddenEntries = ids(
    entries.length,
    (index) => {
      const entry = entries[index];
      return entry !== undefined && !rules.seesEntry(viewer, entry);
    },
    FIRST_ENTRY,
  );
  return `
    UPDATE auth_user SET email = 'hidden@example.com', last_login = '2019-01-01', date_joined = '2019-01-01' WHERE id IN ${users};
    UPDATE main_organization SET max_hosts = 2019 WHERE id IN ${organizations};
    UPDATE main_organization SET name = 'hidden' || id, description = 'hidden' WHERE id IN ${teams};
    UPDATE main_team SET name = 'hidden' || id, description = 'hidden', created = '2019-01-01' WHERE id IN ${teams};
    UPDATE main_inventory SET name = 'hidden' || id, description = 'hidden', variables = 'hidden: true' WHERE id IN ${hosts};
    UPDATE main_host SET name = 'hidden' || id, description = 'hidden', variables = 'hidden: true', enabled = false
      WHERE inventory_id IN ${hosts};
    UPDATE main_oauth2application SET description = 'hidden', client_type = 'confidential', skip_authorization = true,
      redirect_uris = 'https://hidden', authorization_grant_type = 'authorization-code' WHERE organization_id IN ${organizations};
    UPDATE main_oauth2accesstoken SET description = 'hidden', scope = 'read', expires = '2998-01-01', last_used = '2019-01-01'
      WHERE id IN ${hiddenTokens};
    UPDATE main_activitystream SET operation = 'delete', changes = '{"hidden": 1}', object1 = 'hidden', action_node = 'hidden'
      WHERE id IN ${hiddenEntries};`;
}

const RESTORE = `
  UPDATE main_organization SET name = 'o' || (id - ${FIRST}), description = '', max_hosts = 0 WHERE id >= ${FIRST};
  UPDATE main_team SET name = 't' || (id - ${FIRST}), description = '' WHERE id >= ${FIRST};
  UPDATE main_inventory SET name = 'i' || (id - ${FIRST}), description = '', variables = '' WHERE id >= ${FIRST};
  UPDATE main_host SET name = 'h' || (id - ${FIRST}), description = '', variables = '', enabled = true WHERE id >= ${FIRST};
  UPDATE main_oauth2application SET description = '', client_type = 'public', skip_authorization = false,
    redirect_uris = '', authorization_grant_type = 'password' WHERE id >= ${FIRST};`;

describe('what a caller may not see', () => {
  const { service } = useService();

  beforeAll(async () => {
    await service.database.script(setting);
  });

  it('changes no answer, whatever is filtered, sorted and searched by', async () => {
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.array(questions, { minLength: 40, maxLength: 40 }),
        async (world, random) => {
          const viewer = mostCurious(world);
          const asked = [...TELLING, ...random];
          await service.database.script(RESTORE + sqlFor(world));
          const client = new Client(service.url, bearer(value(viewer)));
          // The first request notes the use of the caller's token, which is a fact that filters see.
          await client.get('/api/v2/me/');
          const answers = async () => {
            const all: (readonly [string, number, string])[] = [];
            // More at a time would wait longer than the service lets a request wait, on a machine with much else to do.
            for (let begin = 0; begin < asked.length; begin += 16)
              all.push(
                ...(await Promise.all(
                  asked.slice(begin, begin + 16).map((question) => ask(client, question)),
                )),
              );
            return all;
          };
          const before = await answers();
          await service.database.script(changeHidden(world, viewer));
          expect(await answers()).toEqual(before);
        },
      ),
      // Making a failing world smaller takes minutes over HTTP.
      { numRuns: 5, endOnFailure: true },
    );
  });

  async function ask(client: Client, question: string): Promise<readonly [string, number, string]> {
    const { status, text } = await client.get(question);
    expect([200, 400, 403]).toContain(status);
    return [question, status, text];
  }
});

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { withTable } from '../../../scripts/compatibility-table.ts';
import {
  assumptions,
  compatibilityOf,
  type EffectName,
  effects,
  knownEffect,
  layouts,
  mayHaveNewerRoles,
  standingOf,
  triedVersions,
} from '../../../src/domain/tried-versions.ts';

import { loadRealTables, REAL_PEERS } from '../../support/real-tables.ts';
import { hasRecordings, recorded } from '../../support/recordings.ts';

type Recorded = ReturnType<typeof recorded<'effects'>>[number];

const isOpen = (status: number | null | undefined) => status != null && status < 400;

/** What an effect looks like in the requests after an act. */
const SEEN: Partial<
  Record<EffectName, readonly [act: string, outcome: (doors: Recorded['doors']) => string]>
> = {
  orphaned_refresh: [
    "delete the application's access token",
    (doors) => (isOpen(doors?.['refresh']) ? 'accepted' : 'refused'),
  ],
  password_sessions: [
    'change the password',
    (doors) => (isOpen(doors?.['session']) ? 'as they are' : 'ended'),
  ],
  password_tokens: [
    'change the password',
    (doors) =>
      ['bearer', 'refresh', 'code'].every((door) => isOpen(doors?.[door])) ? 'as they are' : 'ended',
  ],
  revocation_endpoint: [
    'revoke_token with the access token',
    (doors) => (isOpen(doors?.['app_bearer']) ? 'as it is' : 'revoked'),
  ],
  returning_sessions: [
    'tokenctl incident lift --yes --reason over',
    (doors) => (isOpen(doors?.['session']) ? 'accepted' : 'refused'),
  ],
};

const AT_HAND = triedVersions.filter(({ id }) => hasRecordings(id));

describe.each(AT_HAND)('what was seen of $name', ({ id }) => {
  const acts = recorded(id, 'effects');

  test.each(Object.entries(SEEN))('is as recorded: %s', (name, [act, outcome]) => {
    const expected = effects[name as EffectName].seen[id];
    const found = acts.find((each) => each.act === act)?.doors;
    if (expected === null) return;
    expect(found && outcome(found)).toBe(expected);
  });

  test.runIf(effects.application_lifetimes.seen[id] !== null)(
    'application tokens keep the old lifetime',
    () => {
      const raw = recorded(id, 'raw');
      const at = raw.findIndex(
        ({ method, status, body }) =>
          method === 'PATCH' &&
          status === 200 &&
          JSON.stringify(body).includes('"ACCESS_TOKEN_EXPIRE_SECONDS":3600'),
      );
      const [personal, application] = raw
        .slice(at + 1)
        .map(({ response }) => response as Record<string, string>);
      const { created = '', expires = '' } = personal ?? {};
      expect(Math.round((Date.parse(expires) - Date.parse(created)) / 1000)).toBe(3600);
      expect(application?.['expires_in']).toBe(31_536_000_000);
    },
  );

  // A gateway of 2.5 has the table, and writes nothing into it.
  test('logins record whose session it is, or not', () => {
    const changed = Object.keys(acts.find(({ act }) => act === 'log in')?.changes ?? {});
    expect(changed).toContain('django_session');
    const isRecorded = changed.some((table) => table.endsWith('usersessionmembership'));
    expect(layouts.session_owners.seen[id]).toBe(isRecorded ? 'recorded' : 'not recorded');
  });

  test.runIf(effects.failed_use.seen[id] !== null)('requests that fail leave the last use as it is', () => {
    const search = recorded(id, 'tokenctl').find(({ argv }) =>
      argv.join(' ').startsWith('tokens find --leaked'),
    );
    const exchanges = search?.exchanges ?? [];
    const tried = exchanges.findIndex(({ path, status }) => path === '/api/v2/tokens/0/' && status === 404);
    // The last use is looked for by halves before the token is used: none of the user's tokens has one since these requests.
    const later = exchanges
      .slice(tried)
      .find(({ path }) => path.includes('id__in=5,6,7,8&last_used__gte=2026-08'));
    expect(later?.response).toMatchObject({ results: [] });
  });
});

describe.each(triedVersions.filter(({ id }) => REAL_PEERS.includes(id)))('the tables of $name', ({ id }) => {
  test('are as described', async () => {
    const real = await loadRealTables(id);
    try {
      const rows = await real.database.query<Record<string, boolean | string | null>>(
        `SELECT to_regclass('main_rbac_roles') IS NOT NULL AS older, to_regclass('dab_rbac_roledefinition') IS NOT NULL AS newer,
           to_regclass('main_profile') IS NOT NULL AS profiles,
           to_regclass('dab_authentication_authenticator') IS NOT NULL AS authenticators,
           (SELECT format_type(a.atttypid, NULL) FROM pg_attribute a
            WHERE a.attrelid = to_regclass('main_activitystream') AND a.attname = 'setting') AS setting`,
      );
      const { older, newer, profiles, authenticators, setting } = rows[0] ?? {};
      const table = id.startsWith('gateway')
        ? 'dab_oauth2_provider_oauth2accesstoken'
        : 'main_oauth2accesstoken';
      const [stored] = await real.database.query<{ hashed: boolean }>(
        `SELECT bool_and(t.token LIKE '$sha256$%') AS hashed FROM ${table} t`,
      );
      expect(layouts.tokens.seen[id]).toBe(stored?.hashed ? 'as SHA-256' : 'in clear');
      expect(layouts.roles.seen[id]).toBe(
        older && newer ? 'older and newer roles' : older ? 'older roles' : 'newer roles',
      );
      expect(layouts.activity.seen[id]).toBe(setting === 'text' ? 'text' : 'JSON');
      expect(layouts.external_users.seen[id]).toBe(
        authenticators ? 'authenticators' : profiles ? 'separate tables' : 'nothing',
      );
    } finally {
      await real.close();
    }
  });
});

test.each([
  ['24.6.1', 'tried', ['awx-24.6.1']],
  ['24.6.2.dev145+ge21dd0a093', 'tried', ['awx-devel']],
  ['24.6.2.dev7', 'between', ['awx-24.6.1', 'awx-devel']],
  ['22.3.0', 'between', ['awx-21.14.0', 'awx-23.5.1']],
  ['24.6.2', 'newer', []],
  ['25.0.0', 'newer', []],
  ['19.0.0', 'older', []],
  ['4.5.12', 'unknown', []],
  [null, 'unknown', []],
] as const)('a controller %s is %s', (version, standing, like) => {
  expect(standingOf({ dialect: 'controller', version })).toEqual({ standing, like });
});

test('two versions that differ tell nothing of one between, and the worst is assumed', () => {
  const between = { dialect: 'controller', version: '24.6.2.dev7' } as const;
  expect(knownEffect('returning_sessions', between)).toEqual({ outcome: null, seenOn: [] });
  expect(knownEffect('orphaned_refresh', between).outcome).toBe('refused');
  expect(assumptions(between)).toEqual([
    'When a user is active again, sessions that were ended in the database are accepted.',
  ]);
  const { standing, text, effects: assumed } = compatibilityOf({ dialect: 'controller', version: '25.1.0' });
  expect([standing, text]).toEqual([
    'newer',
    'not with this version, which is newer than all tested ones (the last: AWX of October 2024 (24.6.2.dev145))',
  ]);
  expect(assumed.orphaned_refresh).toEqual({ outcome: 'accepted', isKnown: false });
  expect(compatibilityOf({ dialect: 'gateway', version: '2.6' }).effects.revocation_endpoint).toEqual({
    outcome: 'as it is',
    isKnown: false,
  });
  expect(assumptions({ dialect: 'service', version: null })).toEqual([]);
});

test.each([null, '0.2.0'])('the service %s is told the same over REST and in its database', (version) => {
  const { standing, text, effects: known } = compatibilityOf({ dialect: 'service', version });
  expect([standing, text]).toEqual(['tried', "with tokenctl's own service"]);
  expect(known.application_lifetimes).toEqual({ outcome: 'the new lifetime', isKnown: true });
});

test('one line says that no controller of a platform was tested, and what follows', () => {
  const platform = { dialect: 'controller', version: '4.5.12' } as const;
  expect(compatibilityOf(platform).text).toBe(
    "not with a platform's controller such as 4.5.12: the worst is assumed",
  );
  expect(assumptions(platform)).toEqual([]);
  expect(compatibilityOf(platform).effects.orphaned_refresh.isKnown).toBe(false);
  expect(assumptions({ dialect: 'controller', version: '0.2.0' })).not.toEqual([]);
});

test('the table in the docs is made of the same facts', () => {
  const page = readFileSync(new URL('../../../docs/compatibility.md', import.meta.url), 'utf8');
  // Where it differs: node scripts/compatibility-table.ts
  expect(page).toBe(withTable(page));
});

test.each([
  ['21.14.0', false],
  ['22.7.0', false],
  ['24.0.0', true],
  ['24.6.1', true],
  // An automation controller counts otherwise, and may have them.
  ['4.6.2', true],
  [null, true],
] as const)('a controller %s may have newer roles: %s', (version, may) => {
  expect(mayHaveNewerRoles(version)).toBe(may);
});

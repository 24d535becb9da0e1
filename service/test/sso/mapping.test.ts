import type { SamlIdentityProvider } from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { attributesOf, type Identity } from '../../src/sso/backends.ts';
import type { UserRules } from '../../src/sso/configuration.ts';
import { mappedFlags, mappedRoles } from '../../src/sso/role-mapping.ts';
import { adminOf, set, whoIs } from '../support/sso/world.ts';
import { idpFor, logInWithSaml, samlKeys, startSamlService } from './saml-world.ts';

const identity: Identity = {
  backend: 'saml',
  uid: 'x',
  username: 'ada',
  email: 'ada@example.org',
  firstName: '',
  lastName: '',
  names: ['ada', 'ada@example.org'],
  attributes: attributesOf({
    groups: ['ops', 'night'],
    level: 3,
    admin: true,
    nothing: null,
    deep: { a: 1 },
  }),
};
const rules = (more: Partial<UserRules>): UserRules => ({
  organizations: null,
  teams: null,
  flags: {},
  fields: null,
  usernameIsEmail: false,
  ...more,
});

describe('a map of organizations', () => {
  it.each([
    [true, 'granted'],
    [false, 'withdrawn'],
    [null, 'kept'],
    [undefined, 'kept'],
    ['ada', 'granted'],
    ['Ada', 'withdrawn'],
    ['ada@example.org', 'granted'],
    ['example.org', 'withdrawn'],
    ['/@example\\.org$/', 'granted'],
    ['/^ADA$/i', 'granted'],
    ['/^ADA$/', 'withdrawn'],
    [['bob', '/^a/'], 'granted'],
    [[], 'withdrawn'],
    [{ groups: 'ops' }, 'granted'],
    [{ groups: ['x', 'night'] }, 'granted'],
    [{ groups: 'OPS' }, 'withdrawn'],
    [{ level: '3' }, 'granted'],
    [{ admin: 'true' }, 'granted'],
    [{ nothing: 'null' }, 'withdrawn'],
    [{ deep: '[object Object]' }, 'withdrawn'],
    [{ __proto__: 'x', missing: 'x' }, 'withdrawn'],
  ])('reads %j', (users, expected) => {
    const { granted, withdrawn } = mappedRoles(rules({ organizations: { Ops: { users } } }), identity);
    const role = { organization: 'Ops', role: 'member' };
    expect({ granted, withdrawn }).toEqual({
      granted: expected === 'granted' ? [role] : [],
      withdrawn: expected === 'withdrawn' ? [role] : [],
    });
  });

  it('takes away unless it is told not to, role by role, and never what another entry grants', () => {
    const organizations = {
      A: { users: false, admins: false, remove: false, remove_admins: true },
      B: { users: false },
      Alias: { organization_alias: 'B', users: true },
    };
    const teams = {
      Night: { organization: 'C', users: { groups: 'night' } },
      Day: { organization: 'C', users: false },
    };
    expect(mappedRoles(rules({ organizations, teams }), identity)).toEqual({
      granted: [
        { organization: 'B', role: 'member' },
        { organization: 'C', role: 'member' },
        { organization: 'C', role: 'member', team: 'Night' },
      ],
      withdrawn: [
        { organization: 'A', role: 'admin' },
        { organization: 'C', role: 'member', team: 'Day' },
      ],
    });
  });

  it('makes superusers and auditors by attribute', () => {
    const flags = (given: UserRules['flags']) => mappedFlags(rules({ flags: given }), identity);
    expect(flags({})).toEqual({ superuser: null, auditor: null });
    expect(flags({ is_superuser_attr: 'groups' }).superuser).toBe(true);
    expect(flags({ is_superuser_attr: 'groups', is_superuser_value: 'x' }).superuser).toBe(false);
    expect(
      flags({ is_superuser_attr: 'groups', is_superuser_value: 'x', remove_superusers: false }).superuser,
    ).toBeNull();
    expect(flags({ is_system_auditor_attr: 'groups', is_system_auditor_value: ['x', 'ops'] }).auditor).toBe(
      true,
    );
  });
});

describe('roles by attributes', () => {
  const keys = samlKeys();
  let service: RunningService;
  let idp: SamlIdentityProvider;
  const logInWith = async (
    attributes: Readonly<Record<string, readonly string[]>>,
    moreAttributes = '',
    nameId = 'ada',
  ) => {
    const change = { attributes, moreAttributes };
    const { browser } = await logInWithSaml(service, { idp, nameId, change });
    return { browser, user: await whoIs(service, browser) };
  };
  const logIn = (groups: readonly string[]) => logInWith({ groups });

  beforeAll(async () => {
    service = await startSamlService({ keys });
    idp = await idpFor(service, keys);
    await set(service, 'authentication', { SOCIAL_AUTH_ORGANIZATION_MAP: { Ignored: { users: true } } });
    await set(service, 'saml', {
      SOCIAL_AUTH_SAML_ORGANIZATION_MAP: {
        Default: { users: { groups: 'staff' }, admins: { groups: 'leads' } },
        New: { auditors: { groups: 'audit' } },
      },
      SOCIAL_AUTH_SAML_TEAM_MAP: { Night: { organization: 'Watch', users: { groups: 'night' } } },
      SOCIAL_AUTH_SAML_USER_FLAGS_BY_ATTR: { is_superuser_attr: 'groups', is_superuser_value: 'root' },
    });
  });
  afterAll(() => service.close());

  it('are given at a login and taken away at the next, when they no longer hold', async () => {
    const roles = async (id: unknown) =>
      (
        await service.database.query<{ name: string; role: string }>(
          `SELECT o.name, r.role FROM service_role r JOIN main_organization o ON o.id = r.organization_id
           WHERE r.user_id = $1
           UNION ALL SELECT t.name, h.role FROM service_team_role h JOIN main_team t ON t.id = h.team_id
           WHERE h.user_id = $1 ORDER BY 1, 2`,
          [id],
        )
      ).map(({ name, role }) => `${name} ${role}`);
    const first = await logIn(['staff', 'leads', 'audit', 'root', 'night']);
    expect(first.user?.['is_superuser']).toBe(true);
    expect(await roles(first.user?.id)).toEqual([
      ...['Default admin', 'Default member', 'New auditor', 'Night member', 'Watch member'],
    ]);
    const team = await adminOf(service).get('/api/v2/teams/?name=Night&organization__name=Watch');
    expect(team.json.results).toMatchObject([{ description: '' }]);
    const second = await logIn(['staff']);
    expect(second.user).toMatchObject({ id: first.user?.id, is_superuser: false });
    expect(await roles(first.user?.id)).toEqual(['Default member']);
    // A session from before loses them as well.
    expect(await whoIs(service, first.browser)).toMatchObject({ is_superuser: false });
    const organizations = (await adminOf(service).get('/api/v2/organizations/')).json.results;
    expect(organizations.map(({ name }) => name as unknown).sort()).toEqual(['Default', 'New', 'Watch']);
    const entries = await adminOf(service).get('/api/v2/activity_stream/?operation=disassociate');
    expect(entries.json.count).toBe(4);

    // Above 150 groups Entra sends an address to read them from: that says nothing of what the user has.
    await logIn(['staff', 'root']);
    const link = 'http://schemas.microsoft.com/claims/groups.link';
    const many = await logInWith({ [link]: ['https://graph.example.org/users/ada/getMemberObjects'] });
    expect(many.user).toMatchObject({ is_superuser: true });
    expect(await roles(first.user?.id)).toEqual(['Default member']);
    // What it sends beside the address counts.
    const told = await logInWith({ [link]: ['https://graph.example.org/'], groups: ['leads'] });
    expect(told.user).toMatchObject({ is_superuser: false });
    expect(await roles(first.user?.id)).toEqual(['Default admin']);
  });

  it.each([
    // As Keycloak sends roles unless it is told otherwise.
    [
      'repeat the attribute for each value',
      (name: string) => ['root', 'staff'].map((value) => attribute(name, value)).join(''),
    ],
    ['encrypt the attribute', () => '<saml:EncryptedAttribute/>'],
    [
      'encrypt a value',
      (name: string) => attribute(name, '<x:EncryptedData xmlns:x="http://www.w3.org/2001/04/xmlenc#"/>'),
    ],
  ])('stay where the identity provider may %s', async (what, xml) => {
    const nameId = `eve-${what.length}`;
    const first = await logInWith({ groups: ['root'] }, '', nameId);
    expect(first.user).toMatchObject({ is_superuser: true });
    const second = await logInWith({ department: ['it'] }, xml('groups'), nameId);
    expect(second.user).toMatchObject({ id: first.user?.['id'], is_superuser: true });
    // An attribute with no value says that the user has none (SAML 2.0 Core, section 2.7.3.1.1).
    const empty = await logInWith({ groups: [] }, '', nameId);
    expect(empty.user).toMatchObject({ is_superuser: false });
  });
});

function attribute(name: string, value: string): string {
  return `<saml:Attribute Name="${name}"><saml:AttributeValue>${value}</saml:AttributeValue></saml:Attribute>`;
}

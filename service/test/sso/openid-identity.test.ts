import { describe, expect, it } from 'vitest';
import type { AzureConfiguration } from '../../src/sso/configuration.ts';
import { azureIdentity } from '../../src/sso/openid.ts';
import { mappedAttributes, mappedFlags, mappedRoles } from '../../src/sso/role-mapping.ts';

const TENANT = '99999999-2222-3333-4444-555555555555';
const CLAIMS = {
  iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
  sub: 'eve',
  aud: 'automation',
  iat: 0,
  exp: 1,
  tid: TENANT,
  oid: 'o-1',
  name: 'Boss',
  preferred_username: 'boss@example.org',
  email: 'boss@example.org',
  roles: ['admins'],
  groups: ['admins'],
};
const configuration = (more: Partial<AzureConfiguration>): AzureConfiguration => ({
  backend: 'azuread-oauth2',
  clientId: 'automation',
  clientSecret: 'secret',
  issuer: 'https://login.microsoftonline.com/organizations/v2.0',
  severalTenants: true,
  tenants: [],
  extra: {},
  ...more,
});

const NO_RULES = { organizations: null, teams: null, flags: {}, fields: null, usernameIsEmail: false };

it.each([
  ['the groups that Entra leaves out of a token', { groups: undefined, hasgroups: 'true' }],
  ['what the provider has elsewhere', { groups: undefined, _claim_names: { groups: 'src1' } }],
  ['what an empty claim stands for', { groups: [], _claim_names: { groups: 'src1' } }],
  [
    'what only the sources name',
    { groups: undefined, _claim_sources: { src1: { endpoint: 'https://graph' } } },
  ],
  ['what names its source', { 'groups:src1': true, groups: undefined }],
  ['what only a part is sent of', { groups: ['some'], _claim_names: { groups: 'src1' } }],
  ['groups as objects', { groups: [{ id: 'g-1', name: 'admins' }] }],
  ['a claim with claims in it', { groups: { automation: { roles: ['admins'] } } }],
])('nothing is concluded from the absence of a value in %s', (_what, more) => {
  const known = configuration({ severalTenants: false, tenants: [TENANT] });
  const claims = Object.fromEntries(
    Object.entries({ ...CLAIMS, ...more }).filter(([, value]) => value !== undefined),
  ) as typeof CLAIMS;
  const rules = {
    ...NO_RULES,
    flags: { is_superuser_attr: 'groups', is_superuser_value: 'admins' },
    organizations: { Default: { users: { groups: 'admins' } } },
  };
  const withheld = azureIdentity(known, claims, mappedAttributes(rules));
  expect(mappedFlags(rules, withheld).superuser).toBeNull();
  expect(mappedRoles(rules, withheld)).toEqual({ granted: [], withdrawn: [] });
  const { groups: _groups, ...without } = CLAIMS;
  const none = azureIdentity(known, without, mappedAttributes(rules));
  expect(mappedFlags(rules, none).superuser).toBe(false);
  expect(mappedRoles(rules, none).withdrawn).toHaveLength(1);
});

it('a value that is sent counts, where the provider has more', () => {
  const known = configuration({ severalTenants: false, tenants: [TENANT] });
  const rules = { ...NO_RULES, flags: { is_superuser_attr: 'groups', is_superuser_value: 'admins' } };
  const some = { ...CLAIMS, _claim_names: { groups: 'src1' } };
  expect(mappedFlags(rules, azureIdentity(known, some, mappedAttributes(rules))).superuser).toBe(true);
});

it('a name that the provider has elsewhere takes no role away', () => {
  const known = configuration({ severalTenants: false, tenants: [TENANT] });
  const rules = { ...NO_RULES, organizations: { Default: { users: ['/@example.org$/'] } } };
  const { preferred_username: _name, email: _email, ...claims } = CLAIMS;
  const of = (more: object) => mappedRoles(rules, azureIdentity(known, { ...claims, ...more }));
  expect(of({}).withdrawn).toHaveLength(1);
  expect(of({ _claim_names: { email: 'src1' } }).withdrawn).toEqual([]);
});

describe('a user of Microsoft Entra', () => {
  it('is not believed a name, address, group or role of a tenant that anybody may run', () => {
    const { names, email, attributes } = azureIdentity(configuration({}), CLAIMS);
    expect({ names, email }).toEqual({ names: [], email: '' });
    expect(Object.fromEntries(attributes)).toEqual({
      iss: [CLAIMS.iss],
      sub: ['eve'],
      tid: [TENANT],
      oid: ['o-1'],
      email: [''],
    });
  });

  it.each([{ tenants: [TENANT] }, { severalTenants: false }])('is believed them where %j', (more) => {
    const { names, attributes } = azureIdentity(configuration(more), CLAIMS);
    expect(names).toEqual(['boss@example.org', 'boss@example.org']);
    expect(attributes.get('roles')).toEqual(['admins']);
    expect(attributes.get('email')).toEqual(['boss@example.org']);
  });
});

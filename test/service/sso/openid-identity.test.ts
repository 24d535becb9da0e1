import { describe, expect, it } from 'vitest';
import type { AzureConfiguration } from '../../../src/service/sso/configuration.ts';
import { azureIdentity } from '../../../src/service/sso/openid.ts';

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

it.each([
  ['the groups that Entra leaves out of a token', { hasgroups: 'true' }],
  ['what the provider has elsewhere', { _claim_names: { groups: 'src1' } }],
])('nothing is concluded from the absence of %s', (_what, more) => {
  const { groups: _groups, ...claims } = CLAIMS;
  const known = { severalTenants: false, tenants: [TENANT] };
  expect(azureIdentity(configuration(known), { ...claims, ...more }).withheld).toEqual(['groups']);
  expect(azureIdentity(configuration(known), claims).withheld).toEqual([]);
});

it.each([
  ['the groups that Entra leaves out of a token', { hasgroups: 'true' }],
  ['what the provider has elsewhere', { _claim_names: { groups: 'src1' } }],
])('nothing is concluded from the absence of %s', (_what, more) => {
  const { groups: _groups, ...claims } = CLAIMS;
  const known = configuration({ severalTenants: false, tenants: [TENANT] });
  expect(azureIdentity(known, { ...claims, ...more }).withheld).toEqual(['groups']);
  expect(azureIdentity(known, claims).withheld).toEqual([]);
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

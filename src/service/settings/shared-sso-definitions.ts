import { z } from 'zod';
import { checkedBy } from './checks.ts';
import type { SettingDefinition } from './definitions.ts';
import { ORGANIZATION_EXAMPLE, organizationMap, TEAM_EXAMPLE, teamMap } from './sso-schemas.ts';

/** The settings of single sign-on that hold for all providers, in the order of the controller. */
export const SHARED_SSO_DEFINITIONS: readonly SettingDefinition[] = [
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_ORGANIZATION_MAP',
    type: 'nested object',
    label: 'Organizations of external users',
    helpText:
      'Who has which role in which organization, at each login through an identity provider. The map of a ' +
      'provider, where it has one, takes the place of this one.',
    defaultValue: null,
    nullable: true,
    child: 'map',
    placeholder: ORGANIZATION_EXAMPLE,
    check: checkedBy(organizationMap),
  },
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_TEAM_MAP',
    type: 'nested object',
    label: 'Teams of external users',
    helpText: 'Whose teams belong to which organization: their users become members of it at each login.',
    defaultValue: null,
    nullable: true,
    child: 'map',
    placeholder: TEAM_EXAMPLE,
    check: checkedBy(teamMap),
  },
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_USER_FIELDS',
    type: 'list',
    label: 'Fields taken from an identity provider',
    helpText:
      'Which fields of a user come from the provider: username, email, first_name, last_name; all of them ' +
      'unless it is set. An empty list lets nobody in who has no account here yet.',
    defaultValue: null,
    nullable: true,
    child: 'strings',
    placeholder: ['username', 'first_name', 'last_name'],
    check: checkedBy(z.array(z.enum(['username', 'email', 'first_name', 'last_name'])).max(4)),
  },
  {
    category: 'authentication',
    key: 'SOCIAL_AUTH_USERNAME_IS_FULL_EMAIL',
    type: 'boolean',
    label: 'E-mail address as user name',
    helpText: 'Whether new external users are named by their whole address, not by the part before the @.',
    defaultValue: false,
  },
];

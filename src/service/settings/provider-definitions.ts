import { z } from 'zod';
import { type Backend, LABELS, PREFIXES } from '../sso/backends.ts';
import { checkAddress, checkedBy, checkLine, checkNames } from './checks.ts';
import type { SettingDefinition } from './definitions.ts';
import { ORGANIZATION_EXAMPLE, organizationMap, TEAM_EXAMPLE, teamMap, userFlags } from './sso-schemas.ts';

/** A setting of one backend, by the end of its name. */
type Part = Omit<SettingDefinition, 'key' | 'category'>;

/** The definition of a setting of a backend. */
export function ofBackend(backend: Backend, name: string, part: Part): SettingDefinition {
  return { key: `${PREFIXES[backend]}_${name}`, category: backend, ...part };
}

/** A line of text, empty unless it is set. */
export function line(label: string, helpText: string): Part {
  return { type: 'string', label, helpText, defaultValue: '', check: checkLine };
}

/** A text that is stored encrypted. */
export function secret(label: string, helpText: string): Part {
  return { ...line(label, helpText), secret: true };
}

/** The address of a provider. */
export function address(
  label: string,
  options: { readonly helpText: string; readonly defaultValue: string },
): Part {
  return { type: 'string', label, ...options, check: checkAddress };
}

/** A list of names, empty unless it is set. */
export function names(label: string, helpText: string): Part {
  return { type: 'list', label, helpText, defaultValue: [], child: 'strings', check: checkNames };
}

/** Parameters that are sent along with a request for authorization. */
export function extraArguments(): Part {
  return {
    type: 'nested object',
    label: 'Extra parameters',
    helpText: 'Parameters that are sent along when a user is sent to the provider, by name.',
    defaultValue: {},
    placeholder: { prompt: 'select_account' },
    check: checkedBy(z.record(z.string().regex(/^[a-z_]{1,64}$/), z.string().max(256))),
  };
}

/** The address that the provider sends users back to: it is derived, and registered with the provider. */
export function callbackUrl(backend: Backend): SettingDefinition {
  return ofBackend(backend, 'CALLBACK_URL', {
    type: 'string',
    label: 'Callback URL',
    helpText: `To be registered with ${LABELS[backend]}: where users are sent back to.`,
    defaultValue: '',
    readOnly: true,
  });
}

/** How attributes of a backend's users become roles and flags here. */
export function mappings(backend: Backend): readonly SettingDefinition[] {
  const map = (check: SettingDefinition['check'], placeholder: unknown) => ({
    type: 'nested object' as const,
    defaultValue: null,
    nullable: true as const,
    child: 'map' as const,
    placeholder,
    ...(check && { check }),
  });
  return [
    ofBackend(backend, 'ORGANIZATION_MAP', {
      ...map(checkedBy(organizationMap), ORGANIZATION_EXAMPLE),
      label: 'Organizations',
      helpText: `Who of ${LABELS[backend]} has which role in which organization, instead of SOCIAL_AUTH_ORGANIZATION_MAP.`,
    }),
    ofBackend(backend, 'TEAM_MAP', {
      ...map(checkedBy(teamMap), TEAM_EXAMPLE),
      label: 'Teams',
      helpText: 'Whose teams belong to which organization, instead of SOCIAL_AUTH_TEAM_MAP.',
    }),
    ofBackend(backend, 'USER_FLAGS_BY_ATTR', {
      type: 'nested object',
      label: 'Superusers and auditors',
      helpText: 'Which attribute or claim, and which values of it, make a superuser or a system auditor.',
      defaultValue: {},
      placeholder: { is_superuser_attr: 'groups', is_superuser_value: ['automation-admins'] },
      check: checkedBy(userFlags),
    }),
  ];
}

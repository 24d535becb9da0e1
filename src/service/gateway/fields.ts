import type { Field, FieldSet } from '../listing/fields.ts';
import { applicationFields } from '../resources/application-fields.ts';
import { organizationFields } from '../resources/organization-fields.ts';
import { tokenFields } from '../resources/token-fields.ts';
import { userFields } from '../resources/user-fields.ts';

/** The gateway's DEFAULT_PAGE_SIZE. */
export const PAGE_SIZE = 50;

const CHANGERS: Readonly<Record<string, Field>> = {
  created_by: { type: 'id', label: 'Created by', helpText: 'The user who made it.' },
  modified_by: { type: 'id', label: 'Modified by', helpText: 'The user who last changed it.' },
};

/** A controller's fields as a gateway has them: without a type and `without`, and with `more`. */
function ofGateway(
  set: FieldSet,
  { without = [], more = {} }: { readonly without?: string[]; readonly more?: FieldSet['fields'] },
): FieldSet {
  const kept = Object.entries(set.fields).filter(([name]) => name !== 'type' && !without.includes(name));
  return { ...set, fields: { ...Object.fromEntries(kept), ...CHANGERS, ...more }, pageSize: PAGE_SIZE };
}

/** The fields of an access token. */
export const gatewayTokenFields = ofGateway(tokenFields, {
  more: { last_used: { type: 'datetime', label: 'Last used', column: 't.last_used' } },
});

/** The fields of a user. Unlike a real gateway, the service lets superusers write `is_active`. */
export const gatewayUserFields = ofGateway(userFields, {
  without: ['is_system_auditor', 'ldap_dn', 'external_account', 'auth'],
  more: {
    is_platform_auditor: {
      type: 'boolean',
      label: 'Platform auditor',
      helpText: 'May see everything and change nothing.',
      writable: 'change',
      defaultValue: false,
    },
    managed: { type: 'boolean', label: 'Managed', helpText: 'Belongs to the system.' },
    associated_authenticators: {
      type: 'object',
      label: 'Associated authenticators',
      helpText: 'Linked accounts at identity providers.',
    },
  },
});

/** The fields of an organization. */
export const gatewayOrganizationFields = ofGateway(organizationFields, {
  without: ['max_hosts'],
  more: { managed: { type: 'boolean', label: 'Managed', helpText: 'Belongs to the system.' } },
});

/** The fields of an application. */
export function gatewayApplicationFields(service: { readonly allowImplicitGrant?: boolean }): FieldSet {
  return ofGateway(applicationFields(service), {
    more: {
      user: { type: 'id', label: 'User', helpText: 'Whom it is registered for.', column: 'a.user_id' },
      post_logout_redirect_uris: { type: 'string', label: 'Post logout redirect URIs' },
      app_url: { type: 'string', label: 'Application URL' },
      algorithm: { type: 'string', label: 'Algorithm' },
    },
  });
}

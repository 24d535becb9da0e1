import { person } from '../resources/organization-json.ts';
import type { OrganizationRecord } from '../store/organizations.ts';
import { API, references } from './related.ts';

/** An organization as a gateway shows it. */
export function gatewayOrganizationJson(organization: OrganizationRecord): Record<string, unknown> {
  const url = `${API}organizations/${organization.id}/`;
  const { ids, related, summary } = references({
    created_by: changer(organization, 'created_by'),
    modified_by: changer(organization, 'modified_by'),
  });
  return {
    id: organization.id,
    url,
    related: {
      admins: `${url}admins/`,
      applications: `${url}applications/`,
      ...related,
      users: `${url}users/`,
    },
    summary_fields: summary,
    created: organization.created,
    modified: organization.modified,
    ...ids,
    name: organization.name,
    description: organization.description,
    managed: false,
  };
}

function changer(organization: OrganizationRecord, role: 'created_by' | 'modified_by') {
  const { id = null, ...summary } = person(organization, role) ?? {};
  return { id, summary, collection: 'users' } as const;
}

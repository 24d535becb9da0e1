import { administersOrganization } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { OrganizationRecord } from '../store/organizations.ts';
import { namedSegment } from './named-url.ts';

/** An organization as the API shows it to a caller. */
export function organizationJson(
  organization: OrganizationRecord,
  caller: Caller,
  detail = false,
): Record<string, unknown> {
  const url = `/api/v2/organizations/${organization.id}/`;
  const maker = person(organization, 'created_by');
  const changer = person(organization, 'modified_by');
  const mayEdit = caller.mayWrite && administersOrganization(caller.user, organization.id);
  return {
    id: organization.id,
    type: 'organization',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/organizations/${namedSegment([organization.name])}/` }),
      ...(maker && { created_by: `/api/v2/users/${maker.id}/` }),
      ...(changer && { modified_by: `/api/v2/users/${changer.id}/` }),
      users: `${url}users/`,
      admins: `${url}admins/`,
      auditors: `${url}auditors/`,
      applications: `${url}applications/`,
      activity_stream: `${url}activity_stream/`,
    },
    summary_fields: {
      ...(maker && { created_by: maker }),
      ...(changer && { modified_by: changer }),
      user_capabilities: { edit: mayEdit, delete: mayEdit },
    },
    created: organization.created,
    modified: organization.modified,
    name: organization.name,
    description: organization.description,
    max_hosts: organization.max_hosts,
    custom_virtualenv: null,
    default_environment: null,
  };
}

/** Who made or changed it; null for nobody. */
export function person(
  organization: OrganizationRecord,
  role: 'created_by' | 'modified_by',
): { id: number; username: string | null; first_name: string | null; last_name: string | null } | null {
  const id = organization[`${role}_id`];
  if (id === null) return null;
  return {
    id,
    username: organization[`${role}_username`],
    first_name: organization[`${role}_first_name`],
    last_name: organization[`${role}_last_name`],
  };
}

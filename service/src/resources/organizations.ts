import { identifier, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { administersOrganization, visibleOrganizations } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Declared, declared, type Relation } from '../listing/fields.ts';
import { organizationsWithRole, viewerRow } from '../role-levels.ts';
import { recordDeletionsIn } from '../store/activity.ts';
import { ORGANIZATIONS, type OrganizationRecord } from '../store/organizations.ts';
import { EMPTY_RELATIONS, serveEmptyRelations } from './empty-relations.ts';
import { fixedFields } from './fixed-fields.ts';
import { addresses, type Kind } from './kind.ts';
import { refuse, serveKind } from './named-resources.ts';
import { byCaller, fields, namedRelation, userRelation } from './resource.ts';

/** A relation to an organization's objects that the viewer sees. */
function belongings(
  table: string,
  seenBy: 'watches' | 'belongs_to',
  further: Readonly<Record<string, Declared>> = {},
): Relation {
  const { fields: own, searchFields } = namedRelation('r');
  return {
    searchFields,
    fields: { ...own, ...declared('r', further) },
    many: {
      from: sql`${identifier(table)} r`,
      on: sql`r.organization_id = x.id AND (viewer.sees_all
        OR x.id = ANY(${identifier(`viewer.${seenBy}`)}))`,
    },
  };
}

export const ORGANIZATION: Kind<OrganizationRecord> = {
  type: 'organization',
  path: '/api/v2/organizations/',
  label: 'Organization',
  plural: 'Organizations',
  about: {
    list: 'The organizations in which you have a role.',
    one: 'One organization, by ID or by name. DELETE also deletes its teams, its applications and their tokens.',
  },
  storage: ORGANIZATIONS,
  fields: fields(
    'organization',
    {
      ...declared('x', {
        max_hosts: {
          type: 'integer',
          helpText: 'Maximum number of hosts. 0 means no limit.',
          writable: 'change',
          defaultValue: 0,
        },
      }),
      ...fixedFields({
        custom_virtualenv: [null, 'run jobs in virtual environments', 'string'],
        default_environment: [null, 'have execution environments'],
      }),
    },
    {
      created_by: userRelation('c'),
      modified_by: userRelation('m'),
      applications: belongings('main_oauth2application', 'belongs_to', {
        client_type: {},
        authorization_grant_type: { label: 'Grant type' },
        client_id: { label: 'Client ID', secret: true },
        client_secret: { secret: true },
      }),
      teams: belongings('main_team', 'belongs_to'),
      inventories: belongings('main_inventory', 'watches'),
      projects: belongings('service_project', 'watches'),
    },
    { summary: 'Who created and last changed it.' },
  ),
  namedBy: ['name'],
  empty: EMPTY_RELATIONS.organization,
  nameTaken: { name: ['Organization with this Name already exists.'] },
  visible: visibleOrganizations,
  withRole: organizationsWithRole,
  joined: viewerRow,
  mayChange: (user, _held, { id }) => administersOrganization(user, id),
  related: (url) =>
    addresses(url, ['users', 'admins', 'auditors', 'teams', 'applications', 'activity_stream']),
  async prepare(_exchange, _transaction, { values, problems }) {
    refuse(problems);
    return values;
  },
  /** Teams, applications and their tokens are deleted with the organization, each with its own entry. */
  removing: (exchange, transaction, { id }) => recordDeletionsIn(transaction, id, byCaller(exchange)),
};

/** `/api/v2/organizations/` and `/api/v2/organizations/N/`. */
export function serveOrganizations(app: FastifyInstance, service: ServiceContext): void {
  serveKind(app, service, ORGANIZATION);
  serveEmptyRelations(app, service, ORGANIZATION);
}

import type { FastifyInstance } from 'fastify';
import { seesEverything } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { list, type Page } from '../listing/listing.ts';
import { APPLICATION_COLUMNS, APPLICATION_FROM, type ApplicationRecord } from '../store/applications.ts';
import { pathId } from './path-id.ts';

const applicationFields: FieldSet = {
  type: 'o_auth2_application',
  fields: {
    id: { type: 'integer', label: 'ID', column: 'a.id' },
    type: { type: 'choice', label: 'Type', choices: [['o_auth2_application', 'OAuth2 application']] },
    url: { type: 'string', label: 'Url' },
    related: { type: 'object', label: 'Related' },
    summary_fields: { type: 'object', label: 'Summary fields' },
    created: { type: 'datetime', label: 'Created', column: 'a.created' },
    modified: { type: 'datetime', label: 'Modified', column: 'a.updated' },
    name: { type: 'string', label: 'Name', column: 'a.name' },
    description: { type: 'string', label: 'Description', column: 'a.description' },
    client_id: { type: 'string', label: 'Client ID', column: 'a.client_id' },
    client_secret: { type: 'string', label: 'Client secret', column: 'a.client_secret', secret: true },
    client_type: { type: 'string', label: 'Client type', column: 'a.client_type' },
    redirect_uris: { type: 'string', label: 'Redirect URIs', column: 'a.redirect_uris' },
    authorization_grant_type: { type: 'string', label: 'Grant type', column: 'a.authorization_grant_type' },
    skip_authorization: { type: 'boolean', label: 'Skip authorization', column: 'a.skip_authorization' },
    organization: { type: 'id', label: 'Organization', column: 'a.organization_id' },
  },
  relations: {
    organization: {
      searchFields: ['name'],
      fields: { name: { type: 'string', label: 'Name', column: 'o.name' } },
    },
  },
  searchFields: ['name', 'description'],
  order: ['id'],
};

/** `/api/v2/applications/` and `/api/v2/applications/N/`: what there is; secrets are never shown. */
export function serveApplications(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/applications/',
    name: 'Applications',
    description: 'The OAuth2 applications of your organizations.',
    fields: applicationFields,
    handlers: { GET: (exchange) => listApplications(exchange, exchange.request.url) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/applications/:id(^\\d+$)/',
    name: 'Application',
    description: 'One OAuth2 application.',
    fields: applicationFields,
    handlers: { GET: show },
  });
}

function listApplications({ service, caller }: Exchange, url: string): Promise<Page> {
  const { user } = caller;
  const organizations = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  return list<ApplicationRecord>(service.database, url, {
    fields: applicationFields,
    columns: APPLICATION_COLUMNS,
    from: APPLICATION_FROM,
    visible: seesEverything(user)
      ? { sql: 'TRUE', values: [] }
      : { sql: 'a.organization_id = ANY($1::integer[])', values: [organizations] },
    render: applicationJson,
  });
}

async function show(exchange: Exchange): Promise<unknown> {
  const id = pathId(exchange.params['id']);
  const { results } = await listApplications(exchange, `/api/v2/applications/?id=${id}&count_disabled=1`);
  if (results[0] === undefined) throw notFound();
  return results[0];
}

function applicationJson(application: ApplicationRecord): Record<string, unknown> {
  const { id, organization_id: organization, organization_name, ...rest } = application;
  return {
    id,
    type: 'o_auth2_application',
    url: `/api/v2/applications/${id}/`,
    related: { ...(organization !== null && { organization: `/api/v2/organizations/${organization}/` }) },
    summary_fields: {
      ...(organization !== null && { organization: { id: organization, name: organization_name } }),
    },
    ...rest,
    ...(application.client_type === 'confidential' && { client_secret: '************' }),
    organization,
  };
}

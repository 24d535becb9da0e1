import type { FastifyInstance } from 'fastify';
import {
  administersOrganization,
  canCreate,
  canSeeApplications,
  visibleApplications,
  visibleTokens,
} from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import type { Condition } from '../listing/filters.ts';
import { list, requireMatch } from '../listing/listing.ts';
import {
  APPLICATION_COLUMNS,
  APPLICATION_FROM,
  type ApplicationRecord,
  findApplication,
  findApplicationId,
  tokensByApplication,
} from '../store/applications.ts';
import { applicationFields, applicationJson } from './application-json.ts';
import {
  changeApplication,
  createApplication,
  removeApplication,
  type WrittenApplication,
} from './change-application.ts';
import { administersNamed, seenOrganization } from './organizations.ts';
import { namesIn, pathId } from './request-values.ts';
import { tokenFields } from './token-json.ts';
import { issueToken, listTokens } from './tokens.ts';

/** `/api/v2/applications/`, its `N/` and `N/tokens/`, and the `applications/` of organizations and users. */
export function serveApplications(app: FastifyInstance, service: ServiceContext): void {
  const fields = applicationFields(service);
  const visible = (exchange: Exchange) => visibleApplications(exchange.caller.user);
  serveEndpoint(app, service, {
    path: '/api/v2/applications/',
    name: 'Applications',
    description: 'The OAuth2 applications of your organizations.',
    fields,
    allows: ({ caller }) => canCreate(caller.user, 'application'),
    handlers: {
      GET: (exchange) => listApplications(exchange, visible(exchange)),
      POST: (exchange) => create(exchange),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/applications/:id/',
    name: 'Application',
    description: 'One OAuth2 application, by id or by NAME++ORGANIZATION. DELETE revokes its tokens.',
    fields,
    allows: async (exchange) => {
      const { organization_id } = await seenApplication(exchange);
      return administersOrganization(exchange.caller.user, organization_id);
    },
    handlers: {
      GET: async (exchange) =>
        shown(exchange, { application: await matchingApplication(exchange), secret: null }),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: async (exchange) => removeApplication(exchange, (await matchingApplication(exchange)).id),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/applications/:id/tokens/',
    name: 'Tokens of an application',
    description: 'The tokens of this application that you may see. POST creates one for yourself.',
    fields: tokenFields,
    handlers: {
      GET: tokensOf,
      POST: async (exchange) => issueToken(exchange, 'any', await seenApplication(exchange)),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/:id/applications/',
    name: 'Applications of an organization',
    description: 'The OAuth2 applications of this organization. POST creates one in it.',
    fields,
    allows: administersNamed,
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenOrganization(exchange);
        return listApplications(exchange, { sql: 'a.organization_id = $1', values: [id] });
      },
      POST: async (exchange) => create(exchange, (await seenOrganization(exchange)).id),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/applications/',
    name: 'Applications',
    description: 'The OAuth2 applications of your organizations, regardless of the user in the URL.',
    fields,
    allows: ({ caller }) => canCreate(caller.user, 'application'),
    handlers: {
      GET: (exchange) => listApplications(exchange, visible(exchange)),
      POST: (exchange) => create(exchange),
    },
  });
}

async function listApplications(exchange: Exchange, visible: Condition): Promise<unknown> {
  const { service, caller } = exchange;
  const page = await list<ApplicationRecord, ApplicationRecord>(exchange, {
    fields: applicationFields(service),
    columns: APPLICATION_COLUMNS,
    from: APPLICATION_FROM,
    visible,
    render: (application) => application,
  });
  const ids = page.results.map(({ id }) => id);
  const tokens = await tokensByApplication(service.database, ids, visibleTokens(caller.user, 2));
  const results = page.results.map((application) =>
    applicationJson(application, { caller, tokens: tokens.get(application.id) }),
  );
  return { ...page, results };
}

/** The application that the path names, by id or by name. Throws 404, or 403 if the caller may not see it. */
export async function seenApplication(exchange: Exchange): Promise<ApplicationRecord> {
  const { service, caller } = exchange;
  const application = await findApplication(service.database, await applicationId(exchange));
  if (application === null) throw notFound();
  if (!canSeeApplications(caller.user, application.organization_id)) throw forbidden();
  return application;
}

/** The same, if the filters of the query string hold for the application. */
async function matchingApplication(exchange: Exchange): Promise<ApplicationRecord> {
  const { service } = exchange;
  const application = await seenApplication(exchange);
  const visible = { sql: 'a.id = $1', values: [application.id] };
  const rows = { fields: applicationFields(service), from: APPLICATION_FROM, visible };
  await requireMatch(exchange, rows);
  return application;
}

async function applicationId({ service, params, request }: Exchange): Promise<number> {
  const { id = '' } = params;
  if (/^\d+$/.test(id)) return pathId(id);
  const [name, organization, ...more] = namesIn(request.url) ?? [];
  if (name === undefined || organization === undefined || more.length > 0) throw notFound();
  const found = await findApplicationId(service.database, name, organization);
  if (found === null) throw notFound();
  return found;
}

async function shown(exchange: Exchange, { application, secret }: WrittenApplication): Promise<unknown> {
  const { service, caller } = exchange;
  const visible = visibleTokens(caller.user, 2);
  const tokens = await tokensByApplication(service.database, [application.id], visible);
  return applicationJson(application, {
    caller,
    tokens: tokens.get(application.id),
    detail: true,
    secret,
  });
}

async function create(exchange: Exchange, organization?: number): Promise<unknown> {
  const written = await createApplication(exchange, organization);
  exchange.reply.code(201).header('Location', `/api/v2/applications/${written.application.id}/`);
  return shown(exchange, written);
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { id } = await matchingApplication(exchange);
  return shown(exchange, await changeApplication(exchange, id, replace));
}

async function tokensOf(exchange: Exchange): Promise<unknown> {
  const { id } = await seenApplication(exchange);
  const visible = visibleTokens(exchange.caller.user, 2);
  return listTokens(exchange, {
    sql: `t.application_id = $1 AND (${visible.sql})`,
    values: [id, ...visible.values],
  });
}

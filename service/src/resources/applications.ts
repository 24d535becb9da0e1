import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { administersOrganization, canCreate, visibleApplications, visibleTokens } from '../access.ts';
import { hashToken, randomText } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import { declared, type FieldSet } from '../listing/fields.ts';
import { EVERY_ROW } from '../listing/filters.ts';
import { recordTokenDeletions } from '../store/activity.ts';
import {
  APPLICATIONS,
  type ApplicationRecord,
  forgetConsents,
  tokensByApplication,
} from '../store/applications.ts';
import { findOrganization } from '../store/organizations.ts';
import { noSuchId } from './field-values.ts';
import { addresses, type Kind, type Wanted } from './kind.ts';
import { create, refuse, serveKind } from './named-resources.ts';
import { ORGANIZATION } from './organizations.ts';
import { redirectProblem } from './redirect-uris.ts';
import { byCaller, leadingFields, MASK, namedRelation, userRelation } from './resource.ts';
import { listKind, mayChangeSeen, ofSeen } from './seen-resources.ts';
import { tokenFields } from './token-json.ts';
import { issueToken, listTokens } from './tokens.ts';

const CLIENT_ID_LENGTH = 40;
const SECRET_LENGTH = 128;

/** The grant types of applications. `implicit` is added if the service was started with it. */
const GRANT_TYPES = [
  ['authorization-code', 'Authorization code'],
  ['password', 'Resource owner password-based'],
] as const;

const CLIENT_TYPES = [
  ['confidential', 'Confidential'],
  ['public', 'Public'],
] as const;

function fields(grantTypes: readonly (readonly [string, string])[]): FieldSet {
  return {
    type: 'o_auth2_application',
    fields: {
      ...leadingFields({
        type: 'o_auth2_application',
        name: 'OAuth2 application',
        alias: 'x',
        summary: 'Its organization and tokens, and your permissions on it.',
      }),
      ...declared('x', {
        modified: {
          type: 'datetime',
          helpText: 'When this OAuth2 application was last changed.',
          column: sql`x.updated`,
          unannounced: true,
        },
        name: {
          helpText: 'Name of this application, unique in its organization.',
          writable: 'change',
          required: true,
          blank: true,
          maxLength: 255,
        },
        description: { helpText: 'Purpose of this application.', writable: 'change', defaultValue: '' },
        client_id: { label: 'Client ID', secret: true },
        client_secret: {
          helpText: 'Shown once, when it is generated for a confidential application.',
          secret: true,
        },
        client_type: {
          type: 'choice',
          helpText: 'Public if the application cannot keep a secret, for example in a browser or on a phone.',
          writable: 'change',
          required: true,
          choices: CLIENT_TYPES,
        },
        redirect_uris: {
          label: 'Redirect URIs',
          helpText: 'Allowed redirect URIs, separated by spaces. They are compared exactly.',
          writable: 'change',
        },
        authorization_grant_type: {
          type: 'choice',
          helpText: 'How users get tokens for this application. It cannot be changed.',
          writable: 'create',
          required: true,
          choices: grantTypes,
        },
        skip_authorization: {
          type: 'boolean',
          helpText: 'Whether to skip the consent page for this trusted application.',
          writable: 'change',
          defaultValue: false,
        },
        organization: {
          type: 'id',
          helpText: 'The organization whose members may use it.',
          writable: 'change',
          required: true,
        },
      }),
    },
    relations: { organization: namedRelation('o'), user: userRelation('u') },
    searchFields: ['description', 'name'],
    order: ['name'],
  };
}

const APPLICATION: Kind<ApplicationRecord> = {
  type: 'o_auth2_application',
  path: '/api/v2/applications/',
  label: 'Application',
  plural: 'Applications',
  about: {
    list: 'The OAuth2 applications of your organizations.',
    one: 'One OAuth2 application, by ID or by NAME++ORGANIZATION. DELETE revokes its tokens.',
  },
  storage: APPLICATIONS,
  fields: fields(GRANT_TYPES),
  namedBy: ['name', 'organization_name'],
  nameTaken: { __all__: ['OAuth2 application with this Name and Organization already exists.'] },
  hasOwnRights: true,
  visible: (user) => visibleApplications(user),
  mayChange: (user, _held, { organization = null }) => administersOrganization(user, organization),
  related: (url) => addresses(url, ['tokens', 'activity_stream']),
  /** A public application has no secret to show. */
  async shownToo({ service, caller }, applications) {
    const ids = applications.map(({ id }) => id);
    const tokens = await tokensByApplication(service.database, ids, visibleTokens(caller.user));
    return applications.map(({ id, client_type }) => {
      const { count = 0, first = [] } = tokens.get(id) ?? {};
      return {
        summary: { tokens: { count, results: first.map(({ id, scope }) => ({ id, token: MASK, scope })) } },
        fields: { client_secret: client_type === 'confidential' ? MASK : undefined },
      };
    });
  },
  prepare,
  async changed(transaction, before, { id, redirect_uris }) {
    if (redirect_uris !== before.redirect_uris) await forgetConsents(transaction, id);
  },
  removing: (exchange, transaction, { id }) =>
    recordTokenDeletions(transaction, { applicationId: id }, byCaller(exchange)),
};

const WITH_IMPLICIT: Kind<ApplicationRecord> = {
  ...APPLICATION,
  fields: fields([...GRANT_TYPES, ['implicit', 'Implicit']]),
};

/** The kind of applications. The implicit grant is included if the service was started with it. */
export function applicationKind(service: { readonly allowImplicitGrant?: boolean }): Kind<ApplicationRecord> {
  return service.allowImplicitGrant === true ? WITH_IMPLICIT : APPLICATION;
}

/** `/api/v2/applications/`, its `N/` and `N/tokens/`, and the `applications/` of organizations and users. */
export function serveApplications(app: FastifyInstance, service: ServiceContext): void {
  const kind = applicationKind(service);
  serveKind(app, service, kind);
  serveEndpoint(app, service, {
    path: '/api/v2/applications/:id/tokens/',
    name: 'Tokens of an application',
    description: 'The tokens of this application that you can see. POST creates one for yourself.',
    fields: tokenFields,
    handlers: {
      GET: ofSeen(kind, (exchange, { id }) =>
        listTokens(exchange, sql`t.application_id = ${id} AND (${visibleTokens(exchange.caller.user)})`),
      ),
      POST: ofSeen(kind, (exchange, application) => issueToken(exchange, 'any', application)),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/organizations/:id/applications/',
    name: 'Applications of an organization',
    description: 'The OAuth2 applications of this organization. POST creates one in it.',
    fields: kind.fields,
    allows: (exchange) => mayChangeSeen(exchange, ORGANIZATION),
    handlers: {
      GET: ofSeen(ORGANIZATION, (exchange, { id }) =>
        listKind(exchange, kind, EVERY_ROW, sql`x.organization_id = ${id}`),
      ),
      POST: ofSeen(ORGANIZATION, (exchange, { id }) => create(exchange, kind, { organization: id })),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/applications/',
    name: 'Applications',
    description: 'The OAuth2 applications of your organizations, regardless of the user in the URL.',
    fields: kind.fields,
    allows: ({ caller }) => canCreate(caller.user, kind.type),
    handlers: { GET: (exchange) => listKind(exchange, kind), POST: (exchange) => create(exchange, kind) },
  });
}

/**
 * Validates an application, and creates its client id and its secret, whose digest is stored. An application
 * that changes from public to confidential gets a new secret: the one from its creation was never shown.
 * @throws RequestFailure 400 by field; 403 for an organization that the caller does not administer.
 */
async function prepare(exchange: Exchange, transaction: Queryable, wanted: Wanted<ApplicationRecord>) {
  const { body, before, problems, once } = wanted;
  const caller = exchange.caller.user;
  const values = wanted.values as unknown as ApplicationRecord;
  await checkOrganization(caller, transaction, wanted);
  // The application was trusted with its redirect URIs and its secret. If these change, users are asked for
  // consent again, unless the request says otherwise.
  const isNamed = (body['skip_authorization'] ?? null) !== null;
  const isSame = before?.redirect_uris === values.redirect_uris && before.client_type === values.client_type;
  const skip_authorization = values.skip_authorization && (isNamed || isSame);
  if (skip_authorization && values.client_type === 'public') {
    problems['skip_authorization'] ??= ['A public application always asks for consent (RFC 8252, 8.6).'];
  }
  refuse(problems);
  if (!administersOrganization(caller, values.organization)) throw forbidden();
  const trusted = before?.skip_authorization === true && isSame;
  requireFieldRights('o_auth2_application', {
    caller,
    before: { skip_authorization: trusted },
    after: { skip_authorization },
  });
  const grantType = before?.authorization_grant_type ?? values.authorization_grant_type;
  const problem = redirectProblem(values.redirect_uris, grantType);
  if (problem !== null) throw invalid({ __all__: [problem] });
  const turns = before?.client_type === 'public' && values.client_type === 'confidential';
  const secret = before === null || turns ? randomText(SECRET_LENGTH) : null;
  if (secret !== null && values.client_type === 'confidential') once['client_secret'] = secret;
  return {
    ...wanted.values,
    skip_authorization,
    ...(before === null && { client_id: randomText(CLIENT_ID_LENGTH) }),
    ...(secret !== null && { client_secret: hashToken(secret) }),
  };
}

/** Validates the organization. The controller reads it before it checks the other fields, except for superusers. */
async function checkOrganization(
  caller: { readonly is_superuser: boolean },
  transaction: Queryable,
  { body, values, before, problems }: Wanted<ApplicationRecord>,
): Promise<void> {
  const organization = values['organization'] as number | null;
  const isGiven = (body['organization'] ?? null) !== null;
  if (!caller.is_superuser && problems['organization'] !== undefined && isGiven) {
    throw badRequest('Bad data found in the field organization.');
  }
  // Only superusers learn whether it exists. For others, it is refused like one that they do not administer.
  if (organization !== null && caller.is_superuser && organization !== before?.organization) {
    const found = await findOrganization(transaction, organization);
    if (found === null) problems['organization'] ??= [noSuchId(organization)];
  }
}

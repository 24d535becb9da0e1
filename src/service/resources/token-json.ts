import type { FieldSet } from '../listing/fields.ts';
import { scopeProblem } from '../oauth2/oauth-request.ts';
import type { TokenRecord } from '../store/tokens.ts';
import { leadingFields, MASK, namedRelation, profileRelation, userRelation } from './resource.ts';

/** The token values that the creating response shows. */
export interface IssuedValues {
  readonly token: string;
  readonly refreshToken: string | null;
}

/** An access token as the API shows it. The values are shown on creation only. */
export function tokenJson(token: TokenRecord, issued?: IssuedValues): Record<string, unknown> {
  const url = `/api/v2/tokens/${token.id}/`;
  return {
    id: token.id,
    type: 'o_auth2_access_token',
    url,
    related: {
      ...(token.user_id !== null && { user: `/api/v2/users/${token.user_id}/` }),
      ...(token.application_id !== null && { application: `/api/v2/applications/${token.application_id}/` }),
      activity_stream: `${url}activity_stream/`,
    },
    summary_fields: {
      ...(token.user_id !== null && {
        user: {
          id: token.user_id,
          username: token.username,
          first_name: token.first_name,
          last_name: token.last_name,
        },
      }),
      ...(token.application_id !== null && {
        application: { id: token.application_id, name: token.application_name },
      }),
    },
    created: token.created,
    modified: token.modified,
    description: token.description,
    user: token.user_id,
    token: issued?.token ?? MASK,
    refresh_token: issued === undefined ? (token.has_refresh_token ? MASK : null) : issued.refreshToken,
    application: token.application_id,
    expires: token.expires,
    scope: token.scope,
  };
}

/** What the activity stream records of a token on creation and deletion. */
export function tokenFacts(token: TokenRecord): Record<string, unknown> {
  return {
    description: token.description,
    application: token.application_name,
    scope: token.scope,
    id: token.id,
    token: MASK,
  };
}

/** The fields of an access token and of its relations. */
export const tokenFields: FieldSet = {
  type: 'o_auth2_access_token',
  fields: {
    ...leadingFields({
      type: 'o_auth2_access_token',
      name: 'OAuth2 access token',
      alias: 't',
      summary: 'Its user and application.',
    }),
    description: {
      type: 'string',
      label: 'Description',
      helpText: 'Purpose of this token, as given by its owner.',
      column: 't.description',
      writable: 'change',
      defaultValue: '',
    },
    user: { type: 'id', label: 'User', helpText: 'The owner of this token.', column: 't.user_id' },
    token: { type: 'string', label: 'Token', column: 't.token', secret: true },
    refresh_token: { type: 'field', label: 'Refresh token', column: 'f.id', unannounced: true },
    application: { type: 'id', label: 'Application', column: 't.application_id', writable: 'create' },
    expires: { type: 'datetime', label: 'Expires', column: 't.expires' },
    scope: {
      type: 'string',
      label: 'Scope',
      helpText: 'What it allows: read, write, or both separated by a space.',
      column: 't.scope',
      writable: 'change',
      defaultValue: 'write',
      blank: false,
      check: scopeProblem,
    },
    last_used: { type: 'datetime', label: 'Last used', column: 't.last_used', hidden: true },
  },
  relations: {
    // `a` is the application of the token; `g` is the same, but null if the caller may see only its name.
    application: {
      searchFields: ['name', 'description'],
      fields: {
        id: { type: 'integer', label: 'ID', column: 'a.id' },
        name: { type: 'string', label: 'Name', column: 'a.name' },
        description: { type: 'string', label: 'Description', column: 'g.description' },
        client_id: { type: 'string', label: 'Client ID', column: 'g.client_id', secret: true },
        client_type: { type: 'string', label: 'Client type', column: 'g.client_type' },
        authorization_grant_type: {
          type: 'string',
          label: 'Grant type',
          column: 'g.authorization_grant_type',
        },
        organization: { type: 'id', label: 'Organization', column: 'g.organization_id' },
        client_secret: { type: 'string', label: 'Client secret', column: 'g.client_secret', secret: true },
      },
      relations: {
        organization: namedRelation('o'),
      },
    },
    // The controller lists these relations of OpenID Connect. They have no text to search, and none is issued
    // here.
    id_token: { searchFields: [], fields: {} },
    source_refresh_token: { searchFields: [], fields: {} },
    refresh_token: {
      searchFields: [],
      fields: {
        id: { type: 'integer', label: 'ID', column: 'f.id' },
        revoked: { type: 'datetime', label: 'Revoked', column: 'f.revoked' },
        created: { type: 'datetime', label: 'Created', column: 'f.created' },
        token: { type: 'string', label: 'Token', column: 'f.token', secret: true },
      },
    },
    user: {
      searchFields: ['username', 'first_name', 'last_name', 'email'],
      fields: {
        ...userRelation('u').fields,
        email: { type: 'string', label: 'Email', column: 'u.email' },
        is_superuser: { type: 'boolean', label: 'Superuser', column: 'u.is_superuser' },
        is_active: { type: 'boolean', label: 'Active', column: 'u.is_active' },
        last_login: { type: 'datetime', label: 'Last login', column: 'u.last_login' },
      },
      relations: { profile: profileRelation('u') },
    },
  },
  searchFields: ['description'],
  order: ['id'],
};

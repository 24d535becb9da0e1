import { sql } from '@tokenctl/common/db/sql.ts';
import { declared, type FieldSet } from '../listing/fields.ts';
import { scopeProblem } from '../oauth2/oauth-request.ts';
import type { TokenRecord } from '../store/tokens.ts';
import { leadingFields, MASK, namedRelation, PROFILE_RELATION, userRelation } from './resource.ts';

/** The token values for the response that creates them. */
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

export const tokenFields: FieldSet = {
  type: 'o_auth2_access_token',
  fields: {
    ...leadingFields({
      type: 'o_auth2_access_token',
      name: 'OAuth2 access token',
      alias: 't',
      summary: 'Its user and application.',
    }),
    ...declared('t', {
      description: {
        helpText: 'Purpose of this token, as given by its owner.',
        writable: 'change',
        defaultValue: '',
      },
      user: { type: 'id', helpText: 'The owner of this token.' },
      token: { secret: true },
      refresh_token: { type: 'field', column: sql`f.id`, unannounced: true },
      application: { type: 'id', writable: 'create' },
      // A personal token may expire earlier than the settings say.
      expires: { type: 'datetime', writable: 'create' },
      scope: {
        helpText: 'What it allows: read, write, or both separated by a space.',
        writable: 'change',
        defaultValue: 'write',
        blank: false,
        check: scopeProblem,
      },
      last_used: { type: 'datetime', hidden: true },
    }),
  },
  relations: {
    // `a` is the token's application; `g` is the same, but null if the caller may see only its name.
    application: {
      searchFields: ['name', 'description'],
      fields: declared('g', {
        id: { type: 'integer', label: 'ID', column: sql`a.id` },
        name: { column: sql`a.name` },
        description: {},
        client_id: { label: 'Client ID', secret: true },
        client_type: {},
        authorization_grant_type: { label: 'Grant type' },
        organization: { type: 'id' },
        client_secret: { secret: true },
      }),
      relations: { organization: namedRelation('o') },
    },
    // The controller lists these relations of OpenID Connect. There are no such tokens here, and no text to search.
    id_token: { searchFields: [], fields: {} },
    source_refresh_token: { searchFields: [], fields: {} },
    refresh_token: {
      searchFields: [],
      fields: declared('f', {
        id: { type: 'integer', label: 'ID' },
        revoked: { type: 'datetime' },
        created: { type: 'datetime' },
        token: { secret: true },
      }),
    },
    user: {
      searchFields: ['username', 'first_name', 'last_name', 'email'],
      fields: {
        ...userRelation('u').fields,
        ...declared('u', {
          email: {},
          is_superuser: { type: 'boolean', label: 'Superuser' },
          is_active: { type: 'boolean', label: 'Active' },
          last_login: { type: 'datetime' },
        }),
      },
      relations: { profile: PROFILE_RELATION },
    },
  },
  searchFields: ['description'],
  order: ['id'],
};

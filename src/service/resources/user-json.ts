import { canChangeUser, canDeleteUser, externalAccount } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { FieldSet, Relation } from '../listing/fields.ts';
import type { UserRecord } from '../store/users.ts';
import { namedSegment } from './request-values.ts';
import { leadingFields, profileRelation } from './resource.ts';

/** A user as the API shows it to a caller. A masked password shows that the account is local. */
export function userJson(user: UserRecord, caller: Caller, detail = false): Record<string, unknown> {
  const url = `/api/v2/users/${user.id}/`;
  const external = externalAccount(user);
  return {
    id: user.id,
    type: 'user',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/users/${namedSegment([user.username])}/` }),
      teams: `${url}teams/`,
      organizations: `${url}organizations/`,
      admin_of_organizations: `${url}admin_of_organizations/`,
      roles: `${url}roles/`,
      activity_stream: `${url}activity_stream/`,
      access_list: `${url}access_list/`,
      tokens: `${url}tokens/`,
      authorized_tokens: `${url}authorized_tokens/`,
      personal_tokens: `${url}personal_tokens/`,
    },
    summary_fields: {
      user_capabilities: {
        edit: caller.mayWrite && canChangeUser(caller.user, user),
        delete: caller.mayWrite && canDeleteUser(caller.user, user),
      },
    },
    created: user.date_joined,
    modified: user.last_login,
    username: user.username,
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    is_superuser: user.is_superuser,
    is_system_auditor: user.is_system_auditor,
    ...(external === null && { password: '$encrypted$' }),
    ldap_dn: user.ldap_dn,
    last_login: user.last_login,
    external_account: external,
    auth: user.social_accounts,
  };
}

const USERNAME = /^[\p{L}\p{N}@.+_-]+$/u;

function usernameProblem(username: string): string | null {
  return USERNAME.test(username) ? null : 'Enter a valid username: letters, digits and @ . + - _ only.';
}

/** The tokens of a user, as far as the viewer sees them. */
const TOKENS: Relation = {
  many: {
    from: 'main_oauth2accesstoken r LEFT JOIN main_oauth2application a ON a.id = r.application_id',
    on: `r.user_id = u.id AND (viewer.sees_all OR r.user_id = viewer.id
      OR a.organization_id = ANY(viewer.administers))`,
  },
  searchFields: ['description'],
  fields: {
    id: { type: 'integer', label: 'ID', column: 'r.id' },
    description: { type: 'string', label: 'Description', column: 'r.description' },
    scope: { type: 'string', label: 'Scope', column: 'r.scope' },
    created: { type: 'datetime', label: 'Created', column: 'r.created' },
    expires: { type: 'datetime', label: 'Expires', column: 'r.expires' },
    last_used: { type: 'datetime', label: 'Last used', column: 'r.last_used' },
    application: { type: 'id', label: 'Application', column: 'r.application_id' },
    token: { type: 'string', label: 'Token', column: 'r.token', secret: true },
  },
};

export const userFields: FieldSet = {
  type: 'user',
  fields: {
    ...leadingFields({ type: 'user', name: 'user', alias: 'u', summary: 'What you may do with this user.' }),
    created: {
      type: 'datetime',
      label: 'Created',
      helpText: 'When the account was created.',
      column: 'u.date_joined',
      unannounced: true,
    },
    modified: { type: 'datetime', label: 'Modified', helpText: 'When the user last logged in.' },
    username: {
      type: 'string',
      label: 'Username',
      helpText: 'Up to 150 letters, digits and @ . + - _.',
      column: 'u.username',
      writable: 'change',
      required: true,
      maxLength: 150,
      check: usernameProblem,
    },
    first_name: {
      type: 'string',
      label: 'First name',
      column: 'u.first_name',
      writable: 'change',
      maxLength: 150,
    },
    last_name: {
      type: 'string',
      label: 'Last name',
      column: 'u.last_name',
      writable: 'change',
      maxLength: 150,
    },
    email: {
      type: 'string',
      label: 'Email address',
      column: 'u.email',
      writable: 'change',
      maxLength: 254,
    },
    is_superuser: {
      type: 'boolean',
      label: 'Superuser status',
      helpText: 'Full access.',
      column: 'u.is_superuser',
      writable: 'change',
      defaultValue: false,
    },
    is_system_auditor: {
      type: 'boolean',
      label: 'System auditor',
      writable: 'change',
      nullable: false,
      defaultValue: false,
    },
    password: {
      type: 'string',
      label: 'Password',
      helpText: 'Write-only.',
      column: 'u.password',
      secret: true,
      writable: 'change',
      defaultValue: '',
      blank: false,
      nullable: false,
      maxLength: 128,
    },
    ldap_dn: { type: 'string', label: 'LDAP DN' },
    last_login: { type: 'datetime', label: 'Last login', column: 'u.last_login' },
    external_account: {
      type: 'field',
      label: 'External account',
      helpText: 'ldap, social or enterprise for an external account.',
    },
    auth: { type: 'list', label: 'Auth', helpText: 'Linked accounts at identity providers.' },
    is_active: {
      type: 'boolean',
      label: 'Active',
      column: 'u.is_active',
      hidden: true,
      writable: 'change',
      nullable: false,
    },
    date_joined: { type: 'datetime', label: 'Date joined', column: 'u.date_joined', hidden: true },
  },
  relations: { profile: profileRelation('u'), main_oauth2accesstoken: TOKENS },
  searchFields: ['username', 'first_name', 'last_name', 'email'],
  order: ['username'],
};

import { domainToASCII } from 'node:url';
import { sql } from '@tokenctl/common/db/sql.ts';
import { canChangeUser, canDeleteUser, externalAccount } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import { declared, type FieldSet, type Relation } from '../listing/fields.ts';
import { pick } from '../store/job-options.ts';
import type { UserRecord } from '../store/users.ts';
import { addresses } from './kind.ts';
import { namedSegment } from './request-values.ts';
import { leadingFields, PROFILE_RELATION } from './resource.ts';

const RELATED = [
  ...['teams', 'organizations', 'admin_of_organizations', 'roles', 'activity_stream', 'access_list'],
  ...['tokens', 'authorized_tokens', 'personal_tokens'],
];

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
      ...addresses(url, RELATED),
    },
    summary_fields: {
      user_capabilities: {
        edit: caller.mayWrite && canChangeUser(caller.user, user),
        delete: caller.mayWrite && canDeleteUser(caller.user, user),
      },
    },
    created: user.date_joined,
    modified: user.last_login,
    ...pick(user, [
      'username',
      'first_name',
      'last_name',
      'email',
      'is_superuser',
      'is_system_auditor',
    ] as const),
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

const LOCAL_PART =
  /^(?:[-!#$%&'*+/=?^_`{}|~0-9A-Z]+(?:\.[-!#$%&'*+/=?^_`{}|~0-9A-Z]+)*|"(?:[^"\\\n\r\P{ASCII}]|\\\p{ASCII})*")$/iu;
const DOMAIN =
  /^(?:(?:[A-Z0-9](?:[A-Z0-9-]{0,61}[A-Z0-9])?\.)+[A-Z0-9-]{1,62}[A-Z0-9]|localhost|\[[0-9A-F:.]+\])$/i;

/** Why an email address is invalid, or null, as in Django's EmailValidator with a domain in its ASCII form. */
export function emailProblem(email: string): string | null {
  const at = email.lastIndexOf('@');
  const [local, domain] = [email.slice(0, Math.max(at, 0)), email.slice(at + 1)];
  const isDomain = DOMAIN.test(domain) || DOMAIN.test(domainToASCII(domain));
  return LOCAL_PART.test(local) && isDomain ? null : 'Enter a valid email address.';
}

/** A user's tokens that the viewer sees. */
const TOKENS: Relation = {
  many: {
    from: sql`main_oauth2accesstoken r LEFT JOIN main_oauth2application a ON a.id = r.application_id`,
    on: sql`r.user_id = u.id AND (viewer.sees_all OR r.user_id = viewer.id
      OR a.organization_id = ANY(viewer.administers))`,
  },
  searchFields: ['description'],
  fields: declared('r', {
    id: { type: 'integer', label: 'ID' },
    description: {},
    scope: {},
    created: { type: 'datetime' },
    expires: { type: 'datetime' },
    last_used: { type: 'datetime' },
    application: { type: 'id' },
    token: { secret: true },
  }),
};

/** The accounts at identity providers, shown in `auth`. */
const ACCOUNTS: Relation = {
  many: { from: sql`social_auth_usersocialauth r`, on: sql`r.user_id = u.id` },
  searchFields: [],
  fields: declared('r', { provider: {}, uid: {} }),
};

export const userFields: FieldSet = {
  type: 'user',
  fields: {
    ...leadingFields({ type: 'user', name: 'user', alias: 'u', summary: 'Your permissions on this user.' }),
    ...declared('u', {
      created: {
        type: 'datetime',
        helpText: 'When the account was created.',
        column: sql`u.date_joined`,
        unannounced: true,
      },
      modified: { type: 'datetime', helpText: 'When the user last logged in.', column: null },
      username: {
        helpText: 'Up to 150 letters, digits and @ . + - _.',
        writable: 'change',
        required: true,
        maxLength: 150,
        check: usernameProblem,
      },
      first_name: { writable: 'change', maxLength: 150 },
      last_name: { writable: 'change', maxLength: 150 },
      email: { label: 'Email address', writable: 'change', maxLength: 254 },
      is_superuser: {
        type: 'boolean',
        label: 'Superuser status',
        helpText: 'Full access.',
        writable: 'change',
        defaultValue: false,
      },
      is_system_auditor: {
        type: 'boolean',
        label: 'System auditor',
        column: null,
        writable: 'change',
        nullable: false,
        defaultValue: false,
      },
      password: {
        helpText: 'Write-only.',
        secret: true,
        writable: 'change',
        defaultValue: '',
        blank: false,
        nullable: false,
        maxLength: 128,
      },
      ldap_dn: { label: 'LDAP DN', column: null },
      last_login: { type: 'datetime' },
      external_account: {
        type: 'field',
        helpText: 'ldap, social or enterprise for an external account.',
        column: null,
      },
      auth: { type: 'list', helpText: 'Linked accounts at identity providers.', column: null },
      is_active: { type: 'boolean', label: 'Active', hidden: true, writable: 'change', nullable: false },
      date_joined: { type: 'datetime', hidden: true },
    }),
  },
  relations: { social_auth: ACCOUNTS, profile: PROFILE_RELATION, main_oauth2accesstoken: TOKENS },
  searchFields: ['username', 'first_name', 'last_name', 'email'],
  order: ['username'],
};

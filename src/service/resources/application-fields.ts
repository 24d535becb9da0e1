import type { FieldSet } from '../listing/fields.ts';

/** What an application may be registered for. `implicit` only where the service was started for it. */
const GRANT_TYPES: readonly (readonly [string, string])[] = [
  ['authorization-code', 'Authorization code'],
  ['password', 'Resource owner password-based'],
];

const CLIENT_TYPES: readonly (readonly [string, string])[] = [
  ['confidential', 'Confidential'],
  ['public', 'Public'],
];

function fields(grantTypes: typeof GRANT_TYPES): FieldSet {
  return {
    type: 'o_auth2_application',
    fields: {
      id: { type: 'integer', label: 'ID', helpText: 'Database ID of this application.', column: 'a.id' },
      type: {
        type: 'choice',
        label: 'Type',
        helpText: 'What kind of record this is.',
        choices: [['o_auth2_application', 'OAuth2 application']],
      },
      url: { type: 'string', label: 'Url', helpText: 'Address of this application.' },
      related: { type: 'object', label: 'Related', helpText: 'Addresses of what belongs to it.' },
      summary_fields: {
        type: 'object',
        label: 'Summary fields',
        helpText: 'Its organization and tokens in short, and what you may do with it.',
      },
      created: { type: 'datetime', label: 'Created', helpText: 'When it was made.', column: 'a.created' },
      modified: {
        type: 'datetime',
        label: 'Modified',
        helpText: 'When it was last changed.',
        column: 'a.updated',
        unannounced: true,
      },
      name: {
        type: 'string',
        label: 'Name',
        helpText: 'Name of this application, once in its organization.',
        column: 'a.name',
        writable: 'change',
        required: true,
        maxLength: 255,
      },
      description: {
        type: 'string',
        label: 'Description',
        helpText: 'What it is for.',
        column: 'a.description',
        writable: 'change',
        defaultValue: '',
      },
      client_id: { type: 'string', label: 'Client ID', column: 'a.client_id', secret: true },
      client_secret: {
        type: 'string',
        label: 'Client secret',
        helpText: 'Shown once, when a confidential application gets it.',
        column: 'a.client_secret',
        secret: true,
      },
      client_type: {
        type: 'choice',
        label: 'Client type',
        helpText: 'Public where the application cannot keep a secret, such as in a browser or on a phone.',
        column: 'a.client_type',
        writable: 'change',
        required: true,
        choices: CLIENT_TYPES,
      },
      redirect_uris: {
        type: 'string',
        label: 'Redirect URIs',
        helpText: 'Where answers may be sent, separated by spaces. Each is compared exactly.',
        column: 'a.redirect_uris',
        writable: 'change',
      },
      authorization_grant_type: {
        type: 'choice',
        label: 'Authorization grant type',
        helpText: 'How users get tokens for it. It stays as it was made.',
        column: 'a.authorization_grant_type',
        writable: 'create',
        required: true,
        choices: grantTypes,
      },
      skip_authorization: {
        type: 'boolean',
        label: 'Skip authorization',
        helpText: 'Trusted: users are not asked before they get a token for it.',
        column: 'a.skip_authorization',
        writable: 'change',
        defaultValue: false,
      },
      organization: {
        type: 'id',
        label: 'Organization',
        helpText: 'The organization whose members may use it.',
        column: 'a.organization_id',
        writable: 'change',
        required: true,
      },
    },
    relations: {
      organization: {
        searchFields: ['name', 'description'],
        fields: {
          id: { type: 'integer', label: 'ID', column: 'o.id' },
          name: { type: 'string', label: 'Name', column: 'o.name' },
          description: { type: 'string', label: 'Description', column: 'o.description' },
        },
      },
      user: {
        searchFields: ['username', 'first_name', 'last_name'],
        fields: {
          id: { type: 'integer', label: 'ID', column: 'u.id' },
          username: { type: 'string', label: 'Username', column: 'u.username' },
          first_name: { type: 'string', label: 'First name', column: 'u.first_name' },
          last_name: { type: 'string', label: 'Last name', column: 'u.last_name' },
          password: { type: 'string', label: 'Password', column: 'u.password', secret: true },
        },
      },
    },
    searchFields: ['description', 'name'],
    order: ['name'],
  };
}

const usual = fields(GRANT_TYPES);
const withImplicit = fields([...GRANT_TYPES, ['implicit', 'Implicit']]);

/** The fields of an application. */
export function applicationFields(service: { readonly allowImplicitGrant?: boolean }): FieldSet {
  return service.allowImplicitGrant === true ? withImplicit : usual;
}

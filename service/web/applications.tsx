import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { CopyText } from '@tokenctl/common/web/secrets.tsx';
import { withBreaks } from '@tokenctl/common/web/table.tsx';
import { Time } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { pagesOf } from './resource-forms.tsx';
import {
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  ReadResource,
  type Resource,
  type ResourceKind,
} from './resource-pages.tsx';
import { CreateToken, TokenList } from './tokens.tsx';

/** An application in `/api/v2/applications/`. */
interface Application extends Resource {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_type: 'confidential' | 'public';
  readonly redirect_uris: string;
  readonly authorization_grant_type: string;
  readonly skip_authorization: boolean;
  readonly organization: number | null;
  readonly summary_fields: Resource['summary_fields'] & { readonly tokens?: { readonly count: number } };
}

const CLIENT_TYPES = [
  ['confidential', 'Confidential'],
  ['public', 'Public'],
] as const;
const GRANT_TYPES = [
  ['authorization-code', 'Authorization code'],
  ['password', 'Resource owner password-based'],
] as const;

function labelOf(choices: readonly (readonly [string, string])[], value: string): string {
  return choices.find(([each]) => each === value)?.[1] ?? value;
}

const GRANT_TYPE: FormField = {
  name: 'authorization_grant_type',
  label: 'Grant type',
  kind: 'select',
  choices: GRANT_TYPES,
  required: true,
  help: 'How users get tokens for this application. It cannot be changed later.',
};

export const APPLICATION: ResourceKind<Application> = {
  noun: 'application',
  plural: 'Applications',
  path: '/applications',
  api: '/api/v2/applications/',
  nameLength: 255,
  columns: [
    ORGANIZATION,
    { title: 'Client type', show: ({ client_type }) => labelOf(CLIENT_TYPES, client_type) },
    { title: 'Grant type', show: (each) => labelOf(GRANT_TYPES, each.authorization_grant_type) },
    {
      title: 'Tokens',
      show: ({ id, summary_fields }) => (
        <Link to={`/applications/${id}/tokens`}>{summary_fields.tokens?.count ?? 0}</Link>
      ),
    },
    { title: 'Last changed', orderBy: 'modified', show: ({ modified }) => <Time value={modified} /> },
  ],
  filters: [
    { name: 'organization__name__icontains', label: 'Organization' },
    { name: 'client_type', label: 'Client type', choices: CLIENT_TYPES },
    { name: 'authorization_grant_type', label: 'Grant type', choices: GRANT_TYPES },
  ],
  consequence: 'Their tokens are also revoked.',
  facts: (application) => [
    ['Organization', organizationOf(application)],
    ['Client ID', <CopyText key="client" label="Client ID" value={application.client_id} />],
    ['Client type', labelOf(CLIENT_TYPES, application.client_type)],
    ['Grant type', labelOf(GRANT_TYPES, application.authorization_grant_type)],
    [
      'Redirect URIs',
      application.redirect_uris === ''
        ? ''
        : application.redirect_uris.split(/\s+/).map((uri) => <div key={uri}>{withBreaks(uri)}</div>),
    ],
    ['Skip authorization', application.skip_authorization ? 'Yes' : 'No'],
  ],
  fields: (application) => [
    ORGANIZATION_FIELD,
    { ...GRANT_TYPE, required: application === undefined, isDisabled: application !== undefined },
    {
      name: 'client_type',
      label: 'Client type',
      kind: 'select',
      choices: CLIENT_TYPES,
      required: true,
      help: 'Public if the application cannot keep a secret, for example in a browser or on a phone.',
    },
    {
      name: 'redirect_uris',
      label: 'Redirect URIs',
      kind: 'textarea',
      required: ({ authorization_grant_type: grant }) => grant === 'authorization-code',
      help: 'Separated by spaces, compared exactly. Required for the authorization code grant type.',
    },
    {
      name: 'skip_authorization',
      label: 'Skip authorization',
      kind: 'checkbox',
      help: 'Users are not asked to approve access. For trusted applications only.',
    },
  ],
  secrets: ({ client_id, client_secret }) =>
    client_secret === undefined
      ? []
      : [
          ['Client ID', client_id],
          ['Client secret', client_secret],
        ],
  tabs: [
    [
      'tokens',
      'Tokens',
      ({ id }) => (
        <TokenList
          path={`/api/v2/applications/${id}/tokens/`}
          about="application"
          createAt={`/applications/${id}/tokens/add`}
        />
      ),
    ],
  ],
};

export const APPLICATIONS = pagesOf(APPLICATION);

/** The form for a new token of the logged-in user, for an application. */
export function CreateApplicationToken(): ReactNode {
  return (
    <ReadResource kind={APPLICATION}>
      {(application) => {
        const path = `/applications/${application.id}`;
        return (
          <CreateToken
            application={application}
            above={[
              ['/applications', 'Applications'],
              [path, application.name],
              [`${path}/tokens`, 'Tokens'],
            ]}
            back={`${path}/tokens`}
          />
        );
      }}
    </ReadResource>
  );
}

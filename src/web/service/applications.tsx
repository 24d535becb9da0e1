/** OAuth2 applications: list, details, tokens, creation, change. */
import { Flex, PageSection } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { callApi } from '../shared/api.ts';
import { DeleteButton, type Deletion } from '../shared/deletion.tsx';
import { Facts, LinkedTabs } from '../shared/detail.tsx';
import { ApiForm, type FormField } from '../shared/form.tsx';
import { PageHeading } from '../shared/heading.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { ResourceList } from '../shared/list.tsx';
import { useNotify } from '../shared/notices.tsx';
import { useApi } from '../shared/queries.ts';
import { CopyText, SecretDialog } from '../shared/secrets.tsx';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';
import { useMayCreate } from './resource-pages.tsx';
import { CreateToken, TokenList } from './tokens.tsx';

/** An application as `/api/v2/applications/` shows it. */
interface Application {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_type: 'confidential' | 'public';
  readonly redirect_uris: string;
  readonly authorization_grant_type: string;
  readonly skip_authorization: boolean;
  readonly organization: number | null;
  readonly created: string;
  readonly modified: string;
  readonly summary_fields: {
    readonly organization?: { readonly id: number; readonly name: string };
    readonly user_capabilities?: { readonly edit: boolean; readonly delete: boolean };
    readonly tokens?: { readonly count: number };
  };
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

const DELETION: Deletion<Application> = {
  noun: 'application',
  path: ({ id }) => `/api/v2/applications/${id}/`,
  describe: ({ name }) => name,
  consequence: 'Their tokens are revoked with them.',
  mayDelete: ({ summary_fields }) => summary_fields.user_capabilities?.delete === true,
};

/** The list of applications. */
export function Applications(): ReactNode {
  const mayCreate = useMayCreate();
  return (
    <>
      <PageHeading title="Applications" />
      <PageSection>
        <ResourceList<Application>
          name="applications"
          path="/api/v2/applications/"
          order="name"
          columns={[
            {
              title: 'Name',
              orderBy: 'name',
              show: ({ id, name }) => <Link to={`/applications/${id}`}>{name}</Link>,
            },
            {
              title: 'Organization',
              orderBy: 'organization__name',
              show: ({ summary_fields: { organization } }) =>
                organization === undefined ? (
                  '—'
                ) : (
                  <Link to={`/organizations/${organization.id}`}>{organization.name}</Link>
                ),
            },
            { title: 'Client type', show: ({ client_type }) => labelOf(CLIENT_TYPES, client_type) },
            { title: 'Grant type', show: (each) => labelOf(GRANT_TYPES, each.authorization_grant_type) },
            {
              title: 'Tokens',
              show: ({ id, summary_fields }) => (
                <Link to={`/applications/${id}/tokens`}>{summary_fields.tokens?.count ?? 0}</Link>
              ),
            },
            { title: 'Last changed', orderBy: 'modified', show: ({ modified }) => <Time value={modified} /> },
          ]}
          filters={[
            { name: 'name__icontains', label: 'Name' },
            { name: 'organization__name__icontains', label: 'Organization' },
            { name: 'client_type', label: 'Client type', choices: CLIENT_TYPES },
            { name: 'authorization_grant_type', label: 'Grant type', choices: GRANT_TYPES },
          ]}
          actions={mayCreate && <ButtonLink to="/applications/add">Create application</ButtonLink>}
          deletion={DELETION}
        />
      </PageSection>
    </>
  );
}

function fieldsOf(application?: Application): readonly FormField[] {
  return [
    { name: 'name', label: 'Name', required: true, maxLength: 255 },
    { name: 'description', label: 'Description' },
    {
      name: 'organization',
      label: 'Organization',
      kind: 'lookup',
      collection: '/api/v2/organizations/',
      required: true,
    },
    ...(application === undefined
      ? [
          {
            name: 'authorization_grant_type',
            label: 'Grant type',
            kind: 'select',
            choices: GRANT_TYPES,
            required: true,
            help: 'How users get tokens for this application. It cannot be changed later.',
          } as const,
        ]
      : []),
    {
      name: 'client_type',
      label: 'Client type',
      kind: 'select',
      choices: CLIENT_TYPES,
      required: true,
      help: 'Public if the application cannot keep a secret, as in a browser or on a phone.',
    },
    {
      name: 'redirect_uris',
      label: 'Redirect URIs',
      kind: 'textarea',
      help: 'Separated by spaces, compared exactly. Required for the grant type authorization code.',
    },
    {
      name: 'skip_authorization',
      label: 'Skip authorization',
      kind: 'checkbox',
      help: 'Users are not asked whether they allow the access. For trusted applications only.',
    },
  ];
}

/** The form for a new application. */
export function AddApplication(): ReactNode {
  const navigate = useNavigate();
  const [made, setMade] = useState<Application | null>(null);
  const initial = {
    ...{ name: '', description: '', organization: '', redirect_uris: '', skip_authorization: false },
    ...{ authorization_grant_type: 'authorization-code', client_type: 'confidential' },
  };
  const show = (id: number) => navigate(`/applications/${id}`);
  return (
    <>
      <PageHeading title="Create application" above={[['/applications', 'Applications']]} />
      <PageSection>
        <ApiForm
          fields={fieldsOf()}
          initial={initial}
          submitLabel="Create application"
          onCancel={() => void navigate('/applications')}
          send={async (values) => {
            const body = { ...values, organization: idOf(values['organization']) };
            const application = await callApi<Application>('/api/v2/applications/', { method: 'POST', body });
            if (application.client_secret === undefined) await show(application.id);
            else setMade(application);
          }}
        />
      </PageSection>
      {made !== null && (
        <SecretDialog
          title="Application created"
          secrets={[
            ['Client ID', made.client_id],
            ['Client secret', made.client_secret ?? ''],
          ]}
          onClose={() => {
            setMade(null);
            void show(made.id);
          }}
        />
      )}
    </>
  );
}

function idOf(value: string | boolean | undefined): number | null {
  return value === '' || value === undefined ? null : Number(value);
}

/** The form for an application that exists. */
export function EditApplication(): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<Application>(`/api/v2/applications/${id}/`);
  return (
    <Loaded query={query} isPage>
      {(application) => <EditForm key={application.id} application={application} />}
    </Loaded>
  );
}

function EditForm({ application }: { readonly application: Application }): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const back = `/applications/${application.id}`;
  const { name, description, client_type, redirect_uris, skip_authorization, organization } = application;
  return (
    <>
      <PageHeading
        title={`Edit ${name}`}
        above={[
          ['/applications', 'Applications'],
          [back, name],
        ]}
      />
      <PageSection>
        <ApiForm
          fields={fieldsOf(application)}
          initial={{
            name,
            description,
            client_type,
            redirect_uris,
            skip_authorization,
            organization: String(organization ?? ''),
          }}
          submitLabel="Save"
          onCancel={() => void navigate(back)}
          send={async (values) => {
            const body = { ...values, organization: idOf(values['organization']) };
            await callApi(`/api/v2/applications/${application.id}/`, { method: 'PATCH', body });
            notify(`Saved ${values['name']}.`);
            await navigate(back);
          }}
        />
      </PageSection>
    </>
  );
}

function ApplicationPage({
  children,
}: {
  readonly children: (application: Application) => ReactNode;
}): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<Application>(`/api/v2/applications/${id}/`);
  const path = `/applications/${id}`;
  return (
    <Loaded query={query} isPage>
      {(application) => (
        <>
          <PageHeading
            title={application.name}
            above={[['/applications', 'Applications']]}
            actions={<Actions application={application} />}
          />
          <LinkedTabs
            label={`About ${application.name}`}
            tabs={[
              [path, 'Details'],
              [`${path}/tokens`, 'Tokens'],
            ]}
          />
          <PageSection>{children(application)}</PageSection>
        </>
      )}
    </Loaded>
  );
}

function Actions({ application }: { readonly application: Application }): ReactNode {
  const navigate = useNavigate();
  const { edit = false, delete: remove = false } = application.summary_fields.user_capabilities ?? {};
  return (
    <Flex gap={{ default: 'gapSm' }}>
      {edit && <ButtonLink to={`/applications/${application.id}/edit`}>Edit</ButtonLink>}
      {remove && (
        <DeleteButton
          deletion={DELETION}
          rows={[application]}
          onDone={() => void navigate('/applications')}
        />
      )}
    </Flex>
  );
}

/** The details of an application. */
export function ApplicationDetails(): ReactNode {
  return (
    <ApplicationPage>
      {(application) => (
        <Facts
          facts={[
            ['Name', application.name],
            ['Description', application.description],
            [
              'Organization',
              application.organization === null ? (
                ''
              ) : (
                <Link key="organization" to={`/organizations/${application.organization}`}>
                  {application.summary_fields.organization?.name ?? application.organization}
                </Link>
              ),
            ],
            ['Client ID', <CopyText key="client" label="Client ID" value={application.client_id} />],
            ['Client type', labelOf(CLIENT_TYPES, application.client_type)],
            ['Grant type', labelOf(GRANT_TYPES, application.authorization_grant_type)],
            [
              'Redirect URIs',
              application.redirect_uris.split(/\s+/).map((uri) => <div key={uri}>{uri}</div>),
            ],
            ['Skip authorization', application.skip_authorization ? 'Yes' : 'No'],
            ['Created', <Time key="created" value={application.created} />],
            ['Last changed', <Time key="modified" value={application.modified} />],
          ]}
        />
      )}
    </ApplicationPage>
  );
}

/** The tokens of an application. */
export function ApplicationTokens(): ReactNode {
  return (
    <ApplicationPage>
      {({ id }) => (
        <TokenList
          path={`/api/v2/applications/${id}/tokens/`}
          about="application"
          createAt={`/applications/${id}/tokens/add`}
        />
      )}
    </ApplicationPage>
  );
}

/** The form for a new token of the user who is logged in, for an application. */
export function CreateApplicationToken(): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<Application>(`/api/v2/applications/${id}/`);
  return (
    <Loaded query={query} isPage>
      {(application) => (
        <CreateToken
          application={application}
          above={[
            ['/applications', 'Applications'],
            [`/applications/${id}`, application.name],
            [`/applications/${id}/tokens`, 'Tokens'],
          ]}
          back={`/applications/${id}/tokens`}
        />
      )}
    </Loaded>
  );
}

/** The users and teams with roles on an object, and the roles of a user or team. */
import {
  Button,
  Label,
  LabelGroup,
  Modal,
  ModalBody,
  ModalHeader,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
} from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { callApi, type Page, problemText, withQuery } from '@tokenctl/common/web/api.ts';
import { ApiForm } from '@tokenctl/common/web/form.tsx';
import type { FormField, FormValues } from '@tokenctl/common/web/form-fields.ts';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { type User, useApi } from '@tokenctl/common/web/queries.ts';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { mayEdit, type Named, type Shown, type Tab } from './resource-pages.tsx';

interface Role {
  readonly id: number;
  readonly name: string;
  readonly description: string;
}

/** What a role can be granted to. */
const HOLDERS = { users: ['User', 'Users'], teams: ['Team', 'Teams'] } as const;
type Kind = keyof typeof HOLDERS;

const WITH_TABS = new Set(['admin_role', 'member_role', 'auditor_role']);

export function Access(props: { readonly resource: Shown; readonly isOrganization?: boolean }): ReactNode {
  const { resource, isOrganization = false } = props;
  const { object_roles = {} } = resource.summary_fields;
  const roles = Object.entries(object_roles)
    .filter(([field]) => !isOrganization || !WITH_TABS.has(field))
    .map(([, role]) => role);
  const holders = (kind: Kind): Column<Role> => ({
    title: HOLDERS[kind][1],
    show: (role) => <Holders role={role} kind={kind} mayEdit={mayEdit(resource)} />,
  });
  return (
    <>
      <p className="page-notice">
        {isOrganization
          ? 'Members, administrators and auditors are listed in separate tabs.'
          : "Superusers and the organization's administrators have all of these roles."}
      </p>
      {mayEdit(resource) && (
        <Toolbar>
          <ToolbarContent>
            <ToolbarItem>
              <GiveRole roles={roles} />
            </ToolbarItem>
          </ToolbarContent>
        </Toolbar>
      )}
      <PlainTable
        label="roles"
        columns={[
          { title: 'Role', show: ({ name }) => name },
          { title: 'Description', show: ({ description }) => description },
          holders('users'),
          holders('teams'),
        ]}
        rows={roles}
        keyOf={({ id }) => id}
      />
    </>
  );
}

export const ACCESS: Tab<Shown> = ['access', 'Access', (resource) => <Access resource={resource} />];

const MAX_HOLDERS = 100;

function pathOf({ id }: Role, kind: Kind): string {
  return `/api/v2/roles/${id}/${kind}/`;
}

/** The users or teams with a role, each with a button that removes it. */
function Holders({ role, kind, mayEdit }: { role: Role; kind: Kind; mayEdit: boolean }): ReactNode {
  const query = withQuery(pathOf(role, kind), { page_size: MAX_HOLDERS });
  const { data, isError } = useApi<Page<Named | User>>(query);
  const takeAway = useTakeAway(role, kind);
  if (isError) return 'Access denied';
  const { results = [], count = 0 } = data ?? {};
  if (results.length === 0) return data === undefined ? '' : '—';
  return (
    <>
      <LabelGroup aria-label={`${HOLDERS[kind][1]} with the role ${role.name}`} numLabels={MAX_HOLDERS}>
        {results.map((holder) => {
          const name = holderName(holder);
          return (
            <Label
              key={holder.id}
              isCompact
              render={({ className, content }) => (
                <Link to={`/${kind}/${holder.id}`} className={className}>
                  {content}
                </Link>
              )}
              {...(mayEdit && {
                onClose: () => void takeAway(holder.id, name),
                closeBtnAriaLabel: `Remove the role ${role.name} from ${name}`,
              })}
            >
              {name}
            </Label>
          );
        })}
      </LabelGroup>
      {count > results.length && ` and ${count - results.length} more`}
    </>
  );
}

function holderName(holder: Named | User): string {
  return 'username' in holder ? holder.username : holder.name;
}

function useTakeAway(role: Role, kind: Kind): (id: number, name: string) => Promise<void> {
  const notify = useNotify();
  const queries = useQueryClient();
  return async (id, name) => {
    try {
      await callApi(pathOf(role, kind), { method: 'POST', body: { id, disassociate: true } });
      notify(`${name} no longer has the role ${role.name} here.`);
    } catch (error) {
      notify(`${name} still has the role ${role.name}: ${problemText(error)}`, 'danger');
    }
    await queries.invalidateQueries();
  };
}

function GiveRole({ roles }: { roles: readonly Role[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const notify = useNotify();
  return (
    <>
      <Button onClick={() => setOpen(true)}>Assign role</Button>
      <Modal isOpen={isOpen} variant="small" onClose={() => setOpen(false)} aria-labelledby="role-title">
        <ModalHeader title="Assign role" labelId="role-title" />
        <ModalBody>
          <ApiForm
            fields={(values) => fieldsOf(roles, values)}
            initial={{ role: String(roles[0]?.id ?? ''), kind: 'users', users: '', teams: '' }}
            submitLabel="Assign role"
            onCancel={() => setOpen(false)}
            send={async (values) => {
              const role = roles.find(({ id }) => String(id) === values['role']);
              const kind = values['kind'] === 'teams' ? 'teams' : 'users';
              if (role === undefined) return;
              await callApi(pathOf(role, kind), { method: 'POST', body: { id: Number(values[kind]) } });
              notify(`Assigned the role ${role.name}.`);
              setOpen(false);
            }}
          />
        </ModalBody>
      </Modal>
    </>
  );
}

function fieldsOf(roles: readonly Role[], values: FormValues): readonly FormField[] {
  const kind = values['kind'] === 'teams' ? 'teams' : 'users';
  return [
    {
      name: 'role',
      label: 'Role',
      kind: 'select',
      choices: roles.map(({ id, name, description }) => [String(id), `${name}: ${description}`] as const),
    },
    {
      name: 'kind',
      label: 'To',
      kind: 'select',
      choices: [
        ['users', 'A user'],
        ['teams', 'The members of a team'],
      ],
    },
    {
      name: kind,
      label: HOLDERS[kind][0],
      kind: 'lookup',
      collection: `/api/v2/${kind}/`,
      ...(kind === 'users' && { shows: 'username' }),
      required: true,
    },
  ];
}

/** A role, as in the roles of a user or team. */
interface HeldRole extends Role {
  readonly summary_fields: {
    readonly resource_name?: string;
    readonly resource_type?: string;
    readonly resource_type_display_name?: string;
    readonly resource_id?: number;
  };
}

const PAGES: Readonly<Record<string, string>> = {
  organization: '/organizations',
  team: '/teams',
  job_template: '/templates',
  inventory: '/inventories',
  project: '/projects',
  credential: '/credentials',
};

export function HeldRoles({ path }: { path: string }): ReactNode {
  return (
    <ResourceList<HeldRole>
      name="roles"
      path={path}
      columns={[
        { title: 'Object', show: roleObject },
        {
          title: 'Kind',
          show: ({ summary_fields }) => summary_fields.resource_type_display_name ?? 'System-wide',
        },
        { title: 'Role', show: ({ name }) => name },
        { title: 'Description', show: ({ description }) => description },
      ]}
      empty="Assign roles in the Access tab of a resource."
    />
  );
}

function roleObject({ summary_fields }: HeldRole): ReactNode {
  const { resource_name: name, resource_type: type = '', resource_id: id } = summary_fields;
  const page = PAGES[type];
  if (name === undefined || id === undefined) return '—';
  return page === undefined ? name : <Link to={`${page}/${id}`}>{name}</Link>;
}

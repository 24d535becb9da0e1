import { CodeBlock, CodeBlockCode, Label } from '@patternfly/react-core';
import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { Fragment, type ReactNode } from 'react';
import { Link } from 'react-router';
import { ACCESS } from './access.tsx';
import { AddMember, RemoveMember } from './members.tsx';
import { pagesOf } from './resource-forms.tsx';
import {
  mayEdit,
  type Named,
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  type Resource,
  type ResourceKind,
  tabWith,
} from './resource-pages.tsx';

interface InventoryRow extends Resource {
  readonly organization: number | null;
  readonly variables: string;
  readonly total_hosts: number;
  readonly total_groups: number;
}

interface OfInventory extends Resource {
  readonly inventory: number;
  readonly variables: string;
}

interface HostRow extends OfInventory {
  readonly enabled: boolean;
  readonly summary_fields: Resource['summary_fields'] & {
    /** The number of groups that contain it directly, and the first ones. */
    readonly groups?: { readonly count: number; readonly results: readonly Named[] };
  };
}

const VARIABLES: FormField = {
  name: 'variables',
  label: 'Variables',
  kind: 'textarea',
  help: 'A mapping in YAML or JSON, such as "ansible_host: 192.0.2.1".',
};

const INVENTORY_FIELD: FormField = {
  name: 'inventory',
  label: 'Inventory',
  kind: 'lookup',
  collection: '/api/v2/inventories/',
  required: true,
};

function variablesOf({ variables }: { variables: string }): ReactNode {
  if (variables === '') return '';
  return (
    <CodeBlock>
      <CodeBlockCode>{variables}</CodeBlockCode>
    </CodeBlock>
  );
}

const DESCRIPTION: Column<Resource> = {
  title: 'Description',
  orderBy: 'description',
  show: ({ description }) => description,
};

const HOST: ResourceKind<HostRow> = {
  noun: 'host',
  plural: 'Hosts',
  path: '/hosts',
  api: '/api/v2/hosts/',
  columns: [
    { title: 'Inventory', orderBy: 'inventory__name', show: inventoryOf },
    { title: 'State', orderBy: 'enabled', show: (host) => <HostState host={host} /> },
    { title: 'Description', show: ({ description }) => description },
  ],
  filters: [
    { name: 'inventory__name__icontains', label: 'Inventory' },
    {
      name: 'enabled',
      label: 'State',
      choices: [
        ['true', 'Enabled'],
        ['false', 'Disabled'],
      ],
    },
  ],
  facts: (host) => [
    ['Inventory', inventoryOf(host)],
    ['State', <HostState key="state" host={host} />],
    ['Groups', groupsOf(host)],
    ['Variables', variablesOf(host)],
  ],
  fields: (host) => [
    ...(host === undefined ? [INVENTORY_FIELD] : []),
    { name: 'enabled', label: 'Enabled', kind: 'checkbox', help: 'Jobs run on enabled hosts only.' },
    VARIABLES,
  ],
  values: (host) => ({ enabled: host?.enabled ?? true }),
  above: (host) => insideInventory(host, 'hosts', 'Hosts'),
};

const GROUP: ResourceKind<OfInventory> = {
  noun: 'group',
  plural: 'Groups',
  path: '/groups',
  api: '/api/v2/groups/',
  columns: [{ title: 'Inventory', orderBy: 'inventory__name', show: inventoryOf }, DESCRIPTION],
  filters: [{ name: 'inventory__name__icontains', label: 'Inventory' }],
  consequence: 'Groups and hosts that belong to no other group are also deleted.',
  facts: (group) => [
    ['Inventory', inventoryOf(group)],
    ['Variables', variablesOf(group)],
  ],
  fields: (group) => [...(group === undefined ? [INVENTORY_FIELD] : []), VARIABLES],
  tabs: [
    [
      'hosts',
      'Hosts',
      (group) => (
        <Members
          group={group}
          relation="hosts"
          kind={HOST}
          choices={`/api/v2/inventories/${group.inventory}/hosts/`}
          columns={[{ title: 'State', orderBy: 'enabled', show: (host) => <HostState host={host} /> }]}
        />
      ),
    ],
    [
      'children',
      'Child groups',
      (group) => (
        <Members
          group={group}
          relation="children"
          kind={GROUP}
          choices={`/api/v2/groups/${group.id}/potential_children/`}
          columns={[DESCRIPTION]}
        />
      ),
    ],
  ],
  above: (group) => insideInventory(group, 'groups', 'Groups'),
};

const API = '/api/v2/inventories/';

const INVENTORY: ResourceKind<InventoryRow> = {
  noun: 'inventory',
  plural: 'Inventories',
  path: '/inventories',
  api: API,
  columns: [
    ORGANIZATION,
    {
      title: 'Hosts',
      show: ({ id, total_hosts }) => <Link to={`/inventories/${id}/hosts`}>{total_hosts}</Link>,
    },
    {
      title: 'Groups',
      show: ({ id, total_groups }) => <Link to={`/inventories/${id}/groups`}>{total_groups}</Link>,
    },
  ],
  filters: [{ name: 'organization__name__icontains', label: 'Organization' }],
  consequence: 'Its hosts and groups are also deleted. Job templates that use it can no longer be launched.',
  facts: (inventory) => [
    ['Organization', organizationOf(inventory)],
    ['Hosts', inventory.total_hosts],
    ['Groups', inventory.total_groups],
    ['Variables', variablesOf(inventory)],
  ],
  fields: () => [ORGANIZATION_FIELD, VARIABLES],
  tabs: [
    tabWith({ api: API, noun: 'inventory' }, HOST),
    tabWith({ api: API, noun: 'inventory' }, GROUP),
    ACCESS,
  ],
};

/** The groups that contain a host directly: the first ones, and how many more there are. */
function groupsOf({ summary_fields: { groups } }: HostRow): ReactNode {
  if (groups === undefined || groups.count === 0) return '';
  const more = groups.count - groups.results.length;
  return (
    <>
      {groups.results.map(({ id, name }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <Link to={`/groups/${id}`}>{name}</Link>
        </Fragment>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}

/** The breadcrumb of an inventory's object: a tab of the inventory. */
function insideInventory(
  { inventory, summary_fields }: OfInventory,
  tab: string,
  title: string,
): readonly (readonly [string, string])[] {
  return [
    ['/inventories', 'Inventories'],
    [`/inventories/${inventory}`, summary_fields.inventory?.name ?? `Inventory ${inventory}`],
    [`/inventories/${inventory}/${tab}`, title],
  ];
}

function inventoryOf({ inventory, summary_fields }: OfInventory): ReactNode {
  return <Link to={`/inventories/${inventory}`}>{summary_fields.inventory?.name ?? `ID ${inventory}`}</Link>;
}

function HostState({ host: { enabled } }: { host: HostRow }): ReactNode {
  return (
    <Label isCompact color={enabled ? 'green' : 'grey'}>
      {enabled ? 'Enabled' : 'Disabled'}
    </Label>
  );
}

/** The members of a group. Users who may change the group can add and remove them. */
function Members<T extends Resource>(props: {
  readonly group: OfInventory;
  readonly relation: 'hosts' | 'children';
  readonly kind: ResourceKind<T>;
  readonly choices: string;
  readonly columns: readonly Column<T>[];
}): ReactNode {
  const { group, relation, choices, columns } = props;
  const { noun, path: page, api } = props.kind;
  const path = `/api/v2/groups/${group.id}/${relation}/`;
  const isEditable = mayEdit(group);
  return (
    <ResourceList<T>
      name={relation === 'hosts' ? 'hosts' : 'child groups'}
      path={path}
      order="name"
      columns={[
        { title: 'Name', orderBy: 'name', show: ({ id, name }) => <Link to={`${page}/${id}`}>{name}</Link> },
        ...columns,
      ]}
      filters={[{ name: 'name__icontains', label: 'Name' }]}
      isWhole
      actions={
        isEditable && (
          <AddMember
            path={path}
            title={`Add ${noun}`}
            done={`Added a ${noun} to ${group.name}.`}
            choice={{ label: noun === 'host' ? 'Host' : 'Group', collection: api, listedIn: choices }}
          />
        )
      }
      {...(isEditable && {
        rowActions: ({ id, name }: T) => (
          <RemoveMember path={path} id={id} name={name} done={`${name} is no longer in ${group.name}.`} />
        ),
      })}
    />
  );
}

export const INVENTORIES = pagesOf(INVENTORY);
export const HOSTS = pagesOf(HOST);
export const GROUPS = pagesOf(GROUP);

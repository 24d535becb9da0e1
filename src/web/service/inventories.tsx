/** Inventories and their hosts. Their groups are in groups.tsx. */
import { CodeBlock, CodeBlockCode, Label } from '@patternfly/react-core';
import { Fragment, type ReactNode } from 'react';
import { Link } from 'react-router';
import type { FormField } from '../shared/form.tsx';
import { Access } from './access.tsx';
import { AddResource, EditResource } from './resource-forms.tsx';
import {
  KindList,
  KindPage,
  type Named,
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  type Resource,
  type ResourceKind,
  ResourcePage,
} from './resource-pages.tsx';

/** An inventory as the API shows it. */
export interface InventoryRow extends Resource {
  readonly organization: number | null;
  readonly variables: string;
  readonly total_hosts: number;
  readonly total_groups: number;
}

/** What belongs to an inventory. */
export interface OfInventory extends Resource {
  readonly inventory: number;
  readonly variables: string;
}

interface HostRow extends OfInventory {
  readonly enabled: boolean;
  readonly summary_fields: Resource['summary_fields'] & {
    /** The number of the groups that hold it directly, and the first of them. */
    readonly groups?: { readonly count: number; readonly results: readonly Named[] };
  };
}

/** The field for variables. */
export const VARIABLES: FormField = {
  name: 'variables',
  label: 'Variables',
  kind: 'textarea',
  help: 'A mapping in YAML or JSON, such as "ansible_host: 192.0.2.1".',
};

/** The field for the inventory of something new. */
export const INVENTORY_FIELD: FormField = {
  name: 'inventory',
  label: 'Inventory',
  kind: 'lookup',
  collection: '/api/v2/inventories/',
  required: true,
};

/** The fact of the variables. */
export function variablesOf({ variables }: { readonly variables: string }): ReactNode {
  if (variables === '') return '';
  return (
    <CodeBlock>
      <CodeBlockCode>{variables}</CodeBlockCode>
    </CodeBlock>
  );
}

/** What the pages of inventories show. */
export const INVENTORY: ResourceKind<InventoryRow> = {
  noun: 'inventory',
  plural: 'Inventories',
  path: '/inventories',
  api: '/api/v2/inventories/',
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
  consequence:
    'Its hosts and groups are deleted with it. Job templates that use it cannot be launched any more.',
  facts: (inventory) => [
    ['Organization', organizationOf(inventory)],
    ['Hosts', inventory.total_hosts],
    ['Groups', inventory.total_groups],
    ['Variables', variablesOf(inventory)],
  ],
  fields: () => [ORGANIZATION_FIELD, VARIABLES],
  values: (inventory) => ({
    organization: String(inventory?.organization ?? ''),
    variables: inventory?.variables ?? '',
  }),
  tabs: [
    ['hosts', 'Hosts'],
    ['groups', 'Groups'],
    ['access', 'Access'],
  ],
};

/** What the pages of hosts show. */
export const HOST: ResourceKind<HostRow> = {
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
  values: (host) => ({
    ...(host === undefined && { inventory: '' }),
    enabled: host?.enabled ?? true,
    variables: host?.variables ?? '',
  }),
  above: (host) => insideInventory(host, 'hosts', 'Hosts'),
};

/** The groups that hold a host directly: the first ones, and how many more there are. */
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

/** Where something of an inventory is: in a tab of the inventory. */
export function insideInventory(
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

/** The column and the fact of the inventory. */
export function inventoryOf({ inventory, summary_fields }: OfInventory): ReactNode {
  return <Link to={`/inventories/${inventory}`}>{summary_fields.inventory?.name ?? `ID ${inventory}`}</Link>;
}

/** Whether jobs run on a host. */
export function HostState({ host: { enabled } }: { readonly host: HostRow }): ReactNode {
  return (
    <Label isCompact color={enabled ? 'green' : 'grey'}>
      {enabled ? 'Enabled' : 'Disabled'}
    </Label>
  );
}

/** The list of inventories. */
export function Inventories(): ReactNode {
  return <KindPage kind={INVENTORY} />;
}

/** The details of an inventory. */
export function InventoryDetails(): ReactNode {
  return <ResourcePage kind={INVENTORY} />;
}

/** The hosts of an inventory. */
export function InventoryHosts(): ReactNode {
  return (
    <ResourcePage kind={INVENTORY}>
      {({ id, summary_fields }) => (
        <KindList
          kind={HOST}
          api={`/api/v2/inventories/${id}/hosts/`}
          add={summary_fields.user_capabilities?.edit === true ? `/hosts/add?inventory=${id}` : null}
        />
      )}
    </ResourcePage>
  );
}

/** Who has which role of an inventory. */
export function InventoryAccess(): ReactNode {
  return <ResourcePage kind={INVENTORY}>{(inventory) => <Access resource={inventory} />}</ResourcePage>;
}

/** The form for a new inventory. */
export function AddInventory(): ReactNode {
  return <AddResource kind={INVENTORY} />;
}

/** The form for an inventory that exists. */
export function EditInventory(): ReactNode {
  return <EditResource kind={INVENTORY} />;
}

/** The hosts of all inventories. */
export function Hosts(): ReactNode {
  return <KindPage kind={HOST} />;
}

/** The details of a host. */
export function HostDetails(): ReactNode {
  return <ResourcePage kind={HOST} />;
}

/** The form for a new host. */
export function AddHost(): ReactNode {
  return <AddResource kind={HOST} />;
}

/** The form for a host that exists. */
export function EditHost(): ReactNode {
  return <EditResource kind={HOST} />;
}

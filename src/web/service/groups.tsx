/** Groups of inventories, with their hosts and child groups. */
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { type Column, ResourceList } from '../shared/list.tsx';
import {
  HOST,
  HostState,
  INVENTORY,
  INVENTORY_FIELD,
  insideInventory,
  inventoryOf,
  type OfInventory,
  VARIABLES,
  variablesOf,
} from './inventories.tsx';
import { AddMember, RemoveMember } from './members.tsx';
import { AddResource, EditResource } from './resource-forms.tsx';
import { KindList, KindPage, type Resource, type ResourceKind, ResourcePage } from './resource-pages.tsx';

const DESCRIPTION: Column<Resource> = {
  title: 'Description',
  orderBy: 'description',
  show: ({ description }) => description,
};

const GROUP: ResourceKind<OfInventory> = {
  noun: 'group',
  plural: 'Groups',
  path: '/groups',
  api: '/api/v2/groups/',
  columns: [{ title: 'Inventory', orderBy: 'inventory__name', show: inventoryOf }, DESCRIPTION],
  filters: [{ name: 'inventory__name__icontains', label: 'Inventory' }],
  consequence: 'The groups and hosts that are in no other group are deleted as well.',
  facts: (group) => [
    ['Inventory', inventoryOf(group)],
    ['Variables', variablesOf(group)],
  ],
  fields: (group) => [...(group === undefined ? [INVENTORY_FIELD] : []), VARIABLES],
  values: (group) => ({
    ...(group === undefined && { inventory: '' }),
    variables: group?.variables ?? '',
  }),
  tabs: [
    ['hosts', 'Hosts'],
    ['children', 'Child groups'],
  ],
  above: (group) => insideInventory(group, 'groups', 'Groups'),
};

/** What a group holds, with adding and removing for who may change the group. */
function Members<T extends Resource>({
  group,
  relation,
  kind: { noun, path: page, api },
  choices,
  columns,
}: {
  readonly group: OfInventory;
  readonly relation: 'hosts' | 'children';
  readonly kind: ResourceKind<T>;
  /** The list of what can be added. */
  readonly choices: string;
  readonly columns: readonly Column<T>[];
}): ReactNode {
  const path = `/api/v2/groups/${group.id}/${relation}/`;
  const mayEdit = group.summary_fields.user_capabilities?.edit === true;
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
        mayEdit && (
          <AddMember
            path={path}
            title={`Add ${noun}`}
            done={`Added a ${noun} to ${group.name}.`}
            choice={{ label: noun === 'host' ? 'Host' : 'Group', collection: api, listedIn: choices }}
          />
        )
      }
      {...(mayEdit && {
        rowActions: ({ id, name }: T) => (
          <RemoveMember path={path} id={id} name={name} done={`${name} is no longer in ${group.name}.`} />
        ),
      })}
    />
  );
}

/** The groups of an inventory. */
export function InventoryGroups(): ReactNode {
  return (
    <ResourcePage kind={INVENTORY}>
      {({ id, summary_fields }) => (
        <KindList
          kind={{ ...GROUP, columns: [DESCRIPTION], filters: [] }}
          api={`/api/v2/inventories/${id}/groups/`}
          add={summary_fields.user_capabilities?.edit === true ? `/groups/add?inventory=${id}` : null}
        />
      )}
    </ResourcePage>
  );
}

/** The groups of all inventories. */
export function Groups(): ReactNode {
  return <KindPage kind={GROUP} />;
}

/** The details of a group. */
export function GroupDetails(): ReactNode {
  return <ResourcePage kind={GROUP} />;
}

/** The hosts that a group holds directly. */
export function GroupHosts(): ReactNode {
  return (
    <ResourcePage kind={GROUP}>
      {(group) => (
        <Members
          group={group}
          relation="hosts"
          kind={HOST}
          choices={`/api/v2/inventories/${group.inventory}/hosts/`}
          columns={[{ title: 'State', orderBy: 'enabled', show: (host) => <HostState host={host} /> }]}
        />
      )}
    </ResourcePage>
  );
}

/** The groups that a group holds directly. */
export function GroupChildren(): ReactNode {
  return (
    <ResourcePage kind={GROUP}>
      {(group) => (
        <Members
          group={group}
          relation="children"
          kind={GROUP}
          choices={`/api/v2/groups/${group.id}/potential_children/`}
          columns={[DESCRIPTION]}
        />
      )}
    </ResourcePage>
  );
}

/** The form for a new group. */
export function AddGroup(): ReactNode {
  return <AddResource kind={GROUP} />;
}

/** The form for a group that exists. */
export function EditGroup(): ReactNode {
  return <EditResource kind={GROUP} />;
}

import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { ORGANIZATION_OF, type ResourceRecord, type Storage } from './resources.ts';

export type GroupRecord = ResourceRecord & { readonly inventory: number };

/** Rows `x` of main_group with their inventory `i` and its organization `o`. */
export const GROUPS: Storage = {
  table: 'main_group',
  from: sql`main_group x JOIN main_inventory i ON i.id = x.inventory_id
    LEFT JOIN main_organization o ON o.id = i.organization_id`,
  columns: sql`${ORGANIZATION_OF}, x.variables, x.inventory_id AS inventory, i.name AS inventory_name`,
  written: ['name', 'description', 'variables', 'inventory'],
  owner: 'inventory_id',
};

/** What a group can contain: hosts and other groups of its inventory. */
export type GroupRelation = 'hosts' | 'children';

/** The link tables, with their columns for the group and its members. */
const LINKS = {
  hosts: ['main_group_hosts', 'group_id', 'host_id'],
  children: ['main_group_parents', 'to_group_id', 'from_group_id'],
} as const;

/** The ids of a group's direct members, in SQL. */
export function membersOf(relation: GroupRelation, group: number): Sql {
  const [table, groups, members] = LINKS[relation].map(identifier);
  return sql`SELECT ${members} FROM ${table} WHERE ${groups} = ${group}`;
}

/** The ids of the groups that contain a host, in SQL; with `all`, also through other groups. */
export function groupsOfHost(host: number, which: 'direct' | 'all' = 'direct'): Sql {
  const direct = sql`SELECT l.group_id FROM main_group_hosts l WHERE l.host_id = ${host}`;
  if (which === 'direct') return direct;
  // The parents of all direct groups first, in one query: most have none.
  return sql`${direct} UNION ALL (WITH RECURSIVE near (id) AS (
      SELECT p.to_group_id FROM main_group_parents p WHERE p.from_group_id = ANY(ARRAY(${direct}))
      UNION SELECT p.to_group_id FROM main_group_parents p JOIN near n ON p.from_group_id = n.id)
    SELECT id FROM near)`;
}

interface Pair {
  readonly group: number;
  readonly member: number;
}

/** Adds a host or a group to a group, or removes it. Returns whether anything changed. */
export function changeMember(
  transaction: Queryable,
  relation: GroupRelation,
  { group, member, operation }: Pair & { operation: 'associate' | 'disassociate' },
): Promise<boolean> {
  const [table, groups, members] = LINKS[relation].map(identifier);
  const change =
    operation === 'associate'
      ? sql`INSERT INTO ${table} (${groups}, ${members}) VALUES (${group}, ${member}) ON CONFLICT DO NOTHING`
      : sql`DELETE FROM ${table} WHERE ${groups} = ${group} AND ${members} = ${member}`;
  return change.touchesOne(transaction);
}

/** The ids of a group and of all groups below or above it, in SQL. */
export function groupsAround(id: number, direction: 'below' | 'above'): Sql {
  const [from, to] =
    direction === 'below' ? [sql`to_group_id`, sql`from_group_id`] : [sql`from_group_id`, sql`to_group_id`];
  // Recursive only where there are further groups: most groups contain none.
  return sql`(WITH RECURSIVE near (id) AS (
      SELECT ${id}::integer
      UNION SELECT p.${to} FROM main_group_parents p JOIN near n ON p.${from} = n.id
      WHERE p.${to} IN (SELECT q.${from} FROM main_group_parents q))
    SELECT id FROM near UNION ALL
    SELECT p.${to} FROM main_group_parents p WHERE p.${from} = ANY(ARRAY(SELECT id FROM near)))`;
}

/** Whether a group would contain itself if it had another one as a child. */
export function wouldBeCyclical(transaction: Queryable, { group, member }: Pair): Promise<boolean> {
  return sql`SELECT WHERE ${group}::integer IN ${groupsAround(member, 'below')}`.exists(transaction);
}

/** Blocks changes of an inventory's groups until the transaction ends. */
export async function lockGroups(transaction: Queryable, inventory: number): Promise<void> {
  await sql`SELECT FROM main_inventory WHERE id = ${inventory} FOR UPDATE`.rows(transaction);
}

/** The id of the host or group with this name in an inventory, or null. */
export async function findInInventory(
  database: Queryable,
  table: 'main_host' | 'main_group',
  of: { readonly name: string; readonly inventory: number },
): Promise<number | null> {
  const row = await sql`SELECT id FROM ${identifier(table)}
    WHERE name = ${of.name} AND inventory_id = ${of.inventory}`.first<{ id: number }>(database);
  return row?.id ?? null;
}

/** Deletes the groups and hosts that only this group contains, directly or through others, but not the group. */
export async function deleteHeldOnlyBy(transaction: Queryable, id: number): Promise<void> {
  const links = await sql`SELECT p.to_group_id AS parent, p.from_group_id AS child FROM main_group_parents p
    WHERE p.from_group_id IN ${groupsAround(id, 'below')}
    AND p.from_group_id <> ${id}`.rows<{ parent: number; child: number }>(transaction);
  const gone = new Set([id]);
  // Iterating a set includes values that are added meanwhile.
  for (const parent of gone) {
    for (const { child } of links.filter((link) => link.parent === parent)) {
      if (links.every((link) => link.child !== child || gone.has(link.parent))) gone.add(child);
    }
  }
  const ids = [...gone];
  await sql`DELETE FROM main_host h
    WHERE EXISTS (SELECT FROM main_group_hosts l
    WHERE l.host_id = h.id AND l.group_id = ANY(${ids}::integer[]))
      AND NOT EXISTS (SELECT FROM main_group_hosts l
      WHERE l.host_id = h.id AND NOT l.group_id = ANY(${ids}::integer[]))`.execute(transaction);
  await sql`DELETE FROM main_group WHERE id = ANY(${ids}::integer[]) AND id <> ${id}`.execute(transaction);
}

/** An inventory as Ansible needs it, with names instead of ids. */
export interface InventoryContent {
  readonly variables: string;
  readonly hosts: readonly {
    readonly id: number;
    readonly name: string;
    readonly variables: string;
    readonly enabled: boolean;
  }[];
  readonly groups: readonly {
    readonly name: string;
    readonly variables: string;
    /** The names of the group's hosts that are in `hosts`. */
    readonly hosts: readonly string[];
    readonly children: readonly string[];
  }[];
}

/** The content of an inventory: its enabled hosts, or every host with `all`. */
export async function inventoryContent(
  database: Queryable,
  id: number,
  { all = false }: { all?: boolean } = {},
): Promise<InventoryContent> {
  const [inventory] = await sql`SELECT variables FROM main_inventory
    WHERE id = ${id}`.rows<{ variables: string }>(database);
  const hosts = await sql`SELECT id, name, variables, enabled FROM main_host
    WHERE inventory_id = ${id} AND (enabled OR ${all}::boolean)
    ORDER BY name`.rows<InventoryContent['hosts'][number]>(database);
  const groups = await sql`SELECT g.name, g.variables,
      ARRAY(SELECT h.name FROM main_group_hosts l JOIN main_host h ON h.id = l.host_id
        WHERE l.group_id = g.id ORDER BY h.name)::text[] AS hosts,
      ARRAY(SELECT c.name FROM main_group_parents p JOIN main_group c ON c.id = p.from_group_id
        WHERE p.to_group_id = g.id ORDER BY c.name)::text[] AS children
    FROM main_group g WHERE g.inventory_id = ${id}
    ORDER BY g.name`.rows<InventoryContent['groups'][number]>(database);
  // Groups omit disabled hosts and hosts that were added between the statements.
  const names = new Set(hosts.map(({ name }) => name));
  return {
    variables: inventory?.variables ?? '',
    hosts,
    groups: groups.map((group) => ({ ...group, hosts: group.hosts.filter((name) => names.has(name)) })),
  };
}

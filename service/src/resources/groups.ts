import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { type Exchange, type Handler, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid } from '../failure.ts';
import { declared } from '../listing/fields.ts';
import { groupNameProblem } from '../playbooks/variables.ts';
import { jsonObject } from '../request.ts';
import { linkChange } from '../store/activity.ts';
import {
  changeMember,
  deleteHeldOnlyBy,
  findInInventory,
  GROUPS,
  type GroupRecord,
  type GroupRelation,
  groupsAround,
  groupsOfHost,
  lockGroups,
  membersOf,
  wouldBeCyclical,
} from '../store/groups.ts';
import { heldRoles } from '../store/object-roles.ts';
import { findResource, type ResourceRecord } from '../store/resources.ts';
import { addresses, type Kind } from './kind.ts';
import { create, removeResource, serveKind, withOwner } from './named-resources.ts';
import { idIn } from './request-values.ts';
import { fields, logChange, nameAndDescription } from './resource.ts';
import {
  BY_INVENTORY,
  HOST,
  INVENTORY,
  INVENTORY_RELATION,
  inInventory,
  relationToMany,
  requireOtherName,
  VARIABLES,
} from './resource-kinds.ts';
import { listKind, mayChangeSeen, ofSeen } from './seen-resources.ts';

/** Groups of inventories, which contain hosts and other groups. */
export const GROUP: Kind<GroupRecord> = {
  type: 'group',
  path: '/api/v2/groups/',
  label: 'Group',
  plural: 'Groups',
  about: {
    list: 'The groups of the inventories that you can see.',
    one: 'One group, by ID or by NAME++INVENTORY++ORGANIZATION. DELETE also deletes groups and hosts that belong to no other group. To keep them, remove the group from groups/ of its inventory.',
  },
  storage: GROUPS,
  ...BY_INVENTORY,
  fields: fields(
    'group',
    {
      ...nameAndDescription('group', { check: groupNameProblem }),
      ...declared('x', { inventory: inInventory('group'), variables: VARIABLES }),
    },
    {
      inventory: INVENTORY_RELATION,
      hosts: relationToMany(
        sql`main_group_hosts l JOIN main_host r ON r.id = l.host_id`,
        sql`l.group_id = x.id`,
      ),
      children: relationToMany(
        sql`main_group_parents l JOIN main_group r ON r.id = l.from_group_id`,
        sql`l.to_group_id = x.id`,
      ),
      parents: relationToMany(
        sql`main_group_parents l JOIN main_group r ON r.id = l.to_group_id`,
        sql`l.from_group_id = x.id`,
      ),
    },
  ),
  nameTaken: { __all__: ['Group with this Name and Inventory already exists.'] },
  namedBy: ['name', 'inventory_name', 'organization_name'],
  related: (url) =>
    addresses(url, [
      ...['variable_data', 'hosts', 'potential_children', 'children', 'all_hosts', 'activity_stream'],
    ]),
  async prepare(exchange, transaction, wanted) {
    await withOwner(GROUP, exchange, transaction, wanted);
    await requireOtherName(transaction, wanted, 'host');
    return wanted.values;
  },
  removing: (_exchange, transaction, { id }) => deleteHeldOnlyBy(transaction, id),
};

/** `/api/v2/groups/`, and the groups and hosts of groups, of hosts and of inventories. */
export function serveGroups(app: FastifyInstance, service: ServiceContext): void {
  serveKind(app, service, GROUP);
  serveMembers(app, service, 'hosts');
  serveMembers(app, service, 'children');
  serveOfInventory(app, service, HOST, 'main_host');
  serveOfInventory(app, service, GROUP, 'main_group');
  serveEndpoint(app, service, {
    path: `${HOST.path}:id/groups/`,
    name: 'Groups of a host',
    description:
      'The groups that contain this host directly. POST {"id": N} adds the host to a group, or with "disassociate": true removes it. POST without an ID creates a group that contains it.',
    fields: GROUP.fields,
    attaches: true,
    allows: (exchange) => mayChangeSeen(exchange, HOST),
    handlers: {
      GET: ofSeen(HOST, (exchange, { id }) => listKind(exchange, GROUP, { among: groupsOfHost(id) })),
      POST: ofSeen(HOST, changeGroupsOfHost),
    },
  });
  listOnly(app, service, `${HOST.path}:id/all_groups/`, {
    name: 'All groups of a host',
    description: 'The groups that contain this host, directly or through other groups.',
    list: ofSeen(HOST, (exchange, { id, inventory }) =>
      listKind(exchange, GROUP, { among: groupsOfHost(id, 'all') }, inSeen(inventory)),
    ),
  });
  listOnly(app, service, `${GROUP.path}:id/all_hosts/`, {
    name: 'All hosts of a group',
    description: 'The hosts in this group and in the groups below it.',
    fields: HOST.fields,
    list: ofSeen(GROUP, (exchange, { id, inventory }) => {
      const among = sql`SELECT l.host_id FROM main_group_hosts l
        WHERE l.group_id = ANY(ARRAY${groupsAround(id, 'below')})`;
      return listKind(exchange, HOST, { among }, inSeen(inventory));
    }),
  });
  listOnly(app, service, `${GROUP.path}:id/potential_children/`, {
    name: 'Groups that can be added to a group',
    description: 'The groups of the inventory that are neither above nor below this group.',
    list: ofSeen(GROUP, (exchange, { id }) => {
      const [below, above] = [groupsAround(id, 'below'), groupsAround(id, 'above')];
      // NOT IN would read the list again for each group if the planner expects a long one.
      const free = sql`x.inventory_id = (SELECT g.inventory_id FROM main_group g WHERE g.id = ${id})
        AND NOT EXISTS (SELECT FROM ${below} n WHERE n.id = x.id) AND NOT EXISTS (SELECT FROM ${above} n WHERE n.id = x.id)`;
      return listKind(exchange, GROUP, free);
    }),
  });
  listOnly(app, service, `${INVENTORY.path}:id/root_groups/`, {
    name: 'Root groups of an inventory',
    description: 'The groups of this inventory that belong to no other group.',
    list: ofSeen(INVENTORY, (exchange, { id }) => {
      const roots = sql`x.inventory_id = ${id}
        AND NOT EXISTS (SELECT FROM main_group_parents p WHERE p.from_group_id = x.id)`;
      return listKind(exchange, GROUP, roots);
    }),
  });
}

function listOnly(
  app: FastifyInstance,
  service: ServiceContext,
  path: string,
  { list, ...about }: { name: string; description: string; fields?: Kind['fields']; list: Handler },
): void {
  serveEndpoint(app, service, { path, fields: GROUP.fields, ...about, handlers: { GET: list } });
}

/** `hosts/` or `children/` of a group. */
function serveMembers(app: FastifyInstance, service: ServiceContext, relation: GroupRelation): void {
  const kind: Kind<ResourceRecord> = relation === 'hosts' ? HOST : GROUP;
  const some = relation === 'hosts' ? 'hosts' : 'groups';
  serveEndpoint(app, service, {
    path: `${GROUP.path}:id/${relation}/`,
    name: relation === 'hosts' ? 'Hosts of a group' : 'Groups in a group',
    description: `The ${some} that this group contains directly. POST {"id": N} adds one from its inventory, or with "disassociate": true removes it. POST without an ID creates one.`,
    fields: kind.fields,
    attaches: true,
    allows: (exchange) => mayChangeSeen(exchange, GROUP),
    handlers: {
      GET: ofSeen(GROUP, (exchange, { id }) => listKind(exchange, kind, { among: membersOf(relation, id) })),
      POST: ofSeen(GROUP, (exchange, group) => changeMembers(exchange, group, { relation, kind })),
    },
  });
}

/** Adds a host or a group to a group, removes it, or creates it there. */
async function changeMembers(
  exchange: Exchange,
  group: GroupRecord,
  { relation, kind }: { relation: GroupRelation; kind: Kind<ResourceRecord> },
) {
  const { inventory } = group;
  const { body, operation, named } = askedIn(exchange, kind.type);
  const id = named ?? (await hostToAdd(exchange, relation, { body, inventory }));
  return changeNamed(exchange, { kind, inventory, id }, (transaction, member) =>
    changeLink(exchange, transaction, relation, { group: group.id, member, operation }),
  );
}

/** The host to add. POST of an existing host with only its name adds it, as on the controller. */
async function hostToAdd(
  { service }: Exchange,
  relation: GroupRelation,
  { body, inventory }: { body: Readonly<Record<string, unknown>>; inventory: number },
): Promise<number | null> {
  const { name, variables = '' } = body;
  if (relation !== 'hosts' || typeof name !== 'string') return null;
  if (!['', '{}', '---'].includes(String(variables))) return null;
  return findInInventory(service.database, 'main_host', { name, inventory });
}

function changeGroupsOfHost(exchange: Exchange, host: ResourceRecord): Promise<unknown> {
  const { inventory = 0 } = host;
  const { operation, named: id } = askedIn(exchange, 'group');
  return changeNamed(exchange, { kind: GROUP, inventory, id }, (transaction, group) =>
    changeLink(exchange, transaction, 'hosts', { group, member: host.id, operation }),
  );
}

type Operation = 'associate' | 'disassociate';

/** What a body asks for, and the id in it; null for a new object. Throws 400. */
function askedIn({ request }: Exchange, noun: string) {
  const body = jsonObject(request);
  const operation: Operation = 'disassociate' in body ? 'disassociate' : 'associate';
  const named = idIn(body, noun);
  if (named === null && operation === 'disassociate')
    throw invalid({ msg: '"id" is required to disassociate.' });
  return { body, operation, named };
}

/** Runs a change with an object of an inventory, or with a new one, in one transaction. Throws 400, 403. */
async function changeNamed<R extends ResourceRecord>(
  exchange: Exchange,
  { kind, inventory, id }: { kind: Kind<R>; inventory: number; id: number | null },
  change: (transaction: Queryable, id: number) => Promise<void>,
): Promise<unknown> {
  if (id === null)
    return create(exchange, kind, { inventory }, (transaction, made) => change(transaction, made.id));
  return exchange.service.database.transaction(async (transaction) => {
    await requireOfInventory(exchange, transaction, { kind, member: id, inventory });
    await change(transaction, id);
  });
}

/** Throws 403 unless the caller may change an inventory, and 400 unless the inventory has the host or group. */
async function requireOfInventory<R extends ResourceRecord>(
  { caller }: Exchange,
  transaction: Queryable,
  { kind, member, inventory }: { kind: Kind<R>; member: number; inventory: number },
): Promise<void> {
  await lockGroups(transaction, inventory);
  const owner = await findResource(transaction, INVENTORY.storage, inventory);
  const held = await heldRoles(transaction, caller.user);
  if (owner === null || !INVENTORY.mayChange(caller.user, held, owner)) throw forbidden();
  const found = await findResource<R>(transaction, kind.storage, member);
  // A resource that the caller may not see counts as missing.
  if (found === null || !kind.mayChange(caller.user, held, found)) {
    throw badRequest(`No ${kind.type} has the ID ${member}.`);
  }
  if (found.inventory !== inventory) {
    throw badRequest('Cannot associate two items from different inventories.');
  }
}

/** Changes the members of a group, with an activity stream entry. Throws 400 for a cycle. */
async function changeLink(
  exchange: Exchange,
  transaction: Queryable,
  relation: GroupRelation,
  change: { readonly group: number; readonly member: number; readonly operation: Operation },
): Promise<void> {
  const { group, member, operation } = change;
  if (relation === 'children' && operation === 'associate' && (await wouldBeCyclical(transaction, change))) {
    throw invalid({ error: 'Cyclical Group association.' });
  }
  if (!(await changeMember(transaction, relation, change))) return;
  const relationship = `awx.main.models.inventory.Group_${relation === 'hosts' ? 'hosts' : 'parents'}`;
  await logChange(exchange, transaction, {
    ...linkChange(operation, relationship, [
      ['group', group],
      [relation === 'hosts' ? 'host' : 'group', member],
    ]),
    relationship,
    resource: { type: 'group', id: group },
    ...(relation === 'hosts' && { withHost: member }),
  });
}

/** `hosts/` or `groups/` of an inventory. Removing one deletes it; the members of a deleted group stay. */
function serveOfInventory<R extends ResourceRecord>(
  app: FastifyInstance,
  service: ServiceContext,
  kind: Kind<R>,
  table: 'main_host' | 'main_group',
): void {
  const some = kind.plural.toLowerCase();
  serveEndpoint(app, service, {
    path: `${INVENTORY.path}:id/${some}/`,
    name: `${kind.plural} of an inventory`,
    description: `The ${some} of this inventory. POST adds one; POST {"id": N, "disassociate": true} deletes one${
      table === 'main_group' ? ', but keeps the groups and hosts in it' : ''
    }.`,
    fields: kind.fields,
    attaches: true,
    allows: (exchange) => mayChangeSeen(exchange, INVENTORY),
    handlers: {
      GET: ofSeen(INVENTORY, (exchange, { id }) => listKind(exchange, kind, sql`x.inventory_id = ${id}`)),
      POST: ofSeen(INVENTORY, (exchange, { id: inventory }) => {
        const { operation, named: id } = askedIn(exchange, kind.type);
        return changeNamed(exchange, { kind, inventory, id }, async (transaction, member) => {
          if (operation === 'disassociate') await removeResource(exchange, transaction, kind, { id: member });
        });
      }),
    },
  });
}

/** The hosts and groups in a resource's inventory, all of which the caller sees: groups stay within an inventory. */
function inSeen(inventory: number | undefined): Sql {
  return sql`x.inventory_id = ${inventory ?? 0}`;
}

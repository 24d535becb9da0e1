import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, notFound } from '../failure.ts';
import { lastValue } from '../listing/filters.ts';
import { writeVariables } from '../playbooks/variables.ts';
import { StoredVariables, storedVariables } from '../playbooks/variables-pace.ts';
import { jsonObject, parseTarget } from '../request.ts';
import { type InventoryContent, inventoryContent } from '../store/groups.ts';
import type { ResourceRecord } from '../store/resources.ts';
import { GROUP } from './groups.ts';
import type { Kind } from './kind.ts';
import { changeResource } from './named-resources.ts';
import { HOST, INVENTORY } from './resource-kinds.ts';
import { mayChangeSeen, ofSeen, seenResource } from './seen-resources.ts';

/** `inventories/N/script/`, from which Ansible reads an inventory, and `variable_data/` of inventories, hosts and groups. */
export function serveInventoryScript(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: `${INVENTORY.path}:id/script/`,
    name: 'Inventory script',
    description:
      'The inventory as an Ansible dynamic inventory: the enabled hosts, or with "all" every host; with "hostvars" also their variables; with "towervars" also their IDs and whether they are enabled. With "host", the variables of that host.',
    handlers: { GET: ofSeen(INVENTORY, showScript) },
  });
  serveVariables(app, service, INVENTORY);
  serveVariables(app, service, HOST);
  serveVariables(app, service, GROUP as unknown as Kind<ResourceRecord>);
}

function serveVariables(app: FastifyInstance, service: ServiceContext, kind: Kind<ResourceRecord>): void {
  const change = async (exchange: Exchange) => {
    const { request, reply } = exchange;
    if (!(await mayChangeSeen(exchange, kind))) throw forbidden();
    const { id } = await seenResource(exchange, kind);
    const body = { variables: writeVariables(jsonObject(request)) };
    const { variables = '' } = await changeResource(exchange, kind, { id, method: 'PATCH', body });
    return reply.send(storedVariables(variables));
  };
  serveEndpoint(app, service, {
    path: `${kind.path}:id/variable_data/`,
    name: `Variables of the ${kind.type}`,
    description: `The variables of this ${kind.type} as an object. PUT and PATCH replace all of them.`,
    allows: (exchange) => mayChangeSeen(exchange, kind),
    handlers: {
      // Sent as they are: a variable named `url` is not an API address.
      GET: ofSeen(kind, ({ reply }, { variables = '' }) => reply.send(storedVariables(variables))),
      PUT: change,
      PATCH: change,
    },
  });
}

async function showScript({ service, request, reply }: Exchange, { id }: { id: number }): Promise<unknown> {
  const query = new URLSearchParams(parseTarget(request.url).query);
  const given = (name: string) => lastValue(query, name) ?? '';
  if (given('subset') !== '') throw badRequest('This service does not slice inventories.');
  const content = await inventoryContent(service.database, id, { all: given('all') !== '' });
  const host = given('host');
  if (host === '') {
    const hostvars = given('hostvars') !== '';
    return reply.send(await script(content, { hostvars, towervars: given('towervars') !== '' }));
  }
  const found = content.hosts.find(({ name }) => name === host);
  if (found === undefined) throw notFound();
  return reply.send(storedVariables(found.variables));
}

/** An inventory in the format of Ansible's dynamic inventories. Empty parts are omitted, as on the controller. */
async function script(
  { variables, hosts, groups }: InventoryContent,
  { hostvars, towervars }: { hostvars: boolean; towervars: boolean },
): Promise<Record<string, unknown>> {
  const stored = new StoredVariables();
  const grouped = new Set(groups.flatMap((group) => group.hosts));
  const names = groups.map(({ name }) => name);
  const all = {
    ...named('vars', await stored.read(variables)),
    hosts: hosts.map(({ name }) => name).filter((name) => !grouped.has(name)),
    ...named('children', names),
  };
  const members: [string, object][] = [];
  for (const group of groups) {
    const content = {
      ...named('hosts', group.hosts),
      ...named('children', group.children),
      ...named('vars', await stored.read(group.variables)),
    };
    if (Object.keys(content).length > 0) members.push([group.name, content]);
  }
  const ofHosts: [string, object][] = [];
  for (const { name, id, enabled, ...host } of hostvars ? hosts : []) {
    const ids = {
      remote_host_enabled: String(enabled),
      remote_host_id: id,
      remote_tower_enabled: String(enabled),
      remote_tower_id: id,
    };
    ofHosts.push([name, { ...(await stored.read(host.variables)), ...(towervars && ids) }]);
  }
  return {
    all,
    ...Object.fromEntries(members),
    ...(hostvars && { _meta: { hostvars: Object.fromEntries(ofHosts) } }),
  };
}

function named(name: string, value: object): Record<string, unknown> {
  return Object.keys(value).length === 0 ? {} : { [name]: value };
}

import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { type AskedRole, canCreate, hasRole, type SharedType, visibleObjects } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound, RequestFailure } from '../failure.ts';
import { allOf, type Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { playbooksIn, projectFolders } from '../playbooks/projects-folder.ts';
import { readVariables, writeVariables } from '../playbooks/variables.ts';
import { jsonObject } from '../request.ts';
import { heldRoles } from '../store/object-roles.ts';
import { findOrganization } from '../store/organizations.ts';
import {
  activeJobs,
  deleteResource,
  findInventory,
  findResource,
  findResourceId,
  hasJobTemplates,
  insertResource,
  lockHostLimit,
  lockProjectFolders,
  lockResource,
  type ResourceRecord,
  resourceColumns,
  resourceFrom,
  updateResource,
} from '../store/resources.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { asked, type Resource, renderer } from './named-resource-json.ts';
import { namesIn, pathId } from './request-values.ts';
import { changedValues, logChange } from './resource.ts';
import { HOST, INVENTORY, KINDS, type Kind, PROJECT } from './resource-kinds.ts';
import { roleFields, roleOfField } from './role-texts.ts';

/** `/api/v2/inventories/`, `/hosts/`, `/credentials/` and `/projects/`, each with its `N/`. */
export function serveNamedResources(app: FastifyInstance, service: ServiceContext): void {
  for (const kind of KINDS) {
    const { path, plural, fields } = kind;
    serveEndpoint(app, service, {
      path,
      name: plural,
      description: `The ${plural.toLowerCase()} of the organizations that you administer or audit.`,
      fields,
      ...(kind !== HOST && { objectRoles: roleFields(kind.type as SharedType) }),
      allows: async ({ service, caller }) =>
        canCreate(caller.user, kind.type, await heldRoles(service.database, caller.user)),
      handlers: { GET: (exchange) => listKind(exchange, kind), POST: (exchange) => create(exchange, kind) },
    });
    serveEndpoint(app, service, {
      path: `${path}:id/`,
      name: kind.label,
      description: `One of the ${plural.toLowerCase()}, by id or by its named URL.`,
      fields,
      ...(kind !== HOST && { objectRoles: roleFields(kind.type as SharedType) }),
      allows: (exchange) => mayChange(exchange, kind),
      handlers: {
        GET: async (exchange) => shown(exchange, kind, await seenResource(exchange, kind)),
        PUT: (exchange) => change(exchange, kind, 'PUT'),
        PATCH: (exchange) => change(exchange, kind, 'PATCH'),
        DELETE: (exchange) => remove(exchange, kind),
      },
    });
  }
  serveEndpoint(app, service, {
    path: `${INVENTORY.path}:id/hosts/`,
    name: 'Hosts of an inventory',
    description: 'The hosts of this inventory. POST adds one.',
    fields: HOST.fields,
    allows: (exchange) => mayChange(exchange, INVENTORY),
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenResource(exchange, INVENTORY);
        return listKind(exchange, HOST, (first) => ({ sql: `x.inventory_id = $${first}`, values: [id] }));
      },
      POST: async (exchange) =>
        create(exchange, HOST, { inventory: (await seenResource(exchange, INVENTORY)).id }),
    },
  });
  serveEndpoint(app, service, {
    path: `${PROJECT.path}:id/playbooks/`,
    name: 'Playbooks of a project',
    description: 'The paths of the playbooks in the folder of this project.',
    handlers: {
      GET: async (exchange) => {
        const { local_path = '' } = await seenResource(exchange, PROJECT);
        return playbooksIn(exchange.service.jobs.projects, local_path);
      },
    },
  });
}

async function listKind(
  exchange: Exchange,
  kind: Kind,
  condition: (first: number) => Condition = () => ({ sql: 'TRUE', values: [] }),
): Promise<unknown> {
  const { service, caller } = exchange;
  const held = await heldRoles(service.database, caller.user);
  const render = await renderer(exchange, kind, { held });
  const rows = {
    ...(kind === HOST
      ? ({ type: 'inventory', id: 'x.inventory_id' } as const)
      : { type: kind.type as SharedType, id: 'x.id' }),
    organization: kind.organization,
  };
  return list<ResourceRecord>(exchange, {
    fields: kind.fields,
    columns: resourceColumns(kind.type),
    from: resourceFrom(kind.type),
    visible: allOf(visibleObjects(caller.user, held, rows), condition),
    ...(kind !== HOST && {
      withRole: (field, first) => {
        const role = roleOfField(rows.type, field);
        return role === null ? null : visibleObjects(caller.user, held, { ...rows, role, first });
      },
    }),
    render,
  });
}

/** The resource that the path names. Throws 404, or 403 if the caller may not see it. */
export async function seenResource(exchange: Exchange, kind: Kind): Promise<ResourceRecord> {
  const { service, caller } = exchange;
  const resource = await findResource(service.database, kind.type, await resourceId(exchange, kind));
  if (resource === null) throw notFound();
  const held = await heldRoles(service.database, caller.user);
  if (!hasRole(caller.user, held, asked(kind, resource, 'read'))) throw forbidden();
  return resource;
}

async function resourceId({ service, params, request }: Exchange, kind: Kind): Promise<number> {
  const { id = '' } = params;
  if (/^\d+$/.test(id)) return pathId(id);
  const name = kind.nameIn(namesIn(request.url) ?? []);
  const found = name === null ? null : await findResourceId(service.database, kind.type, name);
  if (found === null) throw notFound();
  return found;
}

async function shown(exchange: Exchange, kind: Kind, resource: ResourceRecord): Promise<unknown> {
  const held = await heldRoles(exchange.service.database, exchange.caller.user);
  return (await renderer(exchange, kind, { held, detail: true }))(resource);
}

/** The values that a request may write, with those before it. */
type Values = Readonly<Record<string, unknown>> & {
  readonly name?: unknown;
  readonly organization?: number | null;
  readonly inventory?: number | null;
  readonly local_path?: string;
};

const BLANK: Values = {
  name: '',
  description: '',
  variables: '',
  enabled: true,
  inventory: null,
  organization: null,
  local_path: '',
};

/** The values of the fields that may be written: on creation all, later those that may change. */
function writable(kind: Kind, from: Values, isNew: boolean): Values {
  const names = Object.entries(kind.fields.fields).filter(
    ([, { writable: when }]) => when === 'change' || (isNew && when === 'create'),
  );
  return Object.fromEntries(names.map(([name]) => [name, from[name]]));
}

/**
 * POST: adds a resource to an organization that the caller administers.
 *
 * @param given What the path says.
 * @throws RequestFailure 400 by field, 403
 */
async function create(exchange: Exchange, kind: Kind, given: Values = {}): Promise<unknown> {
  const { service, request, reply } = exchange;
  const problems: Problems = {};
  const current = writable(kind, BLANK, true);
  const body = { ...jsonObject(request), ...given };
  const read = readFields(kind.fields, body, { current, method: 'POST', problems });
  const values = kind === HOST ? splitPort(read, problems) : read;
  await requireOwner(exchange, values, { kind, problems, before: null });
  const at = service.now();
  const id = await service.database.transaction(async (transaction) => {
    await requireFreeFolder(exchange, transaction, { folder: values.local_path, before: '' });
    if (kind === HOST) await requireRoom(transaction, values.inventory ?? 0);
    const made = await insertResource(transaction, kind.type, { values, at });
    if (made === null) throw invalid({ __all__: [kind.nameTaken] });
    const changes = await facts(transaction, kind, made);
    await log(exchange, transaction, kind, {
      operation: 'create',
      id: made,
      changes: { ...changes, id: made },
    });
    return made;
  });
  const made = await findResource(service.database, kind.type, id);
  if (made === null) throw notFound();
  reply.code(201).header('Location', `${kind.path}${id}/`);
  return shown(exchange, kind, made);
}

/** PUT and PATCH. Throws 400 by field, 403, 404. */
async function change(exchange: Exchange, kind: Kind, method: 'PUT' | 'PATCH'): Promise<unknown> {
  const { service, request } = exchange;
  const before = await changeable(exchange, kind);
  const problems: Problems = {};
  const body = jsonObject(request);
  if (kind === HOST && (body['inventory'] ?? before.inventory) !== before.inventory) {
    throw forbidden('Unable to change inventory on a host.');
  }
  const current = writable(kind, before as unknown as Values, false);
  // The controller keeps the organization of a PUT that does not name one.
  const named = method === 'PUT' && 'organization' in current ? { organization: before.organization } : {};
  const read = readFields(kind.fields, { ...named, ...body }, { current, method, problems });
  const values = kind === HOST ? splitPort(read, problems) : read;
  await requireOwner(exchange, values, { kind, problems, before });
  await service.database.transaction(async (transaction) => {
    const locked = await lockResource(transaction, kind.type, before.id);
    if (locked === null) throw notFound();
    await requireAdmin(exchange, transaction, asked(kind, locked, 'admin'));
    await requireFreeFolder(exchange, transaction, {
      folder: values.local_path,
      before: locked.local_path ?? '',
    });
    const old = await facts(transaction, kind, before.id);
    const at = service.now();
    if (!(await updateResource(transaction, kind.type, { id: before.id, values, at }))) {
      throw invalid({ __all__: [kind.nameTaken] });
    }
    const changes = changedValues(Object.keys(old), old, await facts(transaction, kind, before.id));
    if (Object.keys(changes).length === 0) return;
    await log(exchange, transaction, kind, { operation: 'update', id: before.id, changes });
  });
  return shown(exchange, kind, await seenResource(exchange, kind));
}

/** DELETE. The controller answers 202 for an inventory, which it deletes later. Throws 403, 404, 409. */
async function remove(exchange: Exchange, kind: Kind): Promise<unknown> {
  const { service, reply } = exchange;
  const { id } = await changeable(exchange, kind);
  await service.database.transaction(async (transaction) => {
    const changes = await facts(transaction, kind, id);
    if (kind.usedBy !== undefined) await requireUnused(transaction, kind.usedBy, id);
    if (!(await deleteResource(transaction, kind.type, id))) throw notFound();
    await log(exchange, transaction, kind, { operation: 'delete', changes: { ...changes, id } });
  });
  return kind === INVENTORY ? reply.code(202).send() : undefined;
}

/** Throws 409 while jobs run with a resource, as the controller does. */
export async function requireUnused(
  transaction: Queryable,
  column: Parameters<typeof activeJobs>[1],
  id: number,
): Promise<void> {
  const active = await activeJobs(transaction, column, id);
  if (active.length === 0) return;
  throw new RequestFailure(409, {
    error: 'Resource is being used by running jobs.',
    active_jobs: active,
  });
}

async function mayChange(exchange: Exchange, kind: Kind): Promise<boolean> {
  const { service, caller } = exchange;
  const resource = await seenResource(exchange, kind);
  return hasRole(caller.user, await heldRoles(service.database, caller.user), asked(kind, resource, 'admin'));
}

async function requireAdmin({ caller }: Exchange, database: Queryable, role: AskedRole): Promise<void> {
  if (!hasRole(caller.user, await heldRoles(database, caller.user), role)) throw forbidden();
}

async function changeable(exchange: Exchange, kind: Kind): Promise<ResourceRecord> {
  const resource = await seenResource(exchange, kind);
  await requireAdmin(exchange, exchange.service.database, asked(kind, resource, 'admin'));
  return resource;
}

/** Checks what the new values say about the owner, and throws what is wrong with them. */
async function requireOwner(
  exchange: Exchange,
  { organization, inventory }: Values,
  { kind, problems, before }: Ownership,
): Promise<void> {
  const { service, caller } = exchange;
  const { user } = caller;
  const owners: Resource[] = [];
  if (inventory !== undefined) {
    const found = await findInventory(service.database, inventory ?? 0);
    if (found === null) problems['inventory'] ??= [noSuchId(inventory ?? 0)];
    else owners.push({ id: 0, organization: found.organization_id, inventory: found.id });
  }
  if (organization !== undefined && organization !== before?.organization) {
    // In the new organization, the caller needs a role for all objects of the kind.
    owners.push({ id: 0, organization });
    // Only superusers learn whether it exists. For others, a missing one is refused like a foreign one.
    const isUnknown =
      user.is_superuser &&
      organization !== null &&
      (await findOrganization(service.database, organization)) === null;
    if (isUnknown) problems['organization'] ??= [noSuchId(organization)];
    const isInUse = before?.local_path !== undefined && (await hasJobTemplates(service.database, before.id));
    if (isInUse)
      problems['organization'] ??= ['Organization cannot be changed when in use by job templates.'];
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  for (const owner of owners) await requireAdmin(exchange, service.database, asked(kind, owner, 'admin'));
}

interface Ownership {
  readonly kind: Kind;
  readonly problems: Problems;
  readonly before: ResourceRecord | null;
}

/**
 * As on the controller, the port in the name of a host becomes a variable. Names with several colons are IPv6
 * addresses.
 */
function splitPort(values: Values, problems: Problems): Values {
  const [name = '', port, more] = String(values.name).split(':');
  if (port === undefined || more !== undefined) return values;
  if (name === '' || !/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    problems['name'] ??= [`Invalid port specification: ${port}`];
    return values;
  }
  const variables = readVariables(String(values['variables']));
  const known = typeof variables === 'string' ? {} : variables;
  return { ...values, name, variables: writeVariables({ ...known, ansible_ssh_port: Number(port) }) };
}

/** Throws 403 if the organization of an inventory has as many hosts as it may have. */
async function requireRoom(transaction: Queryable, inventory: number): Promise<void> {
  const { max_hosts: most, hosts } = await lockHostLimit(transaction, inventory);
  if (most === 0 || hosts < most) return;
  const number = `${most} ${most === 1 ? 'host' : 'hosts'}`;
  throw forbidden(`The organization has reached its maximum number of ${number}.`);
}

/** Throws 400 unless the folder of a project exists, and no other project uses it. */
async function requireFreeFolder(
  { service }: Exchange,
  transaction: Queryable,
  { folder, before }: { readonly folder: string | undefined; readonly before: string },
): Promise<void> {
  if (folder === undefined || folder === before) return;
  const used = await lockProjectFolders(transaction);
  const folders = await projectFolders(service.jobs.projects);
  if (folders.includes(folder) && !used.has(folder)) return;
  throw invalid({
    local_path: ['This path is already being used by another manual project, or does not exist.'],
  });
}

/** What the activity stream records of a resource. */
async function facts(transaction: Queryable, kind: Kind, id: number): Promise<Record<string, unknown>> {
  const resource = await findResource(transaction, kind.type, id);
  if (resource === null) throw notFound();
  const { organization, organization_name, inventory, inventory_name } = resource;
  const owners: Values = {
    ...(kind !== HOST && {
      organization: organization === null ? null : `${organization_name}-${organization}`,
    }),
    ...(kind === HOST && { inventory: `${inventory_name}-${inventory}` }),
  } as unknown as Values;
  return { ...writable(kind, resource as unknown as Values, true), ...owners };
}

function log(
  exchange: Exchange,
  transaction: Queryable,
  { type }: Kind,
  entry: {
    readonly operation: 'create' | 'update' | 'delete';
    readonly changes: Readonly<Record<string, unknown>>;
    readonly id?: number;
  },
): Promise<void> {
  const { id, ...more } = entry;
  return logChange(exchange, transaction, {
    ...more,
    object1: type,
    ...(id !== undefined && { resource: { type, id } }),
  });
}

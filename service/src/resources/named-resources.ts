import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { FastifyInstance } from 'fastify';
import { canCreate } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound, RequestFailure } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import { jsonObject } from '../request.ts';
import { type HeldRole, heldRoles } from '../store/object-roles.ts';
import { findOrganization } from '../store/organizations.ts';
import {
  activeJobs,
  deleteResource,
  findInventory,
  findResource,
  insertResource,
  lockResource,
  type ResourceRow,
  type ResourceValues,
  updateResource,
} from '../store/resources.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { type Kind, type Owned, render, type Wanted } from './kind.ts';
import { changedValues, logChange } from './resource.ts';
import { roleFields } from './role-texts.ts';
import { listKind, matching, mayChangeSeen } from './seen-resources.ts';

/** Serves the resources of a kind at its path, and each at `N/`. */
export function serveKind<R extends ResourceRow>(
  app: FastifyInstance,
  service: ServiceContext,
  kind: Kind<R>,
): void {
  const { path, plural, label, fields, about, storage } = kind;
  const some = plural.toLowerCase();
  const objectRoles = storage.roles && { objectRoles: roleFields(storage.roles) };
  serveEndpoint(app, service, {
    path,
    name: plural,
    description: about?.list ?? `The ${some} of the organizations that you administer or audit.`,
    fields,
    ...objectRoles,
    allows: async ({ service, caller }) =>
      canCreate(caller.user, kind.type, await heldRoles(service.database, caller.user)),
    handlers: { GET: (exchange) => listKind(exchange, kind), POST: (exchange) => create(exchange, kind) },
  });
  serveEndpoint(app, service, {
    path: `${path}:id/`,
    name: label,
    description: about?.one ?? `One of the ${some}, by ID or by its named URL.`,
    fields,
    ...objectRoles,
    allows: (exchange) => mayChangeSeen(exchange, kind),
    handlers: {
      GET: async (exchange) => shown(exchange, kind, await matching(exchange, kind)),
      PUT: (exchange) => change(exchange, kind, 'PUT'),
      PATCH: (exchange) => change(exchange, kind, 'PATCH'),
      DELETE: (exchange) => remove(exchange, kind),
    },
  });
}

async function shown<R extends ResourceRow>(
  exchange: Exchange,
  kind: Kind<R>,
  resource: R,
  once: ResourceValues = {},
): Promise<unknown> {
  const [shown] = await render(exchange, kind, { resources: [resource], detail: true });
  return { ...shown, ...once };
}

/** The names of the writable fields: all on creation, later those that may change. */
function writable<R extends ResourceRow>({ fields }: Kind<R>, isNew: boolean): readonly string[] {
  return Object.entries(fields.fields).flatMap(([name, { writable: when }]) =>
    when === 'change' || (isNew && when === 'create') ? [name] : [],
  );
}

/** The initial values of a new resource, before its request is read. */
function blank<R extends ResourceRow>(kind: Kind<R>): ResourceValues {
  const { fields } = kind.fields;
  const blankOf = (name: string) => fields[name]?.defaultValue ?? (fields[name]?.type === 'id' ? null : '');
  return Object.fromEntries(writable(kind, true).map((name) => [name, blankOf(name)]));
}

/** POST: adds a resource, with the values from the path. `also` runs in the transaction. Throws 400, 403. */
export async function create<R extends ResourceRow>(
  exchange: Exchange,
  kind: Kind<R>,
  given: ResourceValues = {},
  also?: (transaction: Queryable, made: R) => Promise<void>,
): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  const { user } = caller;
  const body = { ...jsonObject(request), ...given };
  const once = {};
  const made = await service.database.transaction(async (transaction) => {
    const held = await heldRoles(transaction, user);
    if (!canCreate(user, kind.type, held)) throw forbidden();
    const values = await read(exchange, transaction, {
      ...{ kind, body, before: null, method: 'POST', held, once },
    });
    const id = await insertResource(transaction, kind.storage, { values, at: service.now(), by: user.id });
    if (id === null) throw invalid(kind.nameTaken);
    const made = await written(transaction, kind, id);
    await log(exchange, transaction, kind, {
      operation: 'create',
      id,
      changes: { ...facts(kind, made), id },
    });
    await kind.made?.(exchange, transaction, made);
    await also?.(transaction, made);
    return made;
  });
  reply.code(201).header('Location', `${kind.path}${made.id}/`);
  return shown(exchange, kind, made, once);
}

/** PUT and PATCH. Throws 400 by field, 403, 404. */
async function change<R extends ResourceRow>(exchange: Exchange, kind: Kind<R>, method: 'PUT' | 'PATCH') {
  const { id } = await matching(exchange, kind);
  const once = {};
  const body = jsonObject(exchange.request);
  const changed = await changeResource(exchange, kind, { id, method, body, once });
  return shown(exchange, kind, changed, once);
}

/** Changes a resource. Throws 400 by field, 403, 404. */
export async function changeResource<R extends ResourceRow>(
  exchange: Exchange,
  kind: Kind<R>,
  wanted: { id: number; method: 'PUT' | 'PATCH'; body: ResourceValues; once?: Record<string, unknown> },
): Promise<R> {
  const { service, caller } = exchange;
  const { id, method, body, once = {} } = wanted;
  return service.database.transaction(async (transaction) => {
    const held = await heldRoles(transaction, caller.user);
    const before = await changeable(exchange, transaction, { kind, id, held });
    requireSameOwner(kind, before, body);
    const values = await read(exchange, transaction, { kind, body, before, method, held, once });
    const change = { id, values, at: service.now(), by: caller.user.id };
    if (!(await updateResource(transaction, kind.storage, change))) throw invalid(kind.nameTaken);
    const after = await written(transaction, kind, id);
    await kind.changed?.(transaction, before, after);
    const [old, now] = [facts(kind, before), facts(kind, after)];
    const changes = changedValues(Object.keys(old), old, now);
    if (Object.keys(changes).length > 0) {
      await log(exchange, transaction, kind, { operation: 'update', id, changes });
    }
    return after;
  });
}

/** DELETE. Throws 403, 404, 409. */
async function remove<R extends ResourceRow>(exchange: Exchange, kind: Kind<R>): Promise<unknown> {
  const { id } = await matching(exchange, kind);
  await exchange.service.database.transaction((transaction) =>
    removeResource(exchange, transaction, kind, {
      id,
      async removing(exchange, transaction, resource) {
        await requireUnused(transaction, kind, resource);
        await kind.removing?.(exchange, transaction, resource);
      },
    }),
  );
  return kind.deletedLater ? exchange.reply.code(202).send() : undefined;
}

/** Deletes a resource, after `removing`. Throws RequestFailure 403, 404, 409. */
export async function removeResource<R extends ResourceRow>(
  exchange: Exchange,
  transaction: Queryable,
  kind: Kind<R>,
  { id, removing }: { id: number; removing?: Kind<R>['removing'] },
): Promise<void> {
  const held = await heldRoles(transaction, exchange.caller.user);
  const resource = await changeable(exchange, transaction, { kind, id, held });
  await removing?.(exchange, transaction, resource);
  if (!(await deleteResource(transaction, kind.storage, id))) throw notFound();
  const changes = { ...kind.deletedWith?.(resource), ...facts(kind, resource), id };
  await log(exchange, transaction, kind, { operation: 'delete', changes });
}

/** Throws 409 while jobs use a resource, as the controller does. */
async function requireUnused<R extends ResourceRow>(
  transaction: Queryable,
  { usedBy }: Kind<R>,
  { id, inventory }: R,
): Promise<void> {
  if (usedBy === undefined) return;
  const active = await activeJobs(transaction, usedBy, usedBy === 'inventory_id' ? (inventory ?? id) : id);
  if (active.length === 0) return;
  throw new RequestFailure(409, { error: 'Resource is being used by running jobs.', active_jobs: active });
}

/** The locked resource. Throws 404, or 403 if the caller may not change it. */
async function changeable<R extends ResourceRow>(
  { caller }: Exchange,
  transaction: Queryable,
  { kind, id, held }: { kind: Kind<R>; id: number; held: readonly HeldRole[] },
): Promise<R> {
  const resource = await lockResource<R>(transaction, kind.storage, id);
  if (resource === null) throw notFound();
  if (!kind.mayChange(caller.user, held, resource)) throw forbidden();
  return resource;
}

/** Refuses changes of fields that can only be set on creation, such as a host's inventory. */
function requireSameOwner<R extends ResourceRow>(kind: Kind<R>, before: R, body: ResourceValues): void {
  const row = before as unknown as ResourceValues;
  for (const [name, { writable: when, type }] of Object.entries(kind.fields.fields)) {
    if (when !== 'create' || type !== 'id' || (body[name] ?? row[name]) === row[name]) continue;
    throw forbidden(`Unable to change ${name} on a ${kind.type}.`);
  }
}

/** Reads and validates the values of a request. Throws 400 by field and 403. */
async function read<R extends ResourceRow>(
  exchange: Exchange,
  transaction: Queryable,
  request: {
    readonly kind: Kind<R>;
    readonly body: ResourceValues;
    readonly before: R | null;
    readonly method: 'POST' | 'PUT' | 'PATCH';
    readonly held: readonly HeldRole[];
    readonly once: Record<string, unknown>;
  },
): Promise<ResourceValues> {
  const { kind, body, before, method, held, once } = request;
  const problems: Problems = {};
  const row = (before ?? blank(kind)) as unknown as ResourceValues;
  const current = Object.fromEntries(writable(kind, before === null).map((name) => [name, row[name]]));
  const values = readFields(kind.fields, body, { current, method, problems });
  if (Object.keys(problems).length === 0 && !kind.hasOwnRights) {
    requireFieldRights(kind.type, { caller: exchange.caller.user, before: current, after: values });
  }
  const wanted = { body, values, problems, before, held, once };
  const prepared = await (kind.prepare?.(exchange, transaction, wanted) ??
    withOwner(kind, exchange, transaction, wanted));
  refuse(problems);
  return prepared;
}

/** Throws 400 if there are problems. */
export function refuse(problems: Problems): void {
  if (Object.keys(problems).length > 0) throw invalid(problems);
}

/** Checks that the caller may change objects of the wanted owner. Throws RequestFailure 400 with all problems, 403. */
export async function withOwner<R extends ResourceRow>(
  kind: Kind<R>,
  { caller }: Exchange,
  transaction: Queryable,
  { values, problems, before, held }: Wanted<R>,
): Promise<ResourceValues> {
  const { organization, inventory } = values as Partial<Owned>;
  const owners: Owned[] = [];
  if (inventory !== undefined) {
    const found = await findInventory(transaction, inventory ?? 0);
    if (found === null) problems['inventory'] ??= [noSuchId(inventory ?? 0)];
    else owners.push({ id: 0, organization: found.organization_id, inventory: found.id });
  }
  if (organization !== undefined && organization !== before?.organization) {
    // In the new organization, the caller needs a role for all objects of this kind.
    owners.push({ id: 0, organization });
    // Only superusers learn whether it exists. For others, it is refused like one that they do not administer.
    const isUnknown =
      caller.user.is_superuser &&
      organization !== null &&
      (await findOrganization(transaction, organization)) === null;
    if (isUnknown) problems['organization'] ??= [noSuchId(organization)];
  }
  refuse(problems);
  for (const owner of owners) if (!kind.mayChange(caller.user, held, owner)) throw forbidden();
  return values;
}

async function written<R extends ResourceRow>(transaction: Queryable, kind: Kind<R>, id: number): Promise<R> {
  const resource = await findResource<R>(transaction, kind.storage, id);
  if (resource === null) throw new Error(`a ${kind.type} vanished inside the transaction that wrote it`);
  return resource;
}

/** A legacy field of the controller, which shows it but does not record it. */
const UNRECORDED = 'custom_virtualenv';

/** What the activity stream records of a resource. Related resources are recorded by name and id. */
function facts<R extends ResourceRow>(kind: Kind<R>, resource: R): ResourceValues {
  const row = resource as unknown as ResourceValues;
  const recorded = Object.entries(kind.fields.fields).filter(
    ([name, { writable, fixed, hidden }]) =>
      name !== UNRECORDED && (writable !== undefined || (fixed !== undefined && hidden !== true)),
  );
  return Object.fromEntries(
    recorded.map(([name, { type, fixed }]) => {
      if (fixed !== undefined) return [name, fixed.value];
      const isOther = type === 'id' && row[name] !== null;
      return [name, isOther ? `${row[`${name}_name`]}-${row[name]}` : row[name]];
    }),
  );
}

function log<R extends ResourceRow>(
  exchange: Exchange,
  transaction: Queryable,
  { type }: Kind<R>,
  entry: { operation: 'create' | 'update' | 'delete'; changes: ResourceValues; id?: number },
): Promise<void> {
  const { id, ...more } = entry;
  return logChange(exchange, transaction, {
    ...more,
    object1: type,
    ...(id !== undefined && linkTo(type, id)),
  });
}

function linkTo(type: Kind['type'], id: number) {
  if (type === 'organization') return { organizationId: id };
  return type === 'o_auth2_application' ? { applicationId: id } : { resource: { type, id } };
}

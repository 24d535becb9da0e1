import type { FastifyInstance } from 'fastify';
import { administersOrganization, visibleByOrganization } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, type Handler, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { type Listing, list, type Page } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { findHost, findInventory, insertHost, insertNamed, type NamedRecord } from '../store/inventory.ts';
import { findOrganization } from '../store/organizations.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { pathId } from './request-values.ts';

/** A kind of resource that is listed and shown by name, and belongs to an organization. */
interface Kind {
  readonly type: string;
  readonly path: string;
  readonly name: string;
  readonly from: string;
  /** SQL expression for the id of its organization. */
  readonly organization: string;
  /** Further columns by the name in the API. */
  readonly columns: Readonly<Record<string, string>>;
  readonly create: Handler;
}

const HOST: Kind = {
  type: 'host',
  path: '/api/v2/hosts/',
  name: 'Hosts',
  from: 'main_host x JOIN main_inventory i ON i.id = x.inventory_id',
  organization: 'i.organization_id',
  columns: { inventory: 'x.inventory_id', enabled: 'x.enabled', variables: 'x.variables' },
  create: createHost,
};

const INVENTORY: Kind = {
  type: 'inventory',
  path: '/api/v2/inventories/',
  name: 'Inventories',
  from: 'main_inventory x',
  organization: 'x.organization_id',
  columns: { organization: 'x.organization_id' },
  create: (exchange) => createNamed(exchange, 'inventory'),
};

const CREDENTIAL: Kind = {
  type: 'credential',
  path: '/api/v2/credentials/',
  name: 'Credentials',
  from: 'main_credential x',
  organization: 'x.organization_id',
  columns: { organization: 'x.organization_id' },
  create: (exchange) => createNamed(exchange, 'credential'),
};

const KINDS: readonly Kind[] = [HOST, INVENTORY, CREDENTIAL];

/** `/api/v2/hosts/`, `/inventories/` and `/credentials/`, each with its `N/`. */
export function serveNamedResources(app: FastifyInstance, service: ServiceContext): void {
  for (const kind of KINDS) {
    const fields = fieldsOf(kind);
    serveEndpoint(app, service, {
      path: kind.path,
      name: kind.name,
      description: `The ${kind.name.toLowerCase()} of the organizations that you administer or audit.`,
      fields,
      handlers: {
        GET: (exchange) => listKind(exchange, kind, exchange.request.url),
        POST: kind.create,
      },
    });
    serveEndpoint(app, service, {
      path: `${kind.path}:id(^\\d+$)/`,
      name: kind.name,
      description: `One of the ${kind.name.toLowerCase()}.`,
      fields,
      handlers: { GET: (exchange) => show(exchange, kind) },
    });
  }
}

function fieldsOf(kind: Kind): FieldSet {
  const further = Object.entries(kind.columns).map(([name, column]) => {
    const type = name === 'enabled' ? 'boolean' : name === 'variables' ? 'string' : 'id';
    const required = name === 'inventory' || kind.type === 'inventory';
    return [
      name,
      { type, label: name, column, writable: 'create' as const, ...(required && { required }) },
    ] as const;
  });
  return {
    type: kind.type,
    fields: {
      id: { type: 'integer', label: 'ID', column: 'x.id' },
      type: { type: 'choice', label: 'Type', choices: [[kind.type, kind.name]] },
      url: { type: 'string', label: 'Url' },
      name: {
        type: 'string',
        label: 'Name',
        column: 'x.name',
        writable: 'create',
        required: true,
        maxLength: 512,
      },
      description: {
        type: 'string',
        label: 'Description',
        column: 'x.description',
        writable: 'create',
        defaultValue: '',
      },
      created: { type: 'datetime', label: 'Created', column: 'x.created' },
      modified: { type: 'datetime', label: 'Modified', column: 'x.modified' },
      ...Object.fromEntries(further),
    },
    relations: {},
    searchFields: ['name', 'description'],
    order: ['name'],
  };
}

function listKind(exchange: Exchange, kind: Kind, url: string): Promise<Page> {
  const further = Object.entries(kind.columns).map(([name, column]) => `, ${column} AS "${name}"`);
  const listing: Listing<NamedRecord> = {
    fields: fieldsOf(kind),
    columns: `x.id, x.name, x.description, x.created, x.modified${further.join('')}`,
    from: kind.from,
    visible: visibleByOrganization(exchange.caller.user, kind.organization),
    render: ({ id, ...rest }) => ({ id, type: kind.type, url: `${kind.path}${id}/`, ...rest }),
  };
  return list(exchange, listing, url);
}

async function show(exchange: Exchange, kind: Kind): Promise<unknown> {
  const id = pathId(exchange.params['id']);
  const { results } = await listKind(exchange, kind, `${kind.path}?id=${id}&count_disabled=1`);
  if (results[0] === undefined) throw notFound();
  return results[0];
}

async function createHost(exchange: Exchange): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  const problems: Problems = {};
  const current = {
    name: '',
    description: '',
    variables: '',
    enabled: true,
    inventory: null as number | null,
  };
  const host = readFields(fieldsOf(HOST), jsonObject(request), { current, method: 'POST', problems });
  const inventory = await findInventory(service.database, host.inventory ?? 0);
  if (inventory === null) problems['inventory'] ??= [noSuchId(host.inventory ?? 0)];
  if (inventory === null || Object.keys(problems).length > 0) throw invalid(problems);
  if (!administersOrganization(caller.user, inventory.organization_id)) throw forbidden();
  const id = await insertHost(service.database, { ...host, inventory: inventory.id });
  if (id === null) throw invalid({ __all__: ['Host with this Name and Inventory already exists.'] });
  reply.code(201).header('Location', `${HOST.path}${id}/`);
  const made = await findHost(service.database, id);
  return { id, type: HOST.type, url: `${HOST.path}${id}/`, ...made };
}

/** Resources created with a name and an organization, which is optional for credentials. */
const NAMED_BY_OWNER = {
  inventory: { path: '/api/v2/inventories/', table: 'main_inventory', kind: INVENTORY },
  credential: { path: '/api/v2/credentials/', table: 'main_credential', kind: CREDENTIAL },
} as const;

/**
 * POST on inventories or credentials: creates one with a name, a description and an organization. Credentials
 * contain no secrets in this service.
 *
 * @throws RequestFailure 400 by field, 403 for an organization that the caller does not administer.
 */
async function createNamed(exchange: Exchange, type: keyof typeof NAMED_BY_OWNER): Promise<unknown> {
  const { path, table, kind } = NAMED_BY_OWNER[type];
  const { service, caller, request, reply } = exchange;
  const problems: Problems = {};
  const current = { name: '', description: '', organization: null as number | null };
  const made = readFields(fieldsOf(kind), jsonObject(request), { current, method: 'POST', problems });
  if (Object.keys(problems).length > 0) throw invalid(problems);
  const { organization } = made;
  if (!administersOrganization(caller.user, organization)) throw forbidden();
  if (organization !== null && (await findOrganization(service.database, organization)) === null) {
    throw invalid({ organization: [noSuchId(organization)] });
  }
  const row = await insertNamed(service.database, table, made);
  if (row === null) throw invalid({ __all__: ['The organization has one of this name already.'] });
  reply.code(201).header('Location', `${path}${row.id}/`);
  const { id, ...rest } = row;
  return { id, type, url: `${path}${id}/`, ...rest };
}

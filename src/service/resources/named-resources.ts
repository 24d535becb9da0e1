import type { FastifyInstance } from 'fastify';
import { administersOrganization, visibleByOrganization } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, type Handler, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { list, type Page } from '../listing/listing.ts';
import { findHost, findInventory, insertHost, type NamedRecord } from '../store/inventory.ts';
import { createNamed } from './create-named.ts';
import { pathId } from './path-id.ts';
import { booleanField, integerField, type Problems, textField } from './text-field.ts';

/** A kind of resource that is listed and shown by name, and belongs to an organization. */
interface Kind {
  readonly type: string;
  readonly path: string;
  readonly name: string;
  readonly from: string;
  /** SQL for the id of the organization it belongs to. */
  readonly organization: string;
  /** Further columns, shown under the names they have here. */
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

const KINDS: readonly Kind[] = [
  HOST,
  {
    type: 'inventory',
    path: '/api/v2/inventories/',
    name: 'Inventories',
    from: 'main_inventory x',
    organization: 'x.organization_id',
    columns: { organization: 'x.organization_id' },
    create: (exchange) => createNamed(exchange, 'inventory'),
  },
  {
    type: 'credential',
    path: '/api/v2/credentials/',
    name: 'Credentials',
    from: 'main_credential x',
    organization: 'x.organization_id',
    columns: { organization: 'x.organization_id' },
    create: (exchange) => createNamed(exchange, 'credential'),
  },
];

/** `/api/v2/hosts/`, `/inventories/` and `/credentials/`, each with its `N/`. */
export function serveNamedResources(app: FastifyInstance, service: ServiceContext): void {
  for (const kind of KINDS) {
    const fields = fieldsOf(kind);
    serveEndpoint(app, service, {
      path: kind.path,
      name: kind.name,
      description: 'Those of the organizations that you administer or audit.',
      fields,
      handlers: {
        GET: (exchange) => listKind(exchange, kind, exchange.request.url),
        POST: kind.create,
      },
    });
    serveEndpoint(app, service, {
      path: `${kind.path}:id(^\\d+$)/`,
      name: kind.name,
      description: 'One of them.',
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

function listKind({ service, caller }: Exchange, kind: Kind, url: string): Promise<Page> {
  const further = Object.entries(kind.columns).map(([name, column]) => `, ${column} AS "${name}"`);
  return list<NamedRecord>(service.database, url, {
    fields: fieldsOf(kind),
    columns: `x.id, x.name, x.description, x.created, x.modified${further.join('')}`,
    from: kind.from,
    visible: visibleByOrganization(caller.user, kind.organization),
    render: ({ id, ...rest }) => ({ id, type: kind.type, url: `${kind.path}${id}/`, ...rest }),
  });
}

async function show(exchange: Exchange, kind: Kind): Promise<unknown> {
  const id = pathId(exchange.params['id']);
  const { results } = await listKind(exchange, kind, `${kind.path}?id=${id}&count_disabled=1`);
  if (results[0] === undefined) throw notFound();
  return results[0];
}

async function createHost(exchange: Exchange): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  const body = jsonObject(request);
  const problems: Problems = {};
  const text = (name: string, required = false) =>
    textField(body, name, { rule: { fallback: '', required, maxLength: 512 }, problems });
  const host = {
    name: text('name', true),
    description: text('description'),
    variables: text('variables'),
    enabled: booleanField(body, 'enabled', { fallback: true, problems }),
    inventory: integerField(body, 'inventory', { least: 1, fallback: 0, problems }),
  };
  const inventory = await findInventory(service.database, host.inventory);
  if (inventory === null) problems['inventory'] = ['Expected the id of an inventory.'];
  if (inventory === null || Object.keys(problems).length > 0) throw invalid(problems);
  if (!administersOrganization(caller.user, inventory.organization_id)) throw forbidden();
  const id = await insertHost(service.database, host);
  if (id === null) throw invalid({ __all__: ['Host with this Name and Inventory already exists.'] });
  reply.code(201).header('Location', `${HOST.path}${id}/`);
  const made = await findHost(service.database, id);
  return { id, type: HOST.type, url: `${HOST.path}${id}/`, ...made };
}

import type { Queryable } from '@tokenctl/common/db/database.ts';
import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { hasRole, type SharedType, visibleObjects } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid } from '../failure.ts';
import { type Declared, declared, type Relation } from '../listing/fields.ts';
import { playbooksIn, projectFolders } from '../playbooks/projects-folder.ts';
import { readVariables, variablesProblem, writeVariables } from '../playbooks/variables.ts';
import { findInInventory } from '../store/groups.ts';
import {
  CREDENTIALS,
  HOSTS,
  hasJobTemplates,
  INVENTORIES,
  lockHostLimit,
  lockProjectFolders,
  PROJECTS,
  type ResourceRecord,
  type ResourceValues,
} from '../store/resources.ts';
import { MACHINE_TYPE, TYPE_OF_CREDENTIAL } from './credential-types.ts';
import { EMPTY_RELATIONS, serveEmptyRelations } from './empty-relations.ts';
import type { Problems } from './field-values.ts';
import { constantFields, fixedField, fixedFields, hiddenFixedFields } from './fixed-fields.ts';
import { addresses, type Kind, type Wanted } from './kind.ts';
import { serveKind, withOwner } from './named-resources.ts';
import { fields, namedRelation } from './resource.ts';
import { ofSeen } from './seen-resources.ts';

/** `/api/v2/inventories/`, `/hosts/`, `/credentials/` and `/projects/`, each with its `N/`. */
export function serveNamedResources(app: FastifyInstance, service: ServiceContext): void {
  for (const kind of [INVENTORY, HOST, CREDENTIAL, PROJECT]) {
    serveKind(app, service, kind);
    serveEmptyRelations(app, service, kind);
  }
  serveEndpoint(app, service, {
    path: `${PROJECT.path}:id/playbooks/`,
    name: 'Playbooks of a project',
    description: "The paths of the playbooks in this project's directory.",
    handlers: {
      GET: ofSeen(PROJECT, ({ service: { jobs } }, { local_path = '' }) =>
        playbooksIn(jobs.projects, local_path),
      ),
    },
  });
}

/** Who sees and changes objects of a type with its own roles in organizations. */
export function byRoles(type: SharedType): Pick<Kind, 'visible' | 'withRole' | 'mayChange'> {
  const rows = { type, id: sql`x.id`, organization: sql`x.organization_id` };
  return {
    visible: (user, held) => visibleObjects(user, held, rows),
    withRole: (user, held, role) => visibleObjects(user, held, { ...rows, role }),
    mayChange: (user, held, { id, organization = null }) =>
      hasRole(user, held, { type, id, organization, role: 'admin' }),
  };
}

/** Who sees and changes objects of an inventory. */
export const BY_INVENTORY: Pick<Kind, 'visible' | 'mayChange'> = {
  visible: (user, held) =>
    visibleObjects(user, held, {
      type: 'inventory',
      id: sql`x.inventory_id`,
      organization: sql`i.organization_id`,
    }),
  mayChange: (user, held, { inventory, organization = null }) =>
    hasRole(user, held, { type: 'inventory', id: inventory ?? 0, organization, role: 'admin' }),
};

export const VARIABLES: Declared = {
  type: 'json',
  helpText: 'A mapping in YAML or JSON.',
  writable: 'change',
  defaultValue: '',
  check: variablesProblem,
};

const ORGANIZATION: Declared = {
  type: 'id',
  helpText: 'The organization that it belongs to.',
  column: sql`o.id`,
  writable: 'change',
  keptByPut: true,
};

/** Hosts or groups `r` of an inventory, group or host `x`. A user who sees `x` sees them. */
export function relationToMany(from: Sql, on: Sql): Relation {
  return { ...namedRelation('r'), many: { from, on } };
}

/** The relation of hosts and groups to their inventory. */
export const INVENTORY_RELATION: Relation = {
  ...namedRelation('i'),
  relations: { organization: namedRelation('o') },
};

/** The field `inventory` of a host or group. */
export function inInventory(type: 'host' | 'group'): Declared {
  return {
    type: 'id',
    helpText: `The inventory of this ${type}. It cannot be changed.`,
    writable: 'create',
    required: true,
  };
}

const NO_SOURCES = { has_inventory_sources: [false, 'This service has no inventory sources.'] } as const;

const IN_ORGANIZATION = ['name', 'organization_name'] as const;

export const INVENTORY: Kind<ResourceRecord> = {
  type: 'inventory',
  path: '/api/v2/inventories/',
  label: 'Inventory',
  plural: 'Inventories',
  storage: INVENTORIES,
  ...byRoles('inventory'),
  fields: fields(
    'inventory',
    {
      ...declared('x', { organization: { ...ORGANIZATION, required: true }, variables: VARIABLES }),
      ...fixedFields({
        kind: ['', 'have smart or constructed inventories'],
        host_filter: [null, 'have smart inventories', 'string'],
        prevent_instance_group_fallback: [false, 'have instance groups'],
      }),
      ...declared('x', {
        total_hosts: { type: 'integer', helpText: 'Number of hosts in this inventory.', column: null },
        total_groups: { type: 'integer', helpText: 'Number of groups in this inventory.', column: null },
      }),
      ...constantFields({
        ...NO_SOURCES,
        total_inventory_sources: [0, 'Number of inventory sources. This service has none.'],
        inventory_sources_with_failures: [0, 'Number of inventory sources that failed.'],
        pending_deletion: [false, 'Inventories are deleted immediately.'],
      }),
    },
    {
      organization: namedRelation('o'),
      hosts: relationToMany(sql`main_host r`, sql`r.inventory_id = x.id`),
      groups: relationToMany(sql`main_group r`, sql`r.inventory_id = x.id`),
    },
  ),
  nameTaken: { __all__: ['Inventory with this Name and Organization already exists.'] },
  usedBy: 'inventory_id',
  deletedLater: true,
  // The only entry; hosts and groups get none. According to AWX's source of October 2024, not seen in a recording.
  deletedWith: ({ total_hosts, total_groups }) => ({
    coalesced_data: { hosts_deleted: total_hosts, groups_deleted: total_groups },
  }),
  namedBy: IN_ORGANIZATION,
  empty: EMPTY_RELATIONS.inventory,
  related: (url) =>
    addresses(url, [...['hosts', 'groups', 'root_groups', 'variable_data', 'script', 'activity_stream']]),
};

export const HOST: Kind<ResourceRecord> = {
  type: 'host',
  path: '/api/v2/hosts/',
  label: 'Host',
  plural: 'Hosts',
  storage: HOSTS,
  ...BY_INVENTORY,
  fields: fields(
    'host',
    {
      ...declared('x', {
        inventory: inInventory('host'),
        enabled: {
          type: 'boolean',
          helpText: 'Whether jobs run on this host.',
          writable: 'change',
          defaultValue: true,
        },
        variables: VARIABLES,
      }),
      ...fixedFields({ instance_id: ['', 'have inventory sources'] }),
      ...constantFields({
        ...NO_SOURCES,
        ansible_facts_modified: [null, 'When facts were stored. This service stores none.', 'datetime'],
      }),
    },
    {
      inventory: INVENTORY_RELATION,
      groups: relationToMany(
        sql`main_group_hosts l JOIN main_group r ON r.id = l.group_id`,
        sql`l.host_id = x.id`,
      ),
    },
  ),
  nameTaken: { __all__: ['Host with this Name and Inventory already exists.'] },
  // Groups can be deleted while jobs run: from AWX's source of October 2024, not seen in a recording.
  usedBy: 'inventory_id',
  namedBy: ['name', 'inventory_name', 'organization_name'],
  related: (url) => addresses(url, ['variable_data', 'groups', 'all_groups', 'activity_stream']),
  summary: ({ groups }) => ({ groups }),
  async prepare(exchange, transaction, wanted) {
    const values = splitPort(wanted.values, wanted.problems);
    await withOwner(HOST, exchange, transaction, { ...wanted, values });
    await requireOtherName(transaction, { ...wanted, values }, 'group');
    if (wanted.before === null) await requireRoom(transaction, Number(values['inventory']));
    return values;
  },
};

/** As on the controller, a port in a host's name becomes a variable. Names with several colons are IPv6 addresses. */
function splitPort(values: ResourceValues, problems: Problems): ResourceValues {
  const [name = '', port, more] = String(values['name']).split(':');
  if (port === undefined || more !== undefined) return values;
  if (name === '' || !/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    problems['name'] ??= [`Invalid port specification: ${port}`];
    return values;
  }
  const variables = readVariables(String(values['variables']));
  const known = typeof variables === 'string' ? {} : variables;
  return { ...values, name, variables: writeVariables({ ...known, ansible_ssh_port: Number(port) }) };
}

/** Throws 400 if the inventory has a group with the host's name, or a host with the group's name. */
export async function requireOtherName(
  transaction: Queryable,
  { values, before }: Pick<Wanted<ResourceRecord>, 'values' | 'before'>,
  other: 'host' | 'group',
): Promise<void> {
  const inventory = before?.inventory ?? Number(values['inventory']);
  const found = await findInInventory(transaction, `main_${other}`, {
    name: String(values['name']),
    inventory,
  });
  if (found === null) return;
  throw invalid({ __all__: [`A ${other === 'host' ? 'Host' : 'Group'} with that name already exists.`] });
}

/** Throws 403 if an inventory's organization has its maximum number of hosts. */
async function requireRoom(transaction: Queryable, inventory: number): Promise<void> {
  const { max_hosts: most, hosts } = await lockHostLimit(transaction, inventory);
  if (most === 0 || hosts < most) return;
  const number = `${most} ${most === 1 ? 'host' : 'hosts'}`;
  throw forbidden(`The organization has reached its maximum number of ${number}.`);
}

/** Credentials. In this service they contain no secrets. */
export const CREDENTIAL: Kind<ResourceRecord> = {
  type: 'credential',
  path: '/api/v2/credentials/',
  label: 'Credential',
  plural: 'Credentials',
  storage: CREDENTIALS,
  ...byRoles('credential'),
  fields: fields(
    'credential',
    {
      ...declared('x', { organization: ORGANIZATION }),
      credential_type: {
        ...fixedField('credential_type', [
          MACHINE_TYPE.id,
          `have other types of credentials than ${MACHINE_TYPE.name}`,
          'id',
        ]),
        column: sql`${literal(MACHINE_TYPE.id)}::integer`,
      },
      ...fixedFields({ inputs: [{}, 'store the secrets of credentials'] }),
      ...constantFields({
        kind: [MACHINE_TYPE.kind, 'The kind of the credential type.'],
        managed: [false, 'Whether it was created by the service.'],
        cloud: [false, 'Whether it is for a cloud.'],
        kubernetes: [false, 'Whether it is for Kubernetes.'],
      }),
      ...hiddenFixedFields({
        user: [null, 'have user credentials: select an organization'],
        team: [null, 'have team credentials: select an organization'],
      }),
    },
    { organization: namedRelation('o'), credential_type: TYPE_OF_CREDENTIAL },
  ),
  nameTaken: { __all__: ['Credential with this Name and Organization already exists.'] },
  // All credentials have this type's name and kind.
  namedBy: ['name', { text: `${MACHINE_TYPE.name}+${MACHINE_TYPE.kind}` }, 'organization_name'],
  related: (url) => ({
    activity_stream: `${url}activity_stream/`,
    credential_type: `/api/v2/credential_types/${MACHINE_TYPE.id}/`,
  }),
};

const FETCH =
  'fetch projects: put the playbooks into a directory below the projects directory, and set local_path to it';

/** Projects. Each is a folder with playbooks on the service's machine, like the controller's manual projects. */
export const PROJECT: Kind<ResourceRecord> = {
  type: 'project',
  path: '/api/v2/projects/',
  label: 'Project',
  plural: 'Projects',
  storage: PROJECTS,
  ...byRoles('project'),
  fields: fields('project', {
    ...declared('x', {
      local_path: {
        helpText: "The directory with the playbooks, below the service's projects directory.",
        writable: 'change',
        maxLength: 255,
      },
      status: {
        type: 'choice',
        helpText: 'Whether the directory exists.',
        choices: [
          ['ok', 'OK'],
          ['missing', 'Missing'],
        ],
        column: null,
      },
      organization: ORGANIZATION,
    }),
    ...fixedFields({
      scm_type: ['', FETCH],
      scm_url: ['', FETCH],
      scm_branch: ['', FETCH],
      scm_refspec: ['', FETCH],
      scm_clean: [false, FETCH],
      scm_track_submodules: [false, FETCH],
      scm_delete_on_update: [false, FETCH],
      scm_update_on_launch: [false, FETCH],
      scm_update_cache_timeout: [0, FETCH],
      allow_override: [false, FETCH],
      credential: [null, FETCH],
      signature_validation_credential: [null, FETCH],
      timeout: [0, FETCH],
      default_environment: [null, 'have execution environments'],
    }),
  }),
  nameTaken: { __all__: ['Project with this (name, organization) combination already exists.'] },
  usedBy: 'project_id',
  namedBy: IN_ORGANIZATION,
  empty: EMPTY_RELATIONS.project,
  related: (url) => addresses(url, ['playbooks', 'activity_stream']),
  async shownToo({ service }, projects) {
    const folders = await projectFolders(service.jobs.projects);
    return projects.map(({ local_path = '' }) => ({
      fields: { status: folders.includes(local_path) ? 'ok' : 'missing' },
    }));
  },
  async prepare(exchange, transaction, wanted) {
    const { before, problems, values } = wanted;
    const isMoved = before !== null && values['organization'] !== before.organization;
    if (isMoved && (await hasJobTemplates(transaction, before.id))) {
      problems['organization'] ??= ['Organization cannot be changed when in use by job templates.'];
    }
    await withOwner(PROJECT, exchange, transaction, wanted);
    const folder = String(values['local_path']);
    await requireFreeFolder(exchange, transaction, { folder, before: before?.local_path ?? '' });
    return values;
  },
};

/** Throws 400 unless a project's folder exists and no other project uses it. */
async function requireFreeFolder(
  { service }: Exchange,
  transaction: Queryable,
  { folder, before }: { folder: string; before: string },
): Promise<void> {
  if (folder === before) return;
  const used = await lockProjectFolders(transaction);
  const folders = await projectFolders(service.jobs.projects);
  if (folders.includes(folder) && !used.has(folder)) return;
  throw invalid({
    local_path: ['This path is already being used by another manual project, or does not exist.'],
  });
}

import type { Field, FieldSet } from '../listing/fields.ts';
import { variablesProblem } from '../playbooks/playbook.ts';
import type { ResourceRecord, ResourceType } from '../store/resources.ts';
import { leadingFields, nameAndDescription, namedRelation } from './resource.ts';

/** A kind of resource with a name, which belongs to an organization, or to an inventory of one. */
export interface Kind {
  readonly type: ResourceType;
  readonly path: string;
  /** As messages call one of them. */
  readonly label: string;
  /** As the API calls all of them. */
  readonly plural: string;
  /** SQL expression for the id of the organization. */
  readonly organization: string;
  readonly fields: FieldSet;
  /** The answer to a name that is taken. */
  readonly nameTaken: string;
  /** The column of a job that names the resource it runs with. */
  readonly usedBy?: 'inventory_id' | 'project_id';
  /** Further related addresses. */
  readonly related: (resource: ResourceRecord) => Readonly<Record<string, string>>;
}

const VARIABLES: Field = {
  type: 'string',
  label: 'Variables',
  helpText: 'A mapping in YAML or JSON.',
  column: 'x.variables',
  writable: 'change',
  defaultValue: '',
  check: variablesProblem,
};

function organization(more: Partial<Field>): Field {
  return {
    type: 'id',
    label: 'Organization',
    helpText: 'The organization that it belongs to.',
    column: 'o.id',
    writable: 'change',
    ...more,
  };
}

function fields(type: ResourceType, further: FieldSet['fields']): FieldSet {
  return {
    type,
    fields: {
      ...leadingFields({
        type,
        name: type,
        alias: 'x',
        summary: `Related resources, and what you may do with the ${type}.`,
      }),
      ...nameAndDescription(type),
      ...further,
    },
    relations: {
      organization: namedRelation('o'),
      ...(type === 'host' && { inventory: namedRelation('i') }),
    },
    searchFields: ['name', 'description'],
    order: ['name'],
  };
}

/** Inventories. */
export const INVENTORY: Kind = {
  type: 'inventory',
  path: '/api/v2/inventories/',
  label: 'Inventory',
  plural: 'Inventories',
  organization: 'x.organization_id',
  fields: fields('inventory', {
    organization: organization({ required: true }),
    kind: { type: 'choice', label: 'Kind', choices: [['', 'Hosts have a direct link to this inventory.']] },
    variables: VARIABLES,
    total_hosts: { type: 'integer', label: 'Total hosts', helpText: 'Number of hosts in this inventory.' },
  }),
  nameTaken: 'Inventory with this Name and Organization already exists.',
  usedBy: 'inventory_id',
  related: ({ id }) => ({ hosts: `/api/v2/inventories/${id}/hosts/` }),
};

/** Hosts of inventories. */
export const HOST: Kind = {
  type: 'host',
  path: '/api/v2/hosts/',
  label: 'Host',
  plural: 'Hosts',
  organization: 'i.organization_id',
  fields: fields('host', {
    inventory: {
      type: 'id',
      label: 'Inventory',
      helpText: 'The inventory of this host. It cannot be changed.',
      column: 'x.inventory_id',
      writable: 'create',
      required: true,
    },
    enabled: {
      type: 'boolean',
      label: 'Enabled',
      helpText: 'Whether jobs run on this host.',
      column: 'x.enabled',
      writable: 'change',
      defaultValue: true,
    },
    variables: VARIABLES,
  }),
  nameTaken: 'Host with this Name and Inventory already exists.',
  related: () => ({}),
};

/** Credentials. They hold no secrets in this service. */
const CREDENTIAL: Kind = {
  type: 'credential',
  path: '/api/v2/credentials/',
  label: 'Credential',
  plural: 'Credentials',
  organization: 'x.organization_id',
  fields: fields('credential', { organization: organization({}) }),
  nameTaken: 'Credential with this Name and Organization already exists.',
  related: () => ({}),
};

/** Projects: each is a folder with playbooks on the machine of the service, as a manual project of the controller. */
export const PROJECT: Kind = {
  type: 'project',
  path: '/api/v2/projects/',
  label: 'Project',
  plural: 'Projects',
  organization: 'x.organization_id',
  fields: fields('project', {
    local_path: {
      type: 'string',
      label: 'Local path',
      helpText: 'The folder with the playbooks, in the projects folder of the service.',
      column: 'x.local_path',
      writable: 'change',
      maxLength: 255,
    },
    scm_type: {
      type: 'choice',
      label: 'SCM type',
      helpText: 'Playbooks are files on the machine of the service: Manual.',
      choices: [['', 'Manual']],
    },
    status: {
      type: 'choice',
      label: 'Status',
      helpText: 'Whether the folder exists.',
      choices: [
        ['ok', 'OK'],
        ['missing', 'Missing'],
      ],
    },
    organization: organization({}),
  }),
  nameTaken: 'Project with this (name, organization) combination already exists.',
  usedBy: 'project_id',
  related: ({ id }) => ({ playbooks: `/api/v2/projects/${id}/playbooks/` }),
};

/** All kinds. */
export const KINDS: readonly Kind[] = [INVENTORY, HOST, CREDENTIAL, PROJECT];

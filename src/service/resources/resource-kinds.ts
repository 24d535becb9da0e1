import type { Field, FieldSet, Relation } from '../listing/fields.ts';
import { variablesProblem } from '../playbooks/variables.ts';
import type { ResourceName, ResourceRecord, ResourceType } from '../store/resources.ts';
import { fixedFields, hiddenFixedFields } from './fixed-fields.ts';
import { namedSegment } from './request-values.ts';
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
  /** The segment of its named URL. */
  readonly named: (resource: ResourceRecord) => string;
  /** What the names in a named URL mean; null if they cannot mean one. */
  readonly nameIn: (names: readonly string[]) => ResourceName | null;
  /** Further related addresses. */
  readonly related: (resource: ResourceRecord) => Readonly<Record<string, string>>;
}

const VARIABLES: Field = {
  type: 'json',
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

/** The hosts of an inventory. Who sees the inventory sees them. */
const HOSTS: Relation = {
  ...namedRelation('r'),
  many: { from: 'main_host r', on: 'r.inventory_id = x.id' },
};

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
      ...(type === 'host'
        ? { inventory: { ...namedRelation('i'), relations: { organization: namedRelation('o') } } }
        : { organization: namedRelation('o') }),
      ...(type === 'inventory' && { hosts: HOSTS }),
    },
    searchFields: ['name', 'description'],
    order: ['name'],
  };
}

const IN_ORGANIZATION = {
  named: ({ name, organization_name }) => namedSegment([name, organization_name ?? '']),
  nameIn: ([name, organization, ...more]) =>
    name === undefined || organization === undefined || more.length > 0 ? null : { name, organization },
} satisfies Pick<Kind, 'named' | 'nameIn'>;

/** The type of all credentials, as named URLs have it: the name and the kind. */
const MACHINE = 'Machine+ssh';

export const INVENTORY: Kind = {
  type: 'inventory',
  path: '/api/v2/inventories/',
  label: 'Inventory',
  plural: 'Inventories',
  organization: 'x.organization_id',
  fields: fields('inventory', {
    organization: organization({ required: true }),
    variables: VARIABLES,
    ...fixedFields({
      kind: ['', 'have smart or constructed inventories'],
      host_filter: [null, 'have smart inventories'],
      prevent_instance_group_fallback: [false, 'have instance groups'],
    }),
    total_hosts: { type: 'integer', label: 'Total hosts', helpText: 'Number of hosts in this inventory.' },
  }),
  nameTaken: 'Inventory with this Name and Organization already exists.',
  usedBy: 'inventory_id',
  ...IN_ORGANIZATION,
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
    ...fixedFields({ instance_id: ['', 'have inventory sources'] }),
  }),
  nameTaken: 'Host with this Name and Inventory already exists.',
  named: ({ name, inventory_name, organization_name }) =>
    namedSegment([name, inventory_name ?? '', organization_name ?? '']),
  nameIn: ([name, inventory, organization, ...more]) =>
    name === undefined || inventory === undefined || organization === undefined || more.length > 0
      ? null
      : { name, inventory, organization },
  related: () => ({}),
};

/** Credentials. They hold no secrets in this service. */
export const CREDENTIAL: Kind = {
  type: 'credential',
  path: '/api/v2/credentials/',
  label: 'Credential',
  plural: 'Credentials',
  organization: 'x.organization_id',
  fields: fields('credential', {
    organization: organization({}),
    ...hiddenFixedFields({
      credential_type: [null, 'have types of credentials'],
      inputs: [{}, 'store the secrets of credentials'],
      user: [null, 'have credentials of users: give an organization'],
      team: [null, 'have credentials of teams: give an organization'],
    }),
  }),
  nameTaken: 'Credential with this Name and Organization already exists.',
  named: ({ name, organization_name }) =>
    `${namedSegment([name])}++${MACHINE}++${namedSegment([organization_name ?? ''])}`,
  // The controller's has the type as well; all are of this one.
  nameIn: (names) => IN_ORGANIZATION.nameIn(names[1] === MACHINE ? names.toSpliced(1, 1) : names),
  related: () => ({}),
};

const FETCH =
  'fetch projects: put the playbooks into a folder of the projects folder, and give it as local_path';

/**
 * Projects: each is a folder with playbooks on the machine of the service, as a manual project of the
 * controller.
 */
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
  nameTaken: 'Project with this (name, organization) combination already exists.',
  usedBy: 'project_id',
  ...IN_ORGANIZATION,
  related: ({ id }) => ({ playbooks: `/api/v2/projects/${id}/playbooks/` }),
};

export const KINDS: readonly Kind[] = [INVENTORY, HOST, CREDENTIAL, PROJECT];

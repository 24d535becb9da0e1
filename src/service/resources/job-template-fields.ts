import type { FieldSet } from '../listing/fields.ts';

const name = { type: 'string', label: 'Name' } as const;

/** The fields of a job template. */
export const jobTemplateFields: FieldSet = {
  type: 'job_template',
  fields: {
    id: { type: 'integer', label: 'ID', column: 'x.id' },
    type: { type: 'choice', label: 'Type', choices: [['job_template', 'Job template']] },
    url: { type: 'string', label: 'Url' },
    related: { type: 'object', label: 'Related' },
    summary_fields: { type: 'object', label: 'Summary fields' },
    created: { type: 'datetime', label: 'Created', column: 'x.created' },
    modified: { type: 'datetime', label: 'Modified', column: 'x.modified' },
    name: {
      ...name,
      column: 'x.name',
      writable: 'change',
      required: true,
      maxLength: 512,
    },
    description: {
      type: 'string',
      label: 'Description',
      column: 'x.description',
      writable: 'change',
      defaultValue: '',
    },
    job_type: { type: 'choice', label: 'Job type', choices: [['run', 'Run']] },
    inventory: {
      type: 'id',
      label: 'Inventory',
      helpText: 'The hosts that it runs on.',
      column: 'x.inventory_id',
      writable: 'change',
      required: true,
    },
    project: {
      type: 'id',
      label: 'Project',
      helpText: 'Where the playbook is. Its organization is the job template’s.',
      column: 'x.project_id',
      writable: 'change',
      required: true,
    },
    organization: { type: 'id', label: 'Organization', column: 'x.organization_id' },
    playbook: {
      type: 'string',
      label: 'Playbook',
      helpText: 'A path within the project.',
      column: 'x.playbook',
      writable: 'change',
      required: true,
      maxLength: 1024,
    },
    limit: {
      type: 'string',
      label: 'Limit',
      helpText: 'A host pattern; empty for all hosts of the inventory.',
      column: 'x."limit"',
      writable: 'change',
      defaultValue: '',
      maxLength: 1024,
    },
    ask_limit_on_launch: {
      type: 'boolean',
      label: 'Ask for the limit on launch',
      helpText: 'Whether who launches it may give another limit.',
      column: 'x.ask_limit_on_launch',
      writable: 'change',
      defaultValue: false,
    },
  },
  relations: {
    organization: { searchFields: ['name'], fields: { name: { ...name, column: 'o.name' } } },
    inventory: { searchFields: ['name'], fields: { name: { ...name, column: 'i.name' } } },
    project: { searchFields: ['name'], fields: { name: { ...name, column: 'p.name' } } },
  },
  searchFields: ['name', 'description'],
  order: ['name'],
};

import type { FieldSet } from '../listing/fields.ts';

/** The fields of an organization. */
export const organizationFields: FieldSet = {
  type: 'organization',
  fields: {
    id: { type: 'integer', label: 'ID', helpText: 'Database ID of this organization.', column: 'o.id' },
    type: {
      type: 'choice',
      label: 'Type',
      helpText: 'What kind of record this is.',
      choices: [['organization', 'Organization']],
    },
    url: { type: 'string', label: 'Url', helpText: 'Address of this organization.' },
    related: { type: 'object', label: 'Related', helpText: 'Addresses of what belongs to it.' },
    summary_fields: { type: 'object', label: 'Summary fields', helpText: 'Who made and changed it.' },
    created: { type: 'datetime', label: 'Created', helpText: 'When it was made.', column: 'o.created' },
    modified: {
      type: 'datetime',
      label: 'Modified',
      helpText: 'When it was last changed.',
      column: 'o.modified',
    },
    name: {
      type: 'string',
      label: 'Name',
      helpText: 'Name of this organization.',
      column: 'o.name',
      writable: 'change',
      required: true,
      maxLength: 512,
    },
    description: {
      type: 'string',
      label: 'Description',
      helpText: 'What it is for.',
      column: 'o.description',
      writable: 'change',
      defaultValue: '',
    },
    max_hosts: {
      type: 'integer',
      label: 'Max hosts',
      helpText: 'How many hosts it may have; 0 sets no limit.',
      column: 'o.max_hosts',
      writable: 'change',
      defaultValue: 0,
    },
  },
  relations: {},
  searchFields: ['name', 'description'],
  order: ['name'],
};

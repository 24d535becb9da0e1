import type { FieldSet, Relation } from '../listing/fields.ts';
import { PAGE_SIZE } from './fields.ts';

const OPERATIONS = ['create', 'update', 'delete', 'associate', 'disassociate'];

const contentType = (row: 'c' | 'r'): Relation => ({
  searchFields: ['model'],
  fields: {
    id: { type: 'integer', label: 'ID', column: `${row}.id` },
    app_label: { type: 'string', label: 'Application', column: `${row}.app_label` },
    model: { type: 'string', label: 'Model', column: `${row}.model` },
  },
});

/** The fields of an entry of the gateway's activity stream. */
export const entryFields: FieldSet = {
  type: 'entry',
  fields: {
    id: { type: 'integer', label: 'ID', helpText: 'Database ID of this entry.', column: 'e.id' },
    url: { type: 'string', label: 'Url', helpText: 'Address of this entry.' },
    related: { type: 'object', label: 'Related', helpText: 'The address of who did it.' },
    summary_fields: { type: 'object', label: 'Summary fields', helpText: 'Who did it, in short.' },
    created: { type: 'datetime', label: 'Created', helpText: 'When it was done.', column: 'e.created' },
    created_by: { type: 'id', label: 'Created by', helpText: 'Who did it.', column: 'e.created_by_id' },
    operation: {
      type: 'choice',
      label: 'Operation',
      helpText: 'What was done.',
      column: 'e.operation',
      choices: OPERATIONS.map((name) => [name, name] as const),
    },
    changes: { type: 'object', label: 'Changes', helpText: 'What was added, removed and changed.' },
    content_type: {
      type: 'id',
      label: 'Content type',
      helpText: 'The kind of what it was done to.',
      column: 'e.content_type_id',
    },
    object_id: {
      type: 'string',
      label: 'Object ID',
      helpText: 'The ID of what it was done to, as text.',
      column: 'e.object_id',
    },
    related_content_type: {
      type: 'id',
      label: 'Related content type',
      column: 'e.related_content_type_id',
    },
    related_object_id: { type: 'string', label: 'Related object ID', column: 'e.related_object_id' },
    content_type_model: { type: 'string', label: 'Content type model' },
    related_content_type_model: { type: 'string', label: 'Related content type model' },
  },
  relations: {
    content_type: contentType('c'),
    related_content_type: contentType('r'),
    created_by: {
      searchFields: ['username', 'first_name', 'last_name'],
      fields: {
        id: { type: 'integer', label: 'ID', column: 'u.id' },
        username: { type: 'string', label: 'Username', column: 'u.username' },
        first_name: { type: 'string', label: 'First name', column: 'u.first_name' },
        last_name: { type: 'string', label: 'Last name', column: 'u.last_name' },
      },
    },
  },
  searchFields: ['object_id'],
  order: ['id'],
  pageSize: PAGE_SIZE,
};

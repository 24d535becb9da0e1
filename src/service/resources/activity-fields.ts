import type { FieldSet } from '../listing/fields.ts';

/**
 * The fields of an entry of the activity stream. Of what an entry is about, only what the entry shows of it
 * can be filtered by: who sees the entry need not see all of that.
 */
export const activityFields: FieldSet = {
  type: 'activity_stream',
  fields: {
    id: { type: 'integer', label: 'ID', helpText: 'Database ID of this entry.', column: 's.id' },
    type: {
      type: 'choice',
      label: 'Type',
      helpText: 'What kind of record this is.',
      choices: [['activity_stream', 'Activity stream']],
    },
    url: { type: 'string', label: 'Url', helpText: 'Address of this entry.' },
    related: { type: 'object', label: 'Related', helpText: 'Addresses of what it is about.' },
    summary_fields: { type: 'object', label: 'Summary fields', helpText: 'What it is about, in short.' },
    timestamp: {
      type: 'datetime',
      label: 'Timestamp',
      helpText: 'When it happened.',
      column: 's.timestamp',
    },
    operation: {
      type: 'choice',
      label: 'Operation',
      helpText: 'What was done.',
      column: 's.operation',
      choices: [
        ['create', 'Entity Created'],
        ['update', 'Entity Updated'],
        ['delete', 'Entity Deleted'],
        ['associate', 'Entity Associated with another Entity'],
        ['disassociate', 'Entity was Disassociated with another Entity'],
      ],
    },
    changes: {
      type: 'object',
      label: 'Changes',
      helpText: 'New and changed values; secrets are masked.',
      column: 's.changes',
    },
    object1: {
      type: 'string',
      label: 'Object1',
      helpText: 'What kind of thing was changed.',
      column: 's.object1',
    },
    object2: {
      type: 'string',
      label: 'Object2',
      helpText: 'What kind of thing it was associated with.',
      column: 's.object2',
    },
    object_association: {
      type: 'field',
      label: 'Object association',
      helpText: 'As what the two were associated.',
    },
    action_node: {
      type: 'string',
      label: 'Action node',
      helpText: 'The node that did it.',
      column: 's.action_node',
    },
    object_type: { type: 'field', label: 'Object type', helpText: 'Whose association it is.' },
    actor: { type: 'id', label: 'Actor', column: 's.actor_id', hidden: true },
    user: { type: 'id', label: 'User', column: 'b.id', hidden: true },
    organization: { type: 'id', label: 'Organization', column: 'o.id', hidden: true },
    o_auth2_access_token: { type: 'id', label: 'Access token', column: 't.id', hidden: true },
    o_auth2_application: { type: 'id', label: 'Application', column: 'a.id', hidden: true },
    object_relationship_type: {
      type: 'string',
      label: 'Relationship',
      column: 's.object_relationship_type',
      hidden: true,
    },
  },
  relations: {
    actor: person('u'),
    user: person('b'),
    organization: named('o'),
    o_auth2_application: named('a'),
    o_auth2_access_token: {
      searchFields: ['description'],
      fields: {
        id: { type: 'integer', label: 'ID', column: 't.id' },
        description: { type: 'string', label: 'Description', column: 't.description' },
        scope: { type: 'string', label: 'Scope', column: 't.scope' },
        user: { type: 'id', label: 'User', column: 't.user_id' },
        application: { type: 'id', label: 'Application', column: 't.application_id' },
        token: { type: 'string', label: 'Token', column: 't.token', secret: true },
      },
    },
  },
  searchFields: ['changes'],
  order: ['id'],
};

function person(alias: 'u' | 'b'): FieldSet['relations'][string] {
  return {
    searchFields: ['username', 'first_name', 'last_name'],
    fields: {
      id: { type: 'integer', label: 'ID', column: `${alias}.id` },
      username: { type: 'string', label: 'Username', column: `${alias}.username` },
      first_name: { type: 'string', label: 'First name', column: `${alias}.first_name` },
      last_name: { type: 'string', label: 'Last name', column: `${alias}.last_name` },
      password: { type: 'string', label: 'Password', column: `${alias}.password`, secret: true },
    },
  };
}

function named(alias: 'o' | 'a'): FieldSet['relations'][string] {
  return {
    searchFields: ['name', 'description'],
    fields: {
      id: { type: 'integer', label: 'ID', column: `${alias}.id` },
      name: { type: 'string', label: 'Name', column: `${alias}.name` },
      description: { type: 'string', label: 'Description', column: `${alias}.description` },
    },
  };
}

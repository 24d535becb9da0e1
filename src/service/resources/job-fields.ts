import type { FieldSet } from '../listing/fields.ts';

const name = { type: 'string', label: 'Name' } as const;
const STATUSES = ['pending', 'running', 'successful', 'failed', 'error', 'canceled'];

/** The fields of a job. None can be written: a job is made by launching a template. */
export const jobFields: FieldSet = {
  type: 'job',
  fields: {
    id: { type: 'integer', label: 'ID', column: 'x.id' },
    type: { type: 'choice', label: 'Type', choices: [['job', 'Job']] },
    url: { type: 'string', label: 'Url' },
    related: { type: 'object', label: 'Related' },
    summary_fields: { type: 'object', label: 'Summary fields' },
    created: { type: 'datetime', label: 'Created', column: 'x.created' },
    modified: { type: 'datetime', label: 'Modified', column: 'x.modified' },
    name: { ...name, column: 'x.name' },
    description: { type: 'string', label: 'Description', column: 'x.description' },
    launch_type: { type: 'choice', label: 'Launch type', choices: [['manual', 'Manual']] },
    status: {
      type: 'choice',
      label: 'Status',
      column: 'x.status',
      choices: STATUSES.map((status) => [status, `${status[0]?.toUpperCase()}${status.slice(1)}`]),
    },
    failed: {
      type: 'boolean',
      label: 'Failed',
      column: "(x.status IN ('failed', 'error', 'canceled'))",
    },
    started: { type: 'datetime', label: 'Started', column: 'x.started' },
    finished: { type: 'datetime', label: 'Finished', column: 'x.finished' },
    elapsed: { type: 'integer', label: 'Elapsed', helpText: 'Seconds that it has run.' },
    job_explanation: { type: 'string', label: 'Explanation', column: 'x.job_explanation' },
    execution_node: { type: 'string', label: 'Execution node', column: 'x.execution_node' },
    job_type: { type: 'choice', label: 'Job type', choices: [['run', 'Run']] },
    playbook: { type: 'string', label: 'Playbook', column: 'x.playbook' },
    limit: { type: 'string', label: 'Limit', column: 'x."limit"' },
    job_template: { type: 'id', label: 'Job template', column: 'x.job_template_id' },
    inventory: { type: 'id', label: 'Inventory', column: 'x.inventory_id' },
    project: { type: 'id', label: 'Project', column: 'x.project_id' },
    organization: { type: 'id', label: 'Organization', column: 'x.organization_id' },
    created_by: { type: 'id', label: 'Created by', column: 'x.created_by_id', hidden: true },
  },
  relations: {
    job_template: { searchFields: ['name'], fields: { name: { ...name, column: 'j.name' } } },
    organization: { searchFields: ['name'], fields: { name: { ...name, column: 'o.name' } } },
    inventory: { searchFields: ['name'], fields: { name: { ...name, column: 'i.name' } } },
    project: { searchFields: ['name'], fields: { name: { ...name, column: 'p.name' } } },
    created_by: {
      searchFields: ['username'],
      fields: { username: { type: 'string', label: 'Username', column: 'u.username' } },
    },
  },
  searchFields: ['name', 'description'],
  order: ['id'],
};

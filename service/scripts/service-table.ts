/**
 * Writes the table of what the service serves of the controller's API into service/docs/service.md, from the service's own description of
 * its routes: `node service/scripts/service-table.ts`. A test compares.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { Secret } from '@tokenctl/common/secret.ts';
import { startService } from '../src/server.ts';

const PAGE = new URL('../docs/service.md', import.meta.url);
const MARKS = [
  '<!-- resources: node service/scripts/service-table.ts -->',
  '<!-- end of resources -->',
] as const;

/** The collections of a controller 24.6.1 (`/api/v2/`) that hold resources. */
const CONTROLLER = [
  ...[
    'activity_stream',
    'ad_hoc_commands',
    'applications',
    'constructed_inventory',
    'credential_input_sources',
  ],
  ...['credential_types', 'credentials', 'execution_environments', 'groups', 'host_metrics', 'hosts'],
  ...[
    'instance_groups',
    'instances',
    'inventories',
    'inventory_sources',
    'inventory_updates',
    'job_templates',
  ],
  ...[
    'jobs',
    'labels',
    'notification_templates',
    'notifications',
    'organizations',
    'project_updates',
    'projects',
  ],
  ...['receptor_addresses', 'role_definitions', 'role_team_assignments', 'role_user_assignments', 'roles'],
  ...[
    'schedules',
    'settings',
    'system_job_templates',
    'system_jobs',
    'teams',
    'tokens',
    'unified_job_templates',
  ],
  ...['unified_jobs', 'users', 'workflow_approvals', 'workflow_job_nodes', 'workflow_job_template_nodes'],
  ...['workflow_job_templates', 'workflow_jobs'],
];

/** What the table needs of the description at `/api/v2/openapi.json`. */
export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly description?: string;
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { readonly properties?: Properties } }>>;
  };
}

type Properties = Readonly<Record<string, { readonly const?: unknown; readonly description?: string }>>;

/** The table, between its marks. */
export function resourceTable({ paths }: ApiDescription): string {
  const rows = CONTROLLER.filter((name) => `/api/v2/${name}/` in paths).map((name) => row(paths, name));
  const missing = CONTROLLER.filter((name) => !(`/api/v2/${name}/` in paths));
  return [
    MARKS[0],
    '',
    '| resource | list | create | change | delete | related addresses | rejected fields |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Not served (404): ${missing.map((name) => `\`${name}\``).join(', ')}, and all further related addresses.`,
    '',
    MARKS[1],
  ].join('\n');
}

function row(paths: ApiDescription['paths'], name: string): string {
  const collection = paths[`/api/v2/${name}/`] ?? {};
  const [detail = ''] = Object.keys(paths).filter((path) =>
    new RegExp(`^/api/v2/${name}/\\{\\w+\\}/$`).test(path),
  );
  const one = paths[detail] ?? {};
  const related = Object.keys(paths)
    .filter((path) => path.startsWith(`/api/v2/${name}/{`) && path !== detail)
    .map((path) => {
      const isEmpty = paths[path]?.['get']?.description?.startsWith('Always empty') === true;
      return `\`${path.split('/').slice(5, -1).join('/')}\`${isEmpty ? ' (always empty)' : ''}`;
    });
  const isEmpty = collection['get']?.description?.startsWith('This service has none') === true;
  const properties = collection['post']?.requestBody?.content['application/json']?.schema.properties ?? {};
  const refused = Object.entries(properties).filter(([, property]) => 'const' in property);
  const cells = [
    `\`${name}\``,
    isEmpty ? 'always empty' : state(collection, 'get'),
    state(collection, 'post'),
    state(one, 'patch'),
    state(one, 'delete'),
    related.join(', '),
    refused.map(([field]) => `\`${field}\``).join(', '),
  ];
  return `| ${cells.join(' | ')} |`;
}

function state(item: Readonly<Record<string, Operation>>, method: string): string {
  return method in item ? 'yes' : '–';
}

/** Puts the table into the page. */
function withTable(page: string, table: string): string {
  const from = page.indexOf(MARKS[0]);
  const to = page.indexOf(MARKS[1]);
  if (from === -1 || to === -1)
    throw new Error('service/docs/service.md has no marks for the table of resources');
  return page.slice(0, from) + table + page.slice(to + MARKS[1].length);
}

if (import.meta.main) {
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    database: { folder: null },
    adminPassword: new Secret('only-for-the-table'),
    version: '0.0.0',
    logLevel: 'silent',
  });
  const description = (await (await fetch(`${service.url}/api/v2/openapi.json`)).json()) as ApiDescription;
  await service.close();
  await writeFile(PAGE, withTable(await readFile(PAGE, 'utf8'), resourceTable(description)));
}

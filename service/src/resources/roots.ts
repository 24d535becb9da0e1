import { words } from '@tokenctl/common/text.ts';
import type { FastifyInstance } from 'fastify';
import { canSeeEverything } from '../access.ts';
import { csrfToken } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { serveEndpoint, servePublic } from '../endpoint.ts';
import { projectFolders } from '../playbooks/projects-folder.ts';
import { currentSettings } from '../settings/settings.ts';
import { loginProviders } from '../sso/configuration.ts';
import { projectFoldersInUse } from '../store/resources.ts';

/** `/api/`, `/api/v2/`, `/api/v2/ping/`, `/api/v2/auth/`, `/api/v2/config/`, and the empty collections. */
export function serveRoots(app: FastifyInstance, service: ServiceContext): void {
  servePublic(app, {
    path: '/api/',
    summary: 'The versions of the API',
    get: async (request, reply) => {
      csrfToken(request, reply);
      const { LOGIN_REDIRECT_OVERRIDE } = await currentSettings(service.database);
      return {
        description: 'Automation service REST API',
        current_version: '/api/v2/',
        available_versions: { v2: '/api/v2/' },
        oauth2: '/api/o/',
        custom_logo: '',
        custom_login_info: '',
        login_redirect_override: LOGIN_REDIRECT_OVERRIDE,
      };
    },
  });
  servePublic(app, {
    path: '/api/v2/',
    summary: 'The API collections',
    get: () => Promise.resolve(addresses()),
  });
  servePublic(app, {
    path: '/api/v2/ping/',
    summary: 'Version and node of the service',
    get: () => ping(service),
  });
  servePublic(app, {
    path: '/api/v2/auth/',
    summary: 'The identity providers available for login',
    get: async (request) => {
      const base = request.issuer;
      const providers = await loginProviders(service);
      return Object.fromEntries(
        providers.map(({ backend, idp, path }) => [
          idp === null ? backend : `${backend}:${idp}`,
          {
            login_url: path,
            complete_url: `${base}/sso/complete/${backend}/`,
            ...(idp !== null && { metadata_url: `${base}/sso/metadata/saml/` }),
          },
        ]),
      );
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/config/',
    name: 'Configuration',
    description:
      'Version and time zone of the service, the lifetime of new tokens, and the directories that no project uses yet.',
    handlers: {
      GET: async ({ caller }) => ({
        time_zone: 'UTC',
        version: service.version,
        eula: '',
        // Not on the controller, whose users learn it from their first token.
        access_token_expire_seconds: (await currentSettings(service.database)).OAUTH2_PROVIDER
          .ACCESS_TOKEN_EXPIRE_SECONDS,
        // As on the controller: not for users who cannot create a project.
        ...((canSeeEverything(caller.user) || caller.user.admin_of.length > 0) &&
          (await freeFolders(service))),
      }),
    },
  });
  for (const name of EMPTY) {
    serveEndpoint(app, service, {
      path: `/api/v2/${name}/`,
      name: `${name[0]?.toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`,
      description:
        'This service has none. The collection exists for clients that request it from every controller.',
      handlers: { GET: () => Promise.resolve({ count: 0, next: null, previous: null, results: [] }) },
    });
  }
}

/** Empty collections, which the awx CLI requests before every command on users or for an export. */
const EMPTY = [
  ...['workflow_job_templates', 'instance_groups', 'notification_templates', 'inventory_sources'],
  ...['execution_environments', 'schedules', 'system_job_templates', 'labels'],
];

const COLLECTIONS = [
  ...words(`ping config settings me dashboard organizations users teams roles projects credential_types credentials
    applications tokens inventory hosts groups job_templates jobs unified_jobs metrics activity_stream`),
  ...EMPTY,
];

/** The projects folder, and its folders that a new project can use. */
async function freeFolders({ database, jobs }: ServiceContext): Promise<Record<string, unknown>> {
  const used = await projectFoldersInUse(database);
  const folders = await projectFolders(jobs.projects);
  return {
    project_base_dir: jobs.projects,
    project_local_paths: folders.filter((folder) => !used.has(folder)),
  };
}

/** The collections by name. Only here, the controller calls its inventories `inventory`. */
function addresses(): Record<string, string> {
  const path = (name: string) => `/api/v2/${name === 'inventory' ? 'inventories' : name}/`;
  return Object.fromEntries(COLLECTIONS.map((name) => [name, path(name)]));
}

async function ping(service: ServiceContext): Promise<Record<string, unknown>> {
  const { INSTALL_UUID } = await currentSettings(service.database);
  return {
    ha: false,
    version: service.version,
    active_node: service.node,
    install_uuid: INSTALL_UUID,
    instances: [],
    instance_groups: [],
  };
}

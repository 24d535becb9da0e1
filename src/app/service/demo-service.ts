import { access, constants, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { randomText } from '@tokenctl/service/auth/secret-hashes.ts';
import { type SampleEstate, sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { sampleOperations } from '@tokenctl/service/sample/operations.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import { storeOperations, writeSamplePlaybooks } from '@tokenctl/service/sample/store-operations.ts';
import { type RunningService, startService } from '@tokenctl/service/server.ts';
import type { Environment } from '../../config/paths.ts';

export const DEMO_SIZE = { users: 320, tokens: 2000 } as const;

/** The demo's own service with a sample estate, and a folder for files of the commands. */
export interface DemoService {
  readonly service: RunningService;
  readonly estate: SampleEstate;
  readonly folder: string;
  /** For the demo's own requests. */
  readonly adminPassword: Secret;
  /** The environment through which commands find the service, with the awx CLI's variables including the password. */
  readonly environment: Environment;
  /** Stops the service and removes the folder. */
  close(): Promise<void>;
}

/** Starts a service in memory, on a free port, with a sample estate. */
export async function startDemoService(version: string, environment: Environment): Promise<DemoService> {
  const folder = await mkdtemp(join(tmpdir(), 'tokenctl-demo-'));
  const adminPassword = new Secret(randomText(16));
  const projects = join(folder, 'projects');
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    database: { folder: null },
    adminPassword,
    projects,
    // Its playbooks only print messages, and bubblewrap need not be installed.
    jobs: { localConnection: true, asService: true },
    version,
    logLevel: 'error',
  });
  const now = new Date();
  const estate = sampleEstate(DEMO_SIZE, { now });
  await storeEstate(service.database, estate);
  await writeSamplePlaybooks(projects);
  await storeOperations(service.database, sampleOperations(estate, { now }));
  if (await isInstalled('ansible-playbook', environment)) await launchSampleJob(service.url, adminPassword);
  await writeFile(join(folder, 'admin-password'), `${adminPassword.reveal()}\n`, { mode: 0o600 });
  return {
    service,
    estate,
    folder,
    adminPassword,
    environment: {
      ...withoutTargets(environment),
      XDG_CONFIG_HOME: folder,
      XDG_STATE_HOME: folder,
      CONTROLLER_HOST: service.url,
      CONTROLLER_USERNAME: 'admin',
      CONTROLLER_PASSWORD: adminPassword.reveal(),
    },
    async close() {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function isInstalled(program: string, { PATH = '' }: Environment): Promise<boolean> {
  const found = PATH.split(delimiter).map((folder) =>
    access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(found)).includes(true);
}

/** Today's job, in addition to those of the last month. It really runs during the demo. */
async function launchSampleJob(url: string, password: Secret): Promise<void> {
  const basic = Buffer.from(`admin:${password.reveal()}`).toString('base64');
  const send = (path: string, method: string) =>
    fetch(`${url}${path}`, { method, headers: { authorization: `Basic ${basic}` } });
  const found = await send(
    `/api/v2/job_templates/?${new URLSearchParams({ name: 'Check certificates' })}`,
    'GET',
  );
  const { results } = (await found.json()) as { readonly results: readonly { readonly id: number }[] };
  const [template] = results;
  if (template !== undefined) await send(`/api/v2/job_templates/${template.id}/launch/`, 'POST');
}

/** The demo uses only its own service, whatever controller the environment names. */
function withoutTargets(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(CONTROLLER|TOWER|TOKENCTL)_/.test(name)),
  );
}

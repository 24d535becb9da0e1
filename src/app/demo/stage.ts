import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../config/paths.ts';
import { Secret } from '../../domain/secret.ts';
import { randomText } from '../../service/auth/secret-hashes.ts';
import { type SampleEstate, sampleEstate } from '../../service/sample/estate.ts';
import { storeEstate } from '../../service/sample/store-estate.ts';
import { type RunningService, startService } from '../../service/server.ts';

const SIZE = { users: 320, tokens: 5000 } as const;

/** What the demo plays on: a service of its own with a sample estate, and a folder for what commands write. */
export interface DemoService {
  readonly service: RunningService;
  readonly estate: SampleEstate;
  readonly folder: string;
  /** The superuser's password, for the demo's own requests. */
  readonly adminPassword: Secret;
  /** The environment in which commands find the service, by the awx CLI's variables, with the password. */
  readonly environment: Environment;
  /** Ends the service and removes the folder. */
  close(): Promise<void>;
}

/** Starts a service in memory, on a free port, with a sample estate in it. */
export async function startDemoService(version: string, environment: Environment): Promise<DemoService> {
  const folder = await mkdtemp(join(tmpdir(), 'tokenctl-demo-'));
  const adminPassword = new Secret(randomText(16));
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    database: { folder: null },
    adminPassword,
    version,
    logLevel: 'error',
  });
  const estate = sampleEstate(SIZE, { now: new Date() });
  await storeEstate(service.database, estate);
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

/** The demo works on its own service only, whatever controller the surroundings name. */
function withoutTargets(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(CONTROLLER|TOWER|TOKENCTL)_/.test(name)),
  );
}

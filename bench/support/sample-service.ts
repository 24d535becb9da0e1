// A worker: the automation service on its embedded database, with a sample estate in it.
import { parentPort, workerData } from 'node:worker_threads';
import { Secret } from '@tokenctl/common/secret.ts';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import { startService } from '@tokenctl/service/server.ts';

const { tokens, password } = workerData as { readonly tokens: number; readonly password: string };
const service = await startService({
  host: '127.0.0.1',
  port: 0,
  database: { folder: null },
  adminPassword: new Secret(password),
  version: '0',
  logLevel: 'error',
});
await storeEstate(service.database, sampleEstate({ users: 300, tokens }, { now: new Date() }));
parentPort?.postMessage(service.url);

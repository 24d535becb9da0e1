// A process of its own: the automation service on DATABASE_URL, or else on its embedded database, with a sample estate and a
// job whose output is 4 MiB. Password hashes are as slow as a real service's.
import { Secret } from '@tokenctl/common/secret.ts';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import { startService } from '@tokenctl/service/server.ts';

const url = process.env['DATABASE_URL'];
const service = await startService({
  host: '127.0.0.1',
  port: 0,
  database: url === undefined ? { folder: null } : { url: new Secret(url) },
  adminPassword: new Secret('bench'),
  version: '0',
  logLevel: 'error',
});
await storeEstate(service.database, sampleEstate({ users: 300, tokens: 3_000 }, { now: new Date() }));
await service.database.script(`
  INSERT INTO service_job (id, created, modified, name, status, started, finished, playbook, runner, organization_id)
    VALUES (1, now(), now(), 'Large', 'successful', now(), now(), 'hello_world.yml', gen_random_uuid(), 1);
  INSERT INTO service_job_output (job_id, number, content)
    SELECT 1, n, repeat('ok: [host-' || n || '] => {"changed": false, "msg": "a line of the output"}' || chr(10), 512)
    FROM generate_series(0, 127) n`);
process.send?.(service.url);
process.once('disconnect', () => process.exit());

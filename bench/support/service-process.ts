// A process of its own: the automation service on the PostgreSQL database of DATABASE_URL.
import { Secret } from '@tokenctl/common/secret.ts';
import { startService } from '@tokenctl/service/server.ts';

const service = await startService({
  host: '127.0.0.1',
  port: 0,
  database: { url: new Secret(process.env['DATABASE_URL'] ?? '') },
  adminPassword: new Secret('bench'),
  version: '0',
  logLevel: 'error',
});
process.send?.(service.url);
process.once('disconnect', () => process.exit());

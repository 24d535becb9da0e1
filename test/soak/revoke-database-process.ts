import { Secret } from '@tokenctl/common/secret.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { planRevocation } from '../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../src/operations/revocation/revoke-tokens.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';

// Revokes every token of the database at the first argument, recording in the log at the second. Says "started"
// when it begins to revoke, and the report at the end.
const [url = '', path = ''] = process.argv.slice(2);
const clock = { now: () => new Date() };
const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
const log = openFileLog({ path, clock });
const description = await target.describe();
const plan = await planRevocation({ target, selector: { all: true }, clock });
process.stdout.write('started\n');
const report = await revokeTokens({
  target,
  description,
  plan,
  log,
  clock,
  actor: { user: 'test' },
  batchSize: 250,
});
await Promise.all([target.close(), log.close()]);
process.stdout.write(`${JSON.stringify(report)}\n`);

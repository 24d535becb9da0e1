import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { openControllerApi } from '../../../src/targets/controller-api/controller-api.ts';

// Revokes every token of the controller at the first argument, recording in the log at the second.
const [address = '', path = ''] = process.argv.slice(2);
const clock = { now: () => new Date() };
const credential = { kind: 'password', username: 'admin', password: new Secret('secret') } as const;
const target = openControllerApi({ context: 'test', address, credential, verifyTls: true });
const log = openFileLog({ path, clock });
const description = await target.describe();
const plan = await planRevocation({ target, selector: { all: true }, clock });
const report = await revokeTokens({
  target,
  description,
  plan,
  log,
  clock,
  actor: { user: 'test' },
  batchSize: 100,
});
await target.close();
process.stdout.write(JSON.stringify(report));

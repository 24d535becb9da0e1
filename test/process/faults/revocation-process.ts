import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { openControllerApi } from '../../../src/targets/controller-api/controller-api.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { deathAt, dyingLog, dyingTarget } from '../../support/dying.ts';

// Revokes every token of the controller at the first argument, an address or a database's URL, in small batches,
// recording in the log at the second; and kills itself at the point that the third and fourth name.
const [place = '', path = '', point = 'never', at = '0'] = process.argv.slice(2);
const clock = { now: () => new Date() };
const credential = { kind: 'password', username: 'admin', password: new Secret('secret') } as const;
const opened = place.startsWith('http')
  ? openControllerApi({ context: 'test', address: place, credential, verifyTls: true })
  : await openDatabaseTarget({ context: 'test', connection: new Secret(place) });
const pass = deathAt(point, Number(at));
const target = dyingTarget(opened, pass);
const log = dyingLog(openFileLog({ path, clock }), pass);
const description = await target.describe();
const plan = await planRevocation({ target, selector: { all: true }, clock });
const actor = { user: 'test' };
const report = await revokeTokens({ target, description, plan, log, clock, actor, batchSize: 2 });
await Promise.all([target.close(), log.close()]);
process.stdout.write(JSON.stringify(report));

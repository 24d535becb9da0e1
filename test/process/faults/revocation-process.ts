import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { deathAt, dyingLog, dyingTarget } from '../../support/dying.ts';
import { openPlace, revokeAll } from './revocation-work.ts';

// Revokes every token of the controller at the first argument, an address or a database's URL, recording in the log at
// the second, in batches of the size of the third; and kills itself at the point that the fourth and fifth name.
const [place = '', path = '', batchSize = '', point = 'never', at = '0'] = process.argv.slice(2);
const pass = deathAt(point, Number(at));
const target = dyingTarget(await openPlace(place), pass);
const log = dyingLog(openFileLog({ path, clock: { now: () => new Date() } }), pass);
const report = await revokeAll({ target, log, batchSize: Number(batchSize) });
await Promise.all([target.close(), log.close()]);
process.stdout.write(JSON.stringify(report));

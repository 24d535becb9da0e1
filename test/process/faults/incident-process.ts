import { Secret } from '@tokenctl/common/secret.ts';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { deathAt, dyingLog, dyingTarget } from '../../support/dying.ts';
import { WORKS, workOn } from './incident-work.ts';

// Locks the database of the first argument down, or does the sixth to the incident of the fifth, recording in the log at the
// second; and kills itself, as SIGKILL does, at the point that the third and fourth name.
const [url = '', path = '', point = 'never', at = '0', incident, asked] = process.argv.slice(2);
const clock = { now: () => new Date() };
const pass = deathAt(point, Number(at));

const target = dyingTarget(await openDatabaseTarget({ context: 'test', connection: new Secret(url) }), pass);
const log = dyingLog(openFileLog({ path, clock }), pass);
await workOn(
  { target, log, path },
  incident,
  WORKS.find((work) => work === asked),
);
await Promise.all([target.close(), log.close()]);
process.stdout.write('ended');

import { openLogAt } from './log-at.ts';

// Holds a run (the second argument) of a log (the first), appends an intent of it, says so, and stays.
const [place = '', run = ''] = process.argv.slice(2);
const log = openLogAt(place);
const hold = await log.lockRun(run);
await log.append({ kind: 'intent', operation: 'test.hold', run, actor: {}, target: {}, data: {} });
process.stdout.write('held\n');
setInterval(() => hold, 60_000);

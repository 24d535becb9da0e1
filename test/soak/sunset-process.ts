import { Secret } from '@tokenctl/common/secret.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { readLeases } from '../../src/operations/journal/recorded-leases.ts';
import type { AuditLog, EntryDraft } from '../../src/operations/ports/audit-log.ts';
import { planSunset, recordSunset } from '../../src/operations/sunset/sunset.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';

// Gives all tokens of the database at the first argument ends, recording in the log at the second, by the clock of the third, at most so
// many a day as the fourth says. Kills itself when so many owners have one as the fifth says.
const [url = '', path = '', instant = '', perDay = '', owners = ''] = process.argv.slice(2);
const clock = { now: () => new Date(instant) };
const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
const log = openFileLog({ path, clock });
const description = await target.describe();
const plan = await planSunset({
  ...{ target, tokens: target.tokens({ all: true }), leases: await readLeases(log, description) },
  spread: { now: clock.now(), notice: 7, days: 60, perDay: Number(perDay), weekends: false },
  ...{ maxLifetime: undefined, exceptions: [], own: [] },
});
let left = Number(owners);
const dying: AuditLog = Object.assign(Object.create(log), {
  entries: log.entries.bind(log),
  append: async (draft: EntryDraft) => {
    const entry = await log.append(draft);
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return entry;
  },
});
await recordSunset({ target, clock, log: dying, description, actor: { user: 'test' } }, plan);
await Promise.all([target.close(), log.close()]);

import { openFileLog } from '../../src/audit-log/file-log.ts';
import { Secret } from '../../src/domain/secret.ts';
import type { AuditLog } from '../../src/operations/ports/audit-log.ts';
import type { Target } from '../../src/operations/ports/target.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { workOn } from './incident-work.ts';

// Locks the database of the first argument down, or lifts the incident of the fifth, recording in the log at the
// second; and kills itself, as SIGKILL does, at the point that the third and fourth name.
const [url = '', path = '', point = 'never', at = '0', incident] = process.argv.slice(2);
const clock = { now: () => new Date() };
let passed = 0;

/** Dies where it comes to a point of this kind for the given time. */
function pass(kind: string): void {
  if (kind === point && ++passed === Number(at)) process.kill(process.pid, 'SIGKILL');
}

function dyingLog(log: AuditLog): AuditLog {
  return {
    append: async (draft) => {
      pass('before an entry');
      const entry = await log.append(draft);
      pass('after an entry');
      return entry;
    },
    entries: () => log.entries(),
    head: () => log.head(),
    verify: () => log.verify(),
    lockRun: (run) => log.lockRun(run),
    abandonedIntents: () => log.abandonedIntents(),
    close: () => log.close(),
  };
}

async function* counted<Item>(items: AsyncIterable<Item>): AsyncIterable<Item> {
  for await (const item of items) {
    pass('after a change');
    yield item;
  }
}

async function changed<Result>(act: Promise<Result>): Promise<Result> {
  const result = await act;
  pass('after a change');
  return result;
}

function dyingTarget(target: Target): Target {
  return {
    describe: () => target.describe(),
    tokens: (selector) => target.tokens(selector),
    users: (selector) => target.users(selector),
    applications: (names) => target.applications(names),
    activity: (selector) => target.activity(selector),
    lastChanges: (ids) => target.lastChanges(ids),
    ownTokenIds: () => target.ownTokenIds(),
    staysAlive: (facts) => target.staysAlive(facts),
    revoke: (ids, options) => counted(target.revoke(ids, options)),
    refreshTokens: (selector) => target.refreshTokens(selector),
    revokeRefreshTokens: (ids) => counted(target.revokeRefreshTokens(ids)),
    deleteRefreshTokens: (ids) => target.deleteRefreshTokens(ids),
    authorizationCodes: (selector) => target.authorizationCodes(selector),
    deleteAuthorizationCodes: (ids) => counted(target.deleteAuthorizationCodes(ids)),
    sessions: (selector) => target.sessions(selector),
    endSessions: (selector) => counted(target.endSessions(selector)),
    createToken: (request) => target.createToken(request),
    identify: (values) => target.identify(values),
    setUserActive: (id, active) => changed(target.setUserActive(id, active)),
    settings: {
      read: () => target.settings.read(),
      write: (change) => changed(target.settings.write(change)),
    },
    close: () => target.close(),
  };
}

const target = dyingTarget(await openDatabaseTarget({ context: 'test', connection: new Secret(url) }));
const log = dyingLog(openFileLog({ path, clock }));
await workOn({ target, log, path }, incident);
await Promise.all([target.close(), log.close()]);
process.stdout.write('ended');

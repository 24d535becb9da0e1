import { flushCompileCache } from 'node:module';
import type { AuditLog } from '../../src/operations/ports/audit-log.ts';
import type { Target } from '../../src/operations/ports/target.ts';

/** The kinds of points at which a process dies: all boundaries between a change and the record of it. */
export const KILL_POINTS = ['before an entry', 'after an entry', 'after a change'] as const;

/** Says that a point of this kind is passed. */
type Pass = (kind: (typeof KILL_POINTS)[number]) => void;

/** Kills this process, as SIGKILL does, when a point of this kind is passed for the given time. */
export function deathAt(point: string, time: number): Pass {
  let passed = 0;
  return (kind) => {
    if (kind !== point || ++passed !== time) return;
    // Else every process would compile the program again: what a process compiled is stored when it ends.
    flushCompileCache();
    process.kill(process.pid, 'SIGKILL');
  };
}

/** A log that passes a point before and after each entry. */
export function dyingLog(log: AuditLog, pass: Pass): AuditLog {
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

async function* counted<Item>(items: AsyncIterable<Item>, pass: Pass): AsyncIterable<Item> {
  for await (const item of items) {
    pass('after a change');
    yield item;
  }
}

async function changed<Result>(act: Promise<Result>, pass: Pass): Promise<Result> {
  const result = await act;
  pass('after a change');
  return result;
}

/** A target that passes a point after each change. */
export function dyingTarget(target: Target, pass: Pass): Target {
  return {
    describe: () => target.describe(),
    tokens: (selector) => target.tokens(selector),
    users: (selector) => target.users(selector),
    applications: (names) => target.applications(names),
    activity: (selector) => target.activity(selector),
    contacts: (names, organizations) => target.contacts(names, organizations),
    lastChanges: (ids) => target.lastChanges(ids),
    ownTokenIds: () => target.ownTokenIds(),
    staysAlive: (facts) => target.staysAlive(facts),
    revoke: (ids, options) => counted(target.revoke(ids, options), pass),
    refreshTokens: (selector) => target.refreshTokens(selector),
    revokeRefreshTokens: (ids) => counted(target.revokeRefreshTokens(ids), pass),
    deleteRefreshTokens: (ids) => target.deleteRefreshTokens(ids),
    authorizationCodes: (selector) => target.authorizationCodes(selector),
    deleteAuthorizationCodes: (ids) => counted(target.deleteAuthorizationCodes(ids), pass),
    sessions: (selector) => target.sessions(selector),
    endSessions: (selector) => counted(target.endSessions(selector), pass),
    createToken: (request) => target.createToken(request),
    identify: (values, options) => target.identify(values, options),
    setUserActive: (id, active) => changed(target.setUserActive(id, active), pass),
    settings: {
      read: () => target.settings.read(),
      write: (change) => changed(target.settings.write(change), pass),
    },
    access: {
      application: (id) => target.access.application(id),
      deleteApplication: (id) => changed(target.access.deleteApplication(id), pass),
      replaceClientSecret: (id, key) => changed(target.access.replaceClientSecret(id, key), pass),
      setPassword: (id, password) => changed(target.access.setPassword(id, password), pass),
      acceptsPassword: (user, password) => target.access.acceptsPassword(user, password),
      roles: (id) => target.access.roles(id),
      setRole: (id, role, held) => changed(target.access.setRole(id, role, held), pass),
    },
    close: () => target.close(),
  };
}

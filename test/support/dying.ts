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
  const { refreshTokens, authorizationCodes, sessions, passwords, roles, settings } = target;
  const { replaceSecret } = target.applications;
  return {
    describe: () => target.describe(),
    tokens: (selector) => target.tokens(selector),
    ownTokenIds: () => target.ownTokenIds(),
    revoke: (ids, options) => counted(target.revoke(ids, options), pass),
    createToken: (request) => target.createToken(request),
    identifies: target.identifies,
    identify: (values, options) => target.identify(values, options),
    users: {
      ...target.users,
      setActive: (id, active, options) => changed(target.users.setActive(id, active, options), pass),
    },
    applications: {
      ...target.applications,
      delete: (id) => changed(target.applications.delete(id), pass),
      replaceSecret: replaceSecret && ((id, key) => changed(replaceSecret(id, key), pass)),
    },
    activity: target.activity,
    settings: { ...settings, write: (change) => changed(settings.write(change), pass) },
    refreshTokens: refreshTokens && {
      ...refreshTokens,
      revoke: (ids) => counted(refreshTokens.revoke(ids), pass),
    },
    authorizationCodes: authorizationCodes && {
      ...authorizationCodes,
      delete: (ids) => counted(authorizationCodes.delete(ids), pass),
    },
    sessions: sessions && { ...sessions, end: (selector) => counted(sessions.end(selector), pass) },
    passwords: passwords && {
      ...passwords,
      set: (id, password) => changed(passwords.set(id, password), pass),
    },
    roles: roles && { ...roles, set: (id, role, held) => changed(roles.set(id, role, held), pass) },
    close: () => target.close(),
  };
}

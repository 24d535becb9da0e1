import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import type { AuditLog, Entry } from '../../src/operations/ports/audit-log.ts';
import {
  type PlanRevocationOptions,
  planRevocation,
} from '../../src/operations/revocation/plan-revocation.ts';
import { type RevokeTokensOptions, revokeTokens } from '../../src/operations/revocation/revoke-tokens.ts';
import { stillClock } from './drafts.ts';
import { databaseDescription, MemoryTarget } from './memory-target.ts';

/** The same over a database: with refresh tokens and sessions. */
export async function databaseFixture(tokens = 0) {
  const at = await fixture(tokens);
  at.target.self = databaseDescription();
  return at;
}

/** A target of some tokens, an audit log in a folder of its own, and what operations need besides. */
export async function fixture(tokens = 0) {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  const log = openFileLog({ path, clock: stillClock });
  const target = new MemoryTarget(tokens);
  return {
    path,
    log,
    target,
    get common() {
      return { target, log, clock: stillClock, description: target.self, actor: { user: 'root' } };
    },
    entries: () => entriesOf(log),
    /** Plans the revocation of every token and carries it out. */
    async revokeAll(other: Partial<RevokeTokensOptions> & Partial<PlanRevocationOptions> = {}) {
      const { includeOwn = false, accessOnly = false, withSessions = false, ...options } = other;
      const how = { includeOwn, accessOnly, withSessions };
      const selector = options.selector ?? { all: true };
      const plan = await planRevocation({ target, selector, clock: stillClock, ...how });
      return await revokeTokens({ ...this.common, plan, ...options });
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

export async function entriesOf(log: AuditLog): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of log.entries()) entries.push(entry);
  return entries;
}

/** A log like the given one, which fails from the given append on, counted from 1. */
export function failingFrom(log: AuditLog, attempt: number): AuditLog {
  let attempts = 0;
  return {
    append: (draft) => {
      attempts += 1;
      if (attempts < attempt) return log.append(draft);
      return Promise.reject(new TokenctlError('audit_unavailable', 'The disk is full'));
    },
    entries: () => log.entries(),
    head: () => log.head(),
    verify: () => log.verify(),
    lockRun: (run) => log.lockRun(run),
    abandonedIntents: () => log.abandonedIntents(),
    close: () => log.close(),
  };
}

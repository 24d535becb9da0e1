import { OpenIntents } from '../../src/operations/audit-log/export-log.ts';
import { offboardUsers, planUserOffboarding } from '../../src/operations/incident/offboard-user.ts';
import { reconcile } from '../../src/operations/journal/reconcile.ts';
import type { AuditLog, Entry } from '../../src/operations/ports/audit-log.ts';
import type { LogFormat } from '../../src/operations/ports/log-sink.ts';
import { expireSessions, planSessionExpiry } from '../../src/operations/sessions/expire-sessions.ts';
import { changeSetting } from '../../src/operations/settings/settings.ts';
import { createToken } from '../../src/operations/tokens/create-token.ts';
import { draft } from './drafts.ts';
import { databaseFixture } from './fixture.ts';
import { refreshToken } from './memory-refresh-tokens.ts';
import { session } from './memory-sessions.ts';

/** Names that break careless escaping. */
export const HOSTILE = 'a|b=c\\d "e" ]\r\n<14>1 - \u0001\u202e\u001b[31m ünï😀';

/** A log in which every operation left entries: done, refused, failed, killed and found out later. */
export async function richLog() {
  const at = await databaseFixture(12);
  const { target, log } = at;
  const { address } = target.self;
  target.refresh.rows.set(31, refreshToken({ id: 31, accessTokenId: 1 }));
  target.logins.live.push(session(), session({ fingerprint: 'dddddddddddd' }));
  const actor = { user: 'carol', host: HOSTILE, as: 'admin' };
  const order = { reason: HOSTILE, ticket: 'SEC-7' };
  const common = { ...at.common, actor, ...order };
  target.onRevoke = (id) => (({ 3: 'unchanged', 4: 'failed' }) as const)[id];
  await at.revokeAll({ ...order, actor, selector: { ids: [1, 2, 3, 4] } });
  target.onRevoke = () => undefined;
  await createToken({ ...common, request: { scope: 'read', description: HOSTILE, user: 'alice' } });
  await changeSetting({ ...common, change: { AUTH_BASIC_ENABLED: false }, operation: 'settings.basic-auth' });
  await expireSessions({ ...common, plan: await planSessionExpiry({ target }) });
  const { description } = at.common;
  const plan = await planUserOffboarding({ ...at.common, description, users: ['alice'] });
  await offboardUsers({ ...common, plan });
  const place = { context: 'test', address };
  await log.append(draft({ kind: 'intent', target: place, actor, data: { step: 'batch', ids: [9, 999] } }));
  await log.append(draft({ kind: 'intent', target: place, actor, data: { step: 'sessions', users: [2] } }));
  await reconcile(at.common);
  await log.append(draft({ operation: 'log.key', target: {}, data: { verifier: 'x' } }));
  return at;
}

/** The records of a whole log in a format, entry by entry. */
export async function recordsByEntry(
  log: Pick<AuditLog, 'entries'>,
  format: LogFormat,
): Promise<{ readonly entry: Entry; readonly records: readonly string[] }[]> {
  const intents = new OpenIntents(log);
  const found: { entry: Entry; records: string[] }[] = [];
  for await (const entry of log.entries()) {
    found.push({ entry, records: [...format.records(entry, await intents.of(entry))] });
  }
  return found;
}

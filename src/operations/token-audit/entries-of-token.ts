import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';

/** An entry of the audit log, as far as it concerns one token. */
export interface EntryOfToken {
  readonly seq: number;
  readonly at: string;
  readonly kind: Entry['kind'];
  readonly operation: string;
  readonly run: string;
  readonly actor: Entry['actor'];
  /** What became of the token by an outcome; null for other entries. */
  readonly result: string | null;
}

/** The lists in which an outcome sorts its tokens. */
const RESULTS = ['revoked', 'unchanged', 'failed', 'notTried', 'stillAlive'];
/** The members under which an entry names access tokens by id. */
const NAMES = new Set([...RESULTS, 'token', 'tokens', 'tokenId', 'tokenIds', 'ids', 'kept']);
/** Batches whose ids are those of refresh tokens. */
const OTHER_STEPS = new Set<unknown>(['refresh_tokens', 'refresh_token_rows']);

/**
 * The entries of the audit log that name a token of this target, oldest first.
 *
 * @throws TokenctlError `log_broken`, `audit_unavailable`
 */
export async function entriesOfToken(options: {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly description: Pick<TargetDescription, 'address'>;
  readonly tokenId: number;
}): Promise<EntryOfToken[]> {
  const { log, description, tokenId } = options;
  const found: EntryOfToken[] = [];
  for await (const { seq, at, kind, operation, run, actor, target, data } of log.entries()) {
    if (target['address'] !== description.address || !namesToken(data, tokenId)) continue;
    const result = RESULTS.find((name) => name in data && names(data[name], name, tokenId)) ?? null;
    found.push({ seq, at, kind, operation, run, actor, result: kind === 'outcome' ? result : null });
  }
  return found;
}

function namesToken(data: Entry['data'], tokenId: number): boolean {
  if (OTHER_STEPS.has(data['step'])) return false;
  return Object.entries(data).some(([name, value]) => names(value, name, tokenId));
}

/** Whether a value under this name holds the token's id: `tokens: [{ user, ids: [17] }]`, `failed: [{ id: 17 }]`. */
function names(value: unknown, name: string, tokenId: number): boolean {
  if (!NAMES.has(name)) return false;
  if (typeof value === 'number') return value === tokenId;
  if (Array.isArray(value)) return value.some((each) => names(each, name, tokenId));
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => names(inner, key === 'id' ? name : key, tokenId));
}

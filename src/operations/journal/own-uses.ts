import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { IntendedUse, KnownToken, TargetDescription } from '../ports/target.ts';
import { isSameController, objectsIn } from './journal.ts';
import { type Change, OperationRun } from './operation-run.ts';

const OPERATION = 'tokens.find';

/** A token that an identification may have used. */
export interface UsedToken {
  /** Its id; several if the target could only narrow it down, none if it could not tell. */
  readonly ids: readonly number[];
  readonly user: string | null;
  readonly fingerprint: string;
  /** The last use before the lookup; null for never; absent if unknown. */
  readonly lastUsed?: Date | null;
  /** When the lookup counted as a use, by the target's clock; null if it did not. */
  readonly usedAt: Date | null;
}

/** Records the uses made by an identification: an intent before them, and an outcome after them. */
export class UseRecord {
  readonly #change: () => Promise<Change>;
  #begun: { readonly work: OperationRun; readonly created: ReadonlyMap<number, Date> } | null = null;

  constructor(change: () => Promise<Change>) {
    this.#change = change;
  }

  /** Records the intended uses, with the last uses that they overwrite. */
  async begin({ values, tokens }: IntendedUse): Promise<void> {
    const work = new OperationRun(await this.#change(), OPERATION);
    const candidates = tokens.map(({ lastUsed, created, ...token }) => ({
      ...token,
      created: created.toISOString(),
      ...lastUseOf(lastUsed),
    }));
    const created = new Map(tokens.map((token) => [token.id, token.created]));
    await work.open({ step: 'use', values, candidates });
    this.#begun = { work, created };
  }

  /** Records which tokens were used, if known. Does nothing without an intended use. */
  async end(found: readonly UsedToken[], error?: unknown): Promise<void> {
    if (this.#begun === null) return;
    const { created } = this.#begun;
    using work = this.#begun.work;
    const tokens = found.flatMap(({ ids, user, fingerprint, usedAt, lastUsed }) =>
      usedAt === null
        ? []
        : ids.map((id) => ({
            id,
            user,
            fingerprint,
            usedAt: usedAt.toISOString(),
            created: created.get(id)?.toISOString(),
            ...lastUseOf(lastUsed),
          })),
    );
    const reason = error instanceof TokenctlError ? error.message : 'an unexpected error';
    await work.close({
      step: 'use',
      result: error === undefined ? 'done' : 'unknown',
      ...(error !== undefined && { reason }),
      tokens,
    });
  }
}

function lastUseOf(lastUsed: Date | null | undefined): { lastUsed?: string | null } {
  return lastUsed === undefined ? {} : { lastUsed: lastUsed?.toISOString() ?? null };
}

/** A use of a token by this tool while it searched for leaked tokens. */
export interface OwnUse {
  readonly tokenId: number;
  readonly fingerprint: string;
  readonly usedAt: Date;
  /** The last use before; null for never, undefined if unknown. */
  readonly lastUsed: Date | null | undefined;
  /** When the token was created; undefined if unknown. */
  readonly created: Date | undefined;
  readonly run: string;
}

/** The uses recorded by an entry of the audit log; empty for entries of other operations. */
export function ownUsesIn({ operation, kind, data, run }: Entry): OwnUse[] {
  if (operation !== OPERATION || kind !== 'outcome' || data['step'] !== 'use') return [];
  return objectsIn(data['tokens']).flatMap(({ id, fingerprint, usedAt, lastUsed, created }) => {
    if (typeof id !== 'number' || typeof fingerprint !== 'string' || typeof usedAt !== 'string') return [];
    const before = typeof lastUsed === 'string' ? new Date(lastUsed) : lastUsed === null ? null : undefined;
    const made = typeof created === 'string' ? new Date(created) : undefined;
    return [{ tokenId: id, fingerprint, usedAt: new Date(usedAt), lastUsed: before, created: made, run }];
  });
}

/** All uses of a controller's tokens in the audit log, oldest first. */
export async function readOwnUses(
  log: Pick<AuditLog, 'entries'>,
  description: Pick<TargetDescription, 'address' | 'installUuid'>,
): Promise<readonly OwnUse[]> {
  const uses: OwnUse[] = [];
  for await (const entry of log.entries(undefined, { operations: [OPERATION] })) {
    if (isSameController(entry.target, description)) uses.push(...ownUsesIn(entry));
  }
  return uses;
}

/** The tokens that were identified by exactly one id, by fingerprint. */
export function knownTokens(uses: readonly OwnUse[]): ReadonlyMap<string, KnownToken> {
  const byRun = Map.groupBy(uses, ({ run, fingerprint }) => `${run} ${fingerprint}`);
  const known = new Map<string, KnownToken>();
  for (const [use, ...others] of byRun.values()) {
    if (use?.created === undefined || others.length > 0) continue;
    known.set(use.fingerprint, { id: use.tokenId, created: use.created });
  }
  return known;
}

/**
 * The tolerance between a recorded and a last use: Date headers have whole seconds; responses may be slow.
 */
const SAME_USE_MS = 3000;

/** The recorded use that matches a last use; undefined if none does. */
export function ownUseAt(lastUsed: Date, uses: readonly OwnUse[]): OwnUse | undefined {
  return uses.find(({ usedAt }) => Math.abs(lastUsed.getTime() - usedAt.getTime()) <= SAME_USE_MS);
}

/** The last use of a token other than these; null for never, undefined if unknown. */
export function lastUseBefore(
  lastUsed: Date | null | undefined,
  uses: readonly OwnUse[],
): Date | null | undefined {
  if (!lastUsed) return lastUsed;
  const own = ownUseAt(lastUsed, uses);
  if (own === undefined) return lastUsed;
  return lastUseBefore(
    own.lastUsed,
    uses.filter((use) => use !== own),
  );
}

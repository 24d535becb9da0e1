import { TokenctlError } from '@tokenctl/common/errors.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { User } from '../../domain/token.ts';
import { isSameController } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { UserIdentities } from '../ports/target-parts.ts';
import { DIRECTORY_READ, userIdsIn } from './answer-history.ts';

export interface LastAnswer {
  readonly directory: string;
  readonly at: Date;
  readonly listed: number;
  /** The backends whose accounts it has, and the users it does not compare: see {@link MatchRules}. */
  readonly accounts: readonly string[];
  readonly except: readonly string[];
  /** The ids of departed users. */
  readonly gone: readonly number[];
}

/** Opens the audit log, only when needed. */
export type OpenLog = () => Promise<Pick<AuditLog, 'entries'>>;

/** The last answers of directories about a controller, or why they are unknown. */
export type KnownSources =
  | { readonly answers: readonly LastAnswer[]; readonly why: null }
  | {
      readonly answers: null;
      /** A sentence without its full stop. */
      readonly why: string;
    };

/**
 * Reads from the audit log when each directory last answered about a controller, for optional uses: an audit
 * rule, a remark. An unreadable log never fails them.
 * @throws TokenctlError `interrupted` only.
 */
export async function knownSources(
  open: OpenLog,
  description: Pick<TargetDescription, 'address' | 'installUuid'>,
): Promise<KnownSources> {
  try {
    const answers = await lastAnswers(await open(), description);
    return { answers: [...answers.values()], why: null };
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    return { answers: null, why: `The audit log could not be read (${error.message})` };
  }
}

async function lastAnswers(
  log: Pick<AuditLog, 'entries'>,
  description: Pick<TargetDescription, 'address' | 'installUuid'>,
): Promise<ReadonlyMap<string, LastAnswer>> {
  const answers = new Map<string, LastAnswer>();
  for await (const { kind, data, target } of log.entries(1, { operations: [DIRECTORY_READ] })) {
    if (kind !== 'note' || !isSameController(target, description)) continue;
    const { directory, answered, listed, accounts, except, gone } = data;
    if (typeof directory !== 'string' || typeof listed !== 'number') continue;
    answers.set(directory, {
      directory,
      at: new Date(String(answered)),
      listed,
      accounts: textsIn(accounts),
      except: textsIn(except),
      gone: userIdsIn(gone),
    });
  }
  return answers;
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Whether a directory compares a user: no exception, and not one with accounts of other providers only. */
export function speaksFor(
  { accounts, except }: Pick<LastAnswer, 'accounts' | 'except'>,
  { username }: Pick<User, 'username'>,
  identities: UserIdentities | undefined,
): boolean {
  if (matchesAny(username, except)) return false;
  const own = identities?.accounts ?? [];
  return accounts.length === 0 || own.length === 0 || own.some(({ provider }) => accounts.includes(provider));
}

import {
  type ExpiringToken,
  isOptedOut,
  isOwnerOptedOut,
  isSendable,
  type MailTemplate,
  type OwnerMessage,
  type RevokedToken,
} from '../../domain/owner-mail.ts';
import type { Exception } from '../../domain/policy/subject.ts';
import { numberSince } from '../audit-log/list-log.ts';
import { isSameController, listOf, numbersIn, ownersIn } from '../journal/journal.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { ReadTarget, Target, TargetDescription } from '../ports/target.ts';
import { planNotices } from './expiry-notices.ts';

export interface OwnerNoticeRules {
  /** Days before the expiry; empty for no notices about it. */
  readonly thresholds: readonly number[];
  readonly revoked: boolean;
  /** How far back to look for revocations, in milliseconds. */
  readonly revokedWithin: number;
  readonly optOut: readonly Exception[];
  /** Allowed domains of addresses; empty for all. */
  readonly domains: readonly string[];
  /** The maximum number of mails per run. */
  readonly atMost: number;
  readonly template: MailTemplate;
  /** By organization name; the first one that the owner is a member of counts. */
  readonly organizations: Readonly<Record<string, MailTemplate>>;
}

export interface OwnerDigest extends Omit<OwnerMessage, 'controller' | 'context'> {
  readonly address: string;
  /** The organization whose template is used; null for the default. */
  readonly organization: string | null;
}

/** An owner who cannot be notified, with the number of tokens. */
interface UnreachableOwner {
  readonly owner: string;
  /** `unknown`: no such user is listed, for example because it was deleted. */
  readonly why: 'no_address' | 'invalid_address' | 'other_domain' | 'unknown';
  readonly tokens: number;
}

export interface OwnerNoticePlan {
  readonly digests: readonly OwnerDigest[];
  readonly unreachable: readonly UnreachableOwner[];
  /** Number of owners left for the next run, because this one reached its limit. */
  readonly later: number;
  /** Number of notices already sent, or being sent by another run. */
  readonly toldBefore: number;
  /** Number of notices that the rules exclude. */
  readonly optedOut: number;
}

interface PlanOptions extends ReadTarget {
  readonly log: Pick<AuditLog, 'entries' | 'head' | 'abandonedIntents'>;
  readonly rules: OwnerNoticeRules;
}

/**
 * Finds owners of tokens that expire soon or were revoked by tokenctl. Reads only. Notices already sent
 * according to the audit log are omitted.
 * @throws TokenctlError whatever the target and the log throw.
 */
export async function planOwnerNotices(options: PlanOptions): Promise<OwnerNoticePlan> {
  const { target, description, log, clock, rules } = options;
  const { optOut, thresholds } = rules;
  const now = clock.now();
  const told = new ToldOwners(log, description);
  await told.readOn();
  // Mails claimed by a killed run may not have been sent.
  told.release((await log.abandonedIntents()).map(({ seq }) => seq));
  const due = new Map<string, { expiring: ExpiringToken[]; revoked: RevokedToken[] }>();
  const dueTo = (owner: string) => {
    const known = due.get(owner) ?? { expiring: [], revoked: [] };
    due.set(owner, known);
    return known;
  };
  let [toldBefore, optedOut] = [0, 0];
  const isNew = (isOut: boolean, key: string) => {
    if (isOut) optedOut += 1;
    else if (told.has(key)) toldBefore += 1;
    else return true;
    return false;
  };
  if (thresholds.length > 0) {
    for await (const notice of planNotices({ target, clock, thresholds, log, description })) {
      const owner = notice.token.user?.username;
      if (
        owner !== undefined &&
        isNew(isOptedOut(notice.token, optOut, now), expiringKey(expiringFacts(notice)))
      )
        dueTo(owner).expiring.push(notice);
    }
  }
  if (rules.revoked) {
    const since = new Date(now.getTime() - rules.revokedWithin);
    for await (const { owner, token } of revokedSince(log, { since, description })) {
      if (isNew(isOwnerOptedOut(owner, optOut, now), revokedKey(token.id))) dueTo(owner).revoked.push(token);
    }
  }
  const { digests, unreachable } = await addressed(due, { target, rules });
  return {
    digests: digests.slice(0, rules.atMost),
    unreachable,
    later: Math.max(0, digests.length - rules.atMost),
    toldBefore,
    optedOut,
  };
}

/** What is due, by owner. */
type DueOwners = ReadonlyMap<string, Pick<OwnerDigest, 'expiring' | 'revoked'>>;

async function addressed(due: DueOwners, { target, rules }: { target: Target; rules: OwnerNoticeRules }) {
  const owners = [...due.keys()].sort();
  const found =
    owners.length === 0 ? [] : await target.users.contacts(owners, Object.keys(rules.organizations));
  const contacts = new Map(found.map((each) => [each.username, each]));
  const digests: OwnerDigest[] = [];
  const unreachable: UnreachableOwner[] = [];
  for (const owner of owners) {
    const { expiring = [], revoked = [] } = due.get(owner) ?? {};
    const contact = contacts.get(owner);
    const address = contact?.email ?? '';
    const tokens = expiring.length + revoked.length;
    if (contact === undefined) unreachable.push({ owner, why: 'unknown', tokens });
    else if (address === '') unreachable.push({ owner, why: 'no_address', tokens });
    else if (!isSendable(address, [])) unreachable.push({ owner, why: 'invalid_address', tokens });
    else if (!isSendable(address, rules.domains)) unreachable.push({ owner, why: 'other_domain', tokens });
    else digests.push({ owner, address, organization: contact.organizations[0] ?? null, expiring, revoked });
  }
  return { digests, unreachable };
}

/** The operations whose batches revoke access tokens. */
const REVOKING = { operations: ['tokens.revoke', 'incident.lockdown', 'users.offboard'] };

/**
 * Streams the access tokens that tokenctl revoked at a target since an instant, if the audit log names their
 * owners. Includes those of a killed run if a later run found them gone.
 */
async function* revokedSince(
  log: Pick<AuditLog, 'entries' | 'head'>,
  { since, description }: { since: Date; description: TargetDescription },
): AsyncIterable<{ readonly owner: string; readonly token: RevokedToken }> {
  const owners = new Map<number, ReadonlyMap<number, string>>();
  for await (const entry of log.entries(await numberSince(log, since), REVOKING)) {
    const { kind, seq, at, data, closes = 0, target } = entry;
    if (data['step'] !== 'batch' || !isSameController(target, description)) continue;
    if (kind === 'intent') owners.set(seq, ownersIn(data));
    if (kind !== 'outcome') continue;
    const intended = owners.get(closes);
    owners.delete(closes);
    if (Date.parse(at) < since.getTime()) continue;
    for (const id of [...numbersIn(data['revoked']), ...numbersIn(data['gone'])]) {
      const owner = intended?.get(id);
      if (owner !== undefined) yield { owner, token: { id, at } };
    }
  }
}

/** The audit log operation that records notices to owners. */
export const OPERATION = 'tokens.notify-owners';

/** The claimed facts about a token: its id, the threshold and, for an end that can be moved, the second. */
export function expiringFacts({ token: { id, expires }, threshold, isRevoked }: ExpiringToken): number[] {
  return [id, threshold, ...(isRevoked ? [Math.floor(expires.getTime() / 1000)] : [])];
}

const expiringKey = (facts: readonly number[]) => `e ${facts.join(' ')}`;
const revokedKey = (id: number) => `r ${id}`;

/**
 * The notices to owners about a target's tokens, from the audit log. A mail is claimed before it is sent: if
 * two runs claim the same notice, the one whose claim comes first in the log sends it. A claim counts until
 * its outcome says that the mail was not sent.
 */
export class ToldOwners {
  /** Entry numbers of claims, by notice. */
  readonly #claims = new Map<string, number>();
  /** The notices of open claims, by entry number. */
  readonly #open = new Map<number, readonly string[]>();
  readonly #log: Pick<AuditLog, 'entries'>;
  readonly #description: TargetDescription;
  #next = 1;

  constructor(log: Pick<AuditLog, 'entries'>, description: TargetDescription) {
    this.#log = log;
    this.#description = description;
  }

  async readOn(): Promise<void> {
    for await (const entry of this.#log.entries(this.#next, { operations: [OPERATION] })) this.#take(entry);
  }

  release(claims: readonly number[]): void {
    const released = new Set(claims);
    for (const [key, seq] of this.#claims) if (released.has(seq)) this.#claims.delete(key);
  }

  has(key: string): boolean {
    return this.#claims.has(key);
  }

  /** Whether this entry was the first to claim all of these. */
  isFirst(keys: readonly string[], seq: number): boolean {
    return keys.every((key) => this.#claims.get(key) === seq);
  }

  #take({ kind, seq, data, closes = 0, target }: Entry): void {
    this.#next = seq + 1;
    if (kind === 'intent' && data['step'] === 'mail' && isSameController(target, this.#description)) {
      const keys = keysIn(data);
      this.#open.set(seq, keys);
      for (const key of keys) if (!this.#claims.has(key)) this.#claims.set(key, seq);
    }
    if (kind !== 'outcome') return;
    const wasSent = data['result'] === 'sent' || data['result'] === 'undeliverable';
    for (const key of wasSent ? [] : (this.#open.get(closes) ?? [])) {
      if (this.#claims.get(key) === closes) this.#claims.delete(key);
    }
    this.#open.delete(closes);
  }
}

/** The notices that a mail's claim covers, as keys. */
export function keysIn(data: Entry['data']): string[] {
  return [
    ...listOf(data['expiring']).flatMap((pair) => {
      // Thresholds may be fractions of a day.
      const facts = listOf(pair).filter((each) => typeof each === 'number');
      return facts.length < 2 ? [] : [expiringKey(facts)];
    }),
    ...numbersIn(data['revoked']).map(revokedKey),
  ];
}

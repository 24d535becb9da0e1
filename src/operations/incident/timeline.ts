import { controllerTime } from '../../domain/clock-difference.ts';
import { foldUses, isUses, type RecordedUses } from '../../domain/recorded-use.ts';
import type { Activity, RefreshToken, Token } from '../../domain/token.ts';
import { numberSince } from '../audit-log/list-log.ts';
import { type EntrySubject, isAboutSubject } from '../journal/entry-subjects.ts';
import { intendedIds, isSameController, objectsIn } from '../journal/journal.ts';
import { lastUseBefore, type OwnUse, ownUseAt, ownUsesIn } from '../journal/own-uses.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { ActivitySelector } from '../ports/target-parts.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { namesToken } from '../token-audit/trace-token.ts';

export type TimelineSubject = { readonly user: string } | { readonly tokenId: number };

/** An event from one of three sources. */
export interface TimelineItem {
  readonly at: Date;
  readonly source: 'activity_stream' | 'audit_log' | 'token';
  /** Who did it; null if the source does not say. */
  readonly who: string | null;
  /** As a phrase. */
  readonly what: string;
  /** Further data of the source: plain JSON without secrets. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface TimelineOptions {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  readonly subject: TimelineSubject;
  /** At or after this instant. */
  readonly since: Date;
  /** Before this instant. */
  readonly until: Date;
}

/**
 * What a user or a token did, and what was done about them, between two instants, oldest first: from the
 * activity stream, this tool's audit log, and the tokens themselves. Reads only.
 * @throws TokenctlError `not_found` for a user that does not exist, `permission_refused` if the caller may
 * not read the activity stream.
 */
export async function timeline(options: TimelineOptions): Promise<readonly TimelineItem[]> {
  const { target, subject } = options;
  const ids = 'user' in subject ? (await resolveNames(target, { users: [subject.user] })).userIds : null;
  const [userId = null] = ids?.values() ?? [];
  const tokens = await tokensOf(target, subject, userId);
  const refresh = await refreshTokensOf(options, userId);
  const meant: Meant =
    'tokenId' in subject
      ? subject
      : {
          kind: 'user',
          name: subject.user,
          names: new Set([subject.user]),
          ids: userId === null ? null : new Set([userId]),
        };
  const { entries, uses } = await entriesAbout(options, meant);
  const named =
    'tokenId' in meant ? [meant.tokenId] : [...tokens.map(({ id }) => id), ...namedIn(entries, meant)];
  const activity = await activityAbout(options, { userId, tokenIds: [...new Set(named)] });
  const items = [
    ...foldUses(activity).map((each) => (isUses(each) ? usesItem(each) : activityItem(each))),
    ...entries.map(entryItem),
    ...tokens.flatMap((token) => tokenItems(token, usesOf(token, uses))),
    ...refresh.flatMap(refreshItems),
  ];
  const { since, until } = options;
  return items.filter(({ at }) => at >= since && at < until).sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** The token, or the user by id, and by name for entries without ids. */
type Meant = { readonly tokenId: number } | (EntrySubject & { readonly name: string });

async function tokensOf(target: Target, subject: TimelineSubject, userId: number | null): Promise<Token[]> {
  const selector =
    'user' in subject
      ? { users: [subject.user], ...(userId !== null && { userIds: [userId] }) }
      : { ids: [subject.tokenId] };
  return await Array.fromAsync(target.tokens(selector));
}

async function refreshTokensOf({ target, subject }: TimelineOptions, userId: number | null) {
  if (!target.refreshTokens || !('user' in subject)) return [];
  const selector = { users: [subject.user], ...(userId !== null && { userIds: [userId] }) };
  return await Array.fromAsync(target.refreshTokens.list(selector));
}

/** The entries that name the user or the token, with their outcomes; and this tool's own uses. */
async function entriesAbout(options: TimelineOptions, meant: Meant) {
  const { log, description, since } = options;
  const found: Entry[] = [];
  const uses: OwnUse[] = [];
  const open = new Set<number>();
  for await (const entry of log.entries(await numberSince(log, since))) {
    if (!isSameController(entry.target, description)) continue;
    uses.push(...ownUsesIn(entry));
    const isMeant = isAbout(entry, meant) || (entry.closes !== undefined && open.has(entry.closes));
    if (!isMeant) continue;
    if (entry.kind === 'intent') open.add(entry.seq);
    found.push(entry);
  }
  return { entries: found, uses };
}

/** The uses of a token. If the target has no fingerprints, tokens are distinguished by their id. */
function usesOf({ id, fingerprint }: Token, uses: readonly OwnUse[]): readonly OwnUse[] {
  return uses.filter((use) => (fingerprint === null ? use.tokenId === id : use.fingerprint === fingerprint));
}

function isAbout({ data, actor }: Entry, meant: Meant): boolean {
  if ('tokenId' in meant) return namesToken(data, meant.tokenId);
  return actor['as'] === meant.name || isAboutSubject(data, meant);
}

/** The ids of deleted access tokens that entries list under a user. */
function namedIn(entries: readonly Entry[], subject: EntrySubject): number[] {
  return entries.flatMap(({ data }) =>
    data['step'] !== 'batch'
      ? []
      : objectsIn(data['tokens']).flatMap((group) =>
          isAboutSubject(group, subject) ? intendedIds(group) : [],
        ),
  );
}

async function activityAbout(
  { target, since, until }: TimelineOptions,
  about: { readonly userId: number | null; readonly tokenIds: readonly number[] },
): Promise<readonly Activity[]> {
  const found = new Map<number, Activity>();
  const add = async (selector: ActivitySelector) => {
    for await (const each of target.activity.list({ ...selector, since, until })) found.set(each.id, each);
  };
  if (about.userId !== null) await add({ actorIds: [about.userId] });
  if (about.tokenIds.length > 0) await add({ tokenIds: about.tokenIds });
  return [...found.values()].sort((a, b) => a.id - b.id);
}

function usesItem({ tokenId, count, first, last }: RecordedUses): TimelineItem {
  const times = count === 1 ? 'in 1 request' : `in ${count} requests, the last at ${last.toISOString()}`;
  return {
    at: first,
    source: 'activity_stream',
    who: null,
    what: `access token ${tokenId} used ${times}`,
    data: { tokenId, count, last: last.toISOString() },
  };
}

function activityItem({ id, at, operation, actor, object, changes }: Activity): TimelineItem {
  const about = typeof changes['id'] === 'number' ? ` ${changes['id']}` : '';
  return {
    at,
    source: 'activity_stream',
    who: actor?.username ?? null,
    what: `${operation} ${object}${about}`,
    data: { id, changes },
  };
}

function entryItem(entry: Entry): TimelineItem {
  const { seq, kind, operation, run, actor, data } = entry;
  const step = typeof data['step'] === 'string' && data['step'] !== 'operation' ? ` (${data['step']})` : '';
  const { reason, ticket, result } = data;
  const isSaid = /^incident\.(step|mark)/.test(operation);
  const selection = isSaid ? data['selection'] : undefined;
  return {
    at: controllerTime(entry),
    source: 'audit_log',
    who: actor['user'] ?? null,
    what: `${kind} ${operation}${step}`,
    data: {
      seq,
      run,
      ...Object.fromEntries(
        Object.entries({ reason, ticket, result, selection }).filter(([, each]) => each !== undefined),
      ),
    },
  };
}

function tokenItems(token: Token, uses: readonly OwnUse[]): TimelineItem[] {
  const { id, user, application, scope, created, expires, lastUsed, fingerprint } = token;
  const item = (at: Date, what: string): TimelineItem => ({
    at,
    source: 'token',
    who: user?.username ?? null,
    what,
    data: { tokenId: id, application: application?.name ?? null, scope, fingerprint },
  });
  const own = lastUsed ? ownUseAt(lastUsed, uses) : undefined;
  const byOwner = lastUseBefore(lastUsed, uses);
  return [
    item(created, `access token ${id} created`),
    ...(byOwner ? [item(byOwner, `access token ${id} last used`)] : []),
    ...(lastUsed && own
      ? [ownUseItem(token, { at: lastUsed, run: own.run, isKnown: byOwner !== undefined })]
      : []),
    item(expires, `access token ${id} expires`),
  ];
}

/** A last use by this tool: the token shows no act of the owner then. It hides an earlier unread use. */
function ownUseItem(
  { id, fingerprint }: Token,
  { at, run, isKnown }: { at: Date; run: string; isKnown: boolean },
): TimelineItem {
  const hidden = isKnown ? '' : '; the last use before it is not known';
  const what = `access token ${id} used by tokenctl, while searching for a leaked token${hidden}`;
  return { at, source: 'token', who: null, what, data: { tokenId: id, fingerprint, run } };
}

function refreshItems({ id, user, application, created, revoked, fingerprint }: RefreshToken) {
  const item = (at: Date, what: string): TimelineItem => ({
    at,
    source: 'token',
    who: user?.username ?? null,
    what,
    data: { refreshTokenId: id, application: application?.name ?? null, fingerprint },
  });
  return [
    item(created, `refresh token ${id} created`),
    ...(revoked === null ? [] : [item(revoked, `refresh token ${id} revoked`)]),
  ];
}

import type { Visibility } from '../../domain/claims.ts';
import type { Activity } from '../../domain/token.ts';
import type { EntryOfToken, OwnerActivity, TokenTrace } from '../../operations/token-audit/trace-token.ts';
import { type Document, type Fact, facts, lines, list, type Part } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, dayText, expiryText, numberText, timeText } from '../../reports/tables/text.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';

/** What `tokens trace` prints about a token with `--json`. */
export interface TraceJson extends Omit<TokenTrace, 'token'> {
  /** Null if it was deleted, or the account does not see it. */
  readonly token: TokenJson | null;
  readonly visibility: Visibility;
}

export function traceResult(trace: TokenTrace, visibility: Visibility): Report<TraceJson> {
  const { token, made, history, ownerActivity, ...rest } = trace;
  const shown = token === null ? null : tokenToJson(token);
  return report({
    json: { ...rest, token: shown, made, history, ownerActivity, visibility },
    document: () => traceDocument(trace, visibility),
  });
}

function traceDocument(trace: TokenTrace, visibility: Visibility): Document {
  const { tokenId, history, recordedUses, ownerActivity, entries, notTold } = trace;
  return [
    facts(aboutToken(trace, visibility), `Token ${tokenId}`),
    lines(recordedUses !== null && usesText(recordedUses)),
    titled('Other changes to it', history.map(activityText)),
    ownerActivity !== null && ownerPart(ownerActivity),
    titled('In the audit log', entries.map(entryText)),
    titled(
      'Not available from the target',
      notTold.map(
        ({ what, why }) => `${what === 'history' ? 'its history' : 'actions of its owner'}: ${why}`,
      ),
    ),
  ];
}

function aboutToken(trace: TokenTrace, visibility: Visibility): readonly Fact[] {
  const { token, made, ownUse, origin } = trace;
  const maker = made === null ? '' : `, by ${made.actor?.username ?? 'an unknown user'}`;
  if (token === null) {
    return [
      ['state', whyNotListed(trace, visibility)],
      ...(made === null ? [] : [['created', timeText(made.at) + maker] as const]),
      ...originFacts(origin),
    ];
  }
  const told = tokenFacts(token, maker).map(
    (fact): Fact =>
      fact[0] === 'last used' && ownUse !== null ? ['last used', [fact[1], ownUseText(ownUse)]] : fact,
  );
  return [...told, ...originFacts(origin)];
}

/** Why a token is not listed, as far as the audit log, the activity stream or the account's view show. */
function whyNotListed({ entries, history }: TokenTrace, { kind }: Visibility): string {
  const revoked = entries.findLast(({ result }) => result === 'revoked');
  if (revoked !== undefined) return `revoked by tokenctl, recorded at ${revoked.at} in the audit log`;
  const deleted = history.findLast(({ operation }) => operation === 'delete');
  if (deleted !== undefined) return `deleted at ${timeText(deleted.at)}, according to the activity stream`;
  return kind === 'all' ? 'not in the list of all tokens' : 'deleted, or not visible to you';
}

/** The pipeline run that had it, as signed by its issuer. */
function originFacts(origin: TokenTrace['origin']): readonly Fact[] {
  if (origin === null) return [];
  const claims = Object.entries(origin.claims).map(([name, value]) => `${name}: ${value}`);
  return [['made by', [`broker, rule ${origin.rule}, for an identity of ${origin.issuer}`, ...claims]]];
}

/** How a use by this tool relates to the last use shown above it. */
function ownUseText({ at, isLast, before }: NonNullable<TokenTrace['ownUse']>): string {
  const used = `tokenctl used it at ${timeText(at)} to search for a leaked token`;
  if (isLast === false) return used;
  const hidden = before === undefined ? 'not known' : before === null ? 'never' : timeText(before);
  return `${isLast === null ? used : 'by tokenctl, while searching for a leaked token'}; the last use before that: ${hidden}`;
}

/** What the target lists about a token: names and values. */
export function tokenFacts(
  token: NonNullable<TokenTrace['token']>,
  maker = '',
): (readonly [name: string, value: string])[] {
  const { user, application, scope, description, created, expires, hasRefreshToken, fingerprint } = token;
  return [
    ['created', timeText(created) + maker],
    ['owner', user?.username ?? '(none)'],
    ['for', application === null ? 'personal use' : application.name],
    ['described', description === '' ? '(none)' : description],
    ['scope', scope],
    ['expires', expiryText(expires)],
    ['last used', lastUse(token)],
    ['refresh', hasRefreshToken ? 'has a refresh token' : 'none'],
    ...(fingerprint === null ? [] : [['fingerprint', fingerprint] as const]),
  ];
}

function lastUse({ lastUsed, lastUsedOn }: NonNullable<TokenTrace['token']>): string {
  if (lastUsed !== undefined) return lastUsed === null ? 'never' : timeText(lastUsed);
  if (lastUsedOn === undefined) return 'unknown';
  return lastUsedOn === null ? 'never' : dayText(lastUsedOn);
}

function ownerPart({ owner, since, count, more, last }: OwnerActivity): Part {
  const whose = `Changes by ${owner.username} since ${timeText(since)}`;
  if (last.length === 0) return lines(`${whose}: ${countText(count, 'change')}`);
  const newest = count > last.length ? `, the last ${numberText(last.length)}` : '';
  return titled(
    `${whose}: ${more ? 'more than ' : ''}${countText(count, 'change')}${newest}`,
    last.map(activityText),
  );
}

/** A gateway records what it does to the scope while it checks a request. */
function usesText({ count, first, last }: NonNullable<TokenTrace['recordedUses']>): string {
  const when = count === 1 ? `at ${timeText(first)}` : `from ${timeText(first)} to ${timeText(last)}`;
  return `${countText(count, 'request')} with it in the activity stream, ${when}. Not every request is recorded.`;
}

function activityText({ at, operation, object, actor, changes }: Activity): string {
  const who = actor === null ? '' : ` by ${actor.username}`;
  const name = ['name', 'username', 'description']
    .map((key) => changes[key])
    .find((value) => typeof value === 'string');
  return `${timeText(at)}  ${operation} ${object}${typeof name === 'string' && name !== '' ? ` "${name}"` : ''}${who}`;
}

function entryText({ seq, at, kind, operation, actor, result }: EntryOfToken): string {
  const outcome = result === null ? '' : `: ${result}`;
  return `${seq}  ${at}  ${kind} ${operation}${outcome} by ${actor['user'] ?? ''} as ${actor['as'] ?? ''}`;
}

function titled(title: string, items: readonly string[]): Part {
  return lines(items.length > 0 && [`${title}:`, ...list(...items)]);
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import { orphanUse } from '../../domain/dialect.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { PlanBuilder } from '../../domain/plan-builder.ts';
import { type RefreshTokenState, refreshTokenExpiry, refreshTokenState } from '../../domain/token.ts';
import { pathsNotCovered } from '../access/not-covered.ts';
import type { Change } from '../journal/operation-run.ts';
import {
  knownTokens,
  lastUseBefore,
  type OwnUse,
  readOwnUses,
  type UsedToken,
  UseRecord,
} from '../journal/own-uses.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Identified, Target, TargetDescription } from '../ports/target.ts';
import { readRefreshLifetime } from '../scope/known-settings.ts';
import { partOf } from '../scope/target-parts.ts';
import type { LeakedInput } from './leaked-input.ts';
import type { LeakPlace } from './scanner-findings.ts';
import { isGenerated } from './token-values.ts';

/** A token whose value leaked. */
export interface LeakedToken extends UsedToken {
  readonly kind: Identified['kind'];
  readonly live: boolean;
  /** Only for refresh tokens. `live` also if it is unknown whether it expired. */
  readonly state?: RefreshTokenState;
  /** Only a use can tell which of `ids` it is, and a dry run makes none. */
  readonly needsUse?: true;
  /** The first lines of the text that contain it, counted from 1. Empty for a scanner's report. */
  readonly lines: readonly number[];
  /** The first places where a scanner found it. Empty for a text. */
  readonly places: readonly LeakPlace[];
}

/** The result of searching a text. */
export interface LeakedTokens extends Pick<LeakedInput, 'lines' | 'hiddenLines' | 'report'> {
  /** Number of different values that look like tokens. */
  readonly values: number;
  /** Number of values not sent to the target, as it creates none of this form: other systems' secrets. */
  readonly notSent: number;
  /** The values that are tokens here. */
  readonly found: readonly LeakedToken[];
  /** How the target identified them. By trying, it finds no refresh tokens and no expired or revoked ones. */
  readonly how: Target['identifies'];
}

/**
 * Finds out which token values of a text or a scanner's report are tokens of the target, and their owners.
 * The values are kept in memory only and sent only to the target. A target that tries values may have to set
 * the last use of a token to distinguish it from others of its owner: this is recorded in the audit log
 * before, with the last uses that it overwrites, and after.
 * @param options.change Gives the context of that record; called only if there is such a use.
 * @throws TokenctlError whatever the target throws; `audit_unavailable` before any token was used.
 */
export async function findLeaked(options: {
  readonly target: Target;
  readonly description: Pick<
    TargetDescription,
    'capabilities' | 'address' | 'installUuid' | 'dialect' | 'version'
  >;
  readonly clock: Clock;
  /** The input: a text, or a scanner's report. */
  readonly input: LeakedInput;
  /** The audit log with earlier uses: these are not uses by the owner. */
  readonly log: Pick<AuditLog, 'entries'>;
  readonly change: () => Promise<Change>;
  /** For a dry run: makes no use that only serves to tell tokens apart. */
  readonly withoutUse?: boolean;
}): Promise<LeakedTokens> {
  const { target, input } = options;
  const all = candidatesFor(target, input);
  const record = new UseRecord(options.change);
  const uses = await earlierUses(options);
  const found: LeakedToken[] = [];
  const values = all.map(({ value }) => value);
  try {
    const identified = target.identify(values, {
      known: knownTokens(uses ?? []),
      beforeUse: (use) => record.begin(use),
      ...(options.withoutUse === true && { withoutUse: true }),
    });
    for await (const { index, user, ...each } of identified) {
      const { kind, live, ids, fingerprint, usedAt, needsUse } = each;
      const ofToken = uses?.filter((use) => use.fingerprint === fingerprint);
      const lastUsed = ofToken && lastUseBefore(each.lastUsed, ofToken);
      const token = {
        kind,
        live,
        ids,
        user: user?.username ?? null,
        fingerprint,
        usedAt,
        ...(lastUsed !== undefined && { lastUsed }),
        ...(needsUse === true && { needsUse }),
      };
      found.push({ ...token, lines: all[index]?.lines ?? [], places: all[index]?.places ?? [] });
    }
  } catch (error) {
    await record.end(found, error);
    throw error;
  }
  await record.end(found);
  return {
    lines: input.lines,
    hiddenLines: input.hiddenLines,
    report: input.report,
    values: input.candidates.length,
    notSent: input.candidates.length - all.length,
    found: await withStates(found, options),
    how: target.identifies,
  };
}

/** The candidates to send to a target. A target that tries them gets no secrets of other systems. */
export function candidatesFor(
  { identifies }: Pick<Target, 'identifies'>,
  { candidates }: Pick<LeakedInput, 'candidates'>,
): LeakedInput['candidates'] {
  return identifies === 'by_trying' ? candidates.filter(({ value }) => isGenerated(value)) : candidates;
}

/** The uses that earlier runs recorded; undefined if the audit log cannot be read. */
async function earlierUses({
  log,
  description,
}: Pick<Parameters<typeof findLeaked>[0], 'log' | 'description'>): Promise<readonly OwnUse[] | undefined> {
  try {
    return await readOwnUses(log, description);
  } catch (error) {
    if (error instanceof TokenctlError) return undefined;
    throw error;
  }
}

/** Adds the state of each refresh token: expired and orphaned ones are refused although not revoked. */
async function withStates(
  found: readonly LeakedToken[],
  { target, description, clock }: Pick<Parameters<typeof findLeaked>[0], 'target' | 'description' | 'clock'>,
): Promise<readonly LeakedToken[]> {
  const ids = found.flatMap(({ kind, ids }) => (kind === 'refresh_token' ? ids : []));
  if (ids.length === 0) return found;
  const lifetime = await readRefreshLifetime(target);
  const states = new Map<number, RefreshTokenState>();
  for await (const token of partOf(target, 'refreshTokens').list({ ids })) {
    const state = refreshTokenState(token);
    const isExpired =
      state === 'live' && lifetime !== null && refreshTokenExpiry(token, lifetime) < clock.now();
    states.set(token.id, isExpired ? 'expired' : state);
  }
  const usable = orphanUse(description) === 'refused' ? ['live'] : ['live', 'orphaned'];
  return found.map((each) => {
    const state = each.kind === 'refresh_token' ? states.get(each.ids[0] ?? 0) : undefined;
    return state === undefined ? each : { ...each, state, live: usable.includes(state) };
  });
}

/**
 * Plans the revocation of exactly the live tokens found: access tokens with their refresh tokens if the
 * target can, and refresh tokens that are not revoked. If a token could only be narrowed down to several,
 * none of them is planned. Reads only.
 * @throws TokenctlError whatever the target throws.
 */
export async function planLeaked(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly leaked: LeakedTokens;
  readonly includeOwn: boolean;
}): Promise<RevocationPlan> {
  const { target, description, leaked, includeOwn } = options;
  const reach = {
    refreshTokens: target.refreshTokens !== undefined,
    authorizationCodes: false,
    sessions: false,
  };
  const builder = new PlanBuilder({
    selection: 'tokens with a leaked value',
    context: description.context,
    ownTokenIds: await target.ownTokenIds(),
    includeOwn,
    reach,
  });
  const idsOf = (kind: LeakedToken['kind']) =>
    leaked.found.flatMap(({ ids, live, state, kind: each }) =>
      (live || (state !== undefined && state !== 'revoked')) && each === kind && ids.length === 1 ? ids : [],
    );
  const needUse = leaked.found.filter(({ needsUse }) => needsUse === true).length;
  const absent = new Set(idsOf('access_token'));
  if (absent.size > 0) {
    for await (const token of target.tokens({ ids: [...absent] })) {
      builder.add(token);
      absent.delete(token.id);
    }
  }
  const refresh = reach.refreshTokens ? idsOf('refresh_token') : [];
  if (refresh.length > 0) {
    const live = partOf(target, 'refreshTokens').list({ ids: refresh, states: ['live', 'orphaned'] });
    for await (const token of live) builder.addRefreshToken(token);
  }
  return builder.build({
    accessPaths: await pathsNotCovered({
      target,
      description,
      tokensWithRefreshToken: builder.tokensWithRefreshToken,
      reach,
      selection: { kind: 'tokens', names: [], owners: builder.ownerNames },
    }),
    absentIds: [...absent],
    notSeen:
      needUse === 0
        ? null
        : `${needUse} live ${needUse === 1 ? 'value' : 'values'} could not be distinguished without using them`,
  });
}

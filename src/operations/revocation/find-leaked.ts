import type { RevocationPlan } from '../../domain/plan.ts';
import { PlanBuilder } from '../../domain/plan-builder.ts';
import { Secret } from '../../domain/secret.ts';
import type { Capabilities, Identified, Target } from '../ports/target.ts';

/** A token whose value leaked. */
export interface LeakedToken {
  readonly kind: Identified['kind'];
  readonly live: boolean;
  /** Its id; several where the target could only narrow it down, and none where it could not tell. */
  readonly ids: readonly number[];
  readonly user: string | null;
  readonly fingerprint: string;
  /** The lines that it was found in, counted from 1: the first few. */
  readonly lines: readonly number[];
}

/** What became of the text that was searched. */
export interface LeakedTokens {
  /** How many lines were read. */
  readonly lines: number;
  /** How many different values look like tokens. */
  readonly values: number;
  /** Those that are tokens here. */
  readonly found: readonly LeakedToken[];
  /** How the target found out; one that tries finds no refresh tokens and no dead ones. */
  readonly how: Capabilities['identifies'];
}

/** The maximum number of lines listed for a value. */
const MAX_LINES = 5;

/** A value, and where it was found. */
interface Candidate {
  readonly value: Secret;
  readonly lines: number[];
}

/**
 * Finds out which token values in a text are tokens of the target, and whose. The values are held in memory for
 * that and go nowhere but to the target. Reads only; a target that tries values counts that as a use of them.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function findLeaked(options: {
  readonly target: Target;
  readonly capabilities: Capabilities;
  readonly lines: AsyncIterable<string>;
}): Promise<LeakedTokens> {
  const { target, capabilities } = options;
  const candidates = new Map<string, Candidate>();
  let lines = 0;
  for await (const line of options.lines) {
    lines += 1;
    for (const value of findTokenValues(line)) {
      const known = candidates.get(value.reveal());
      if (known === undefined) candidates.set(value.reveal(), { value, lines: [lines] });
      else if (known.lines.length < MAX_LINES && known.lines.at(-1) !== lines) known.lines.push(lines);
    }
  }
  const all = [...candidates.values()];
  const found: LeakedToken[] = [];
  for await (const { index, kind, live, ids, user, fingerprint } of target.identify(
    all.map(({ value }) => value),
  )) {
    found.push({
      kind,
      live,
      ids,
      user: user?.username ?? null,
      fingerprint,
      lines: all[index]?.lines ?? [],
    });
  }
  return { lines, values: all.length, found, how: capabilities.identifies };
}

/**
 * Plans the revocation of exactly the live tokens among those found: of access tokens with the refresh token
 * beside each where the target can. Where a token could only be narrowed down to several, none of them is
 * planned. Reads only.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function planLeaked(options: {
  readonly target: Target;
  readonly capabilities: Capabilities;
  readonly leaked: LeakedTokens;
  readonly includeOwn: boolean;
}): Promise<RevocationPlan> {
  const { target, capabilities, leaked, includeOwn } = options;
  const reach = {
    refreshTokens: capabilities.refreshTokens,
    authorizationCodes: false,
    sessions: false,
  };
  const builder = new PlanBuilder({
    selection: 'tokens with a leaked value',
    ownTokenIds: await target.ownTokenIds(),
    includeOwn,
    reach,
  });
  const idsOf = (kind: LeakedToken['kind']) =>
    leaked.found.flatMap(({ ids, live, kind: each }) =>
      live && each === kind && ids.length === 1 ? ids : [],
    );
  const absent = new Set(idsOf('access_token'));
  if (absent.size > 0) {
    for await (const token of target.tokens({ ids: [...absent] })) {
      builder.add(token);
      absent.delete(token.id);
    }
  }
  const refresh = reach.refreshTokens ? idsOf('refresh_token') : [];
  if (refresh.length > 0) {
    const live = target.refreshTokens({ ids: refresh, states: ['live', 'orphaned'] });
    for await (const token of live) builder.addRefreshToken(token);
  }
  return builder.build({
    staysAlive: await target.staysAlive({
      tokensWithRefreshToken: builder.tokensWithRefreshToken,
      reach,
      selection: { kind: 'tokens', names: [], owners: builder.ownerNames },
    }),
    absentIds: [...absent],
  });
}

/** The values that a controller generates: exactly 30 letters and digits. */
const GENERATED = /(?<![A-Za-z0-9])[A-Za-z0-9]{30}(?![A-Za-z0-9])/g;

/** A value that says of itself that it is a token: behind `Bearer`, or as the value of a setting called so. */
const LABELED =
  /(?:\bbearer\s+|(?:oauth2?_?)?(?:access_|refresh_)?token["']?\s*[:=]\s*["']?)([A-Za-z0-9\-._~+/]{16,256}=*)/gi;

/** A line that is nothing but a value. */
const ALONE = /^[A-Za-z0-9\-._~+/]{16,256}=*$/;

/**
 * What may be token values in a line of text: of a scan, a paste, a log. Strings of the length that a controller
 * makes, in any context; what is called a token; and a line that is nothing else.
 *
 * Other secrets of other lengths are left alone on purpose: a target that tries values must not be shown them.
 */
export function findTokenValues(line: string): readonly Secret[] {
  const text = line.trim();
  const found = new Set<string>();
  if (ALONE.test(text)) found.add(text);
  for (const [value] of text.matchAll(GENERATED)) found.add(value);
  for (const [, value = ''] of text.matchAll(LABELED)) found.add(value);
  return Array.from(found, (value) => new Secret(value));
}

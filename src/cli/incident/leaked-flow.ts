import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Runtime } from '../../app/runtime.ts';
import type { Visibility } from '../../domain/claims.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import {
  findLeaked,
  type LeakedToken,
  type LeakedTokens,
  planLeaked,
} from '../../operations/revocation/find-leaked.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { revocationRefusal, revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable, timeText } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { requireReadable } from '../flags.ts';
import { noteLimit } from '../output/streams.ts';
import { type PlanFlags, writePlanFile } from '../revocation/plan-file.ts';
import { revocationResult } from '../revocation/revocation-flow.ts';
import { amountsOf, isNothing, planText, questionFor, savedText } from '../revocation/revocation-plan.ts';

/** What `tokens find` prints with `--json`. */
export interface LeakedJson extends LeakedTokens {
  readonly visibility: Visibility;
  readonly dryRun: boolean;
  /** Null without --revoke and --plan-out. */
  readonly plan: RevocationPlan | null;
  /** The file of --plan-out; null without it. */
  readonly planFile: string | null;
  /** The digest of the saved plan; null without --plan-out. */
  readonly digest: string | null;
  /** Null if nothing was revoked. */
  readonly revocation: RevocationReport | null;
}

export interface LeakedRequest {
  readonly runtime: Runtime;
  /** The lines to search. */
  readonly lines: AsyncIterable<string>;
  /** Null if nothing is revoked. */
  readonly confirmation: Confirmation | null;
  readonly flags: PlanFlags & {
    readonly 'include-own'?: boolean | undefined;
  };
}

/**
 * Finds token values and their owners. With a confirmation, revokes the live ones like any other revocation.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations.
 */
export async function leakedFlow({
  runtime,
  lines,
  confirmation,
  flags,
}: LeakedRequest): Promise<Report<LeakedJson>> {
  const dryRun = flags['dry-run'] === true;
  const target = await runtime.target();
  const description = await runtime.description();
  const { visibility } = description;
  await noteLimit(runtime);
  const leaked = await findLeaked({
    ...{ target, description, lines, log: await runtime.auditLog(), clock: runtime.clock },
    change: () => runtime.change(flags),
    withoutUse: dryRun,
  });
  if (confirmation === null) return foundResult(leaked, { visibility, plan: null, revocation: null });
  const includeOwn = flags['include-own'] === true;
  const plan = await planLeaked({ target, description, leaked, includeOwn });
  const amounts = amountsOf(plan);
  const text = () => `${foundText(leaked)}\n${planText(plan, description, true)}`;
  const path = flags['plan-out'];
  if (path !== undefined && !isNothing(amounts)) {
    const { digest } = await writePlanFile(runtime, { path, plan, includeOwn, flags });
    return report({
      json: leakedToJson(leaked, { visibility, plan, file: { path, digest } }),
      text: () => `${text()}\n${savedText({ path, digest })}`,
      failure: unclear(leaked),
    });
  }
  if (dryRun || isNothing(amounts)) {
    const ending = dryRun ? '\nDry run. Nothing was changed.\n' : '';
    return report({
      json: leakedToJson(leaked, { visibility, plan, dryRun }),
      text: () => text() + ending,
      failure: (dryRun ? revocationRefusal(plan, description) : undefined) ?? unclear(leaked),
    });
  }
  await confirmation.confirm({ plan: text(), ...questionFor(amounts) });
  const change = await runtime.change(flags);
  const progress = runtime.progress('Revoking');
  const revocation = await revokeTokens({ ...change, plan, onProgress: progress.step }).finally(progress.end);
  return foundResult(leaked, { visibility, plan, revocation });
}

/** The JSON of every search: what was found, the plan with --revoke, and what the revocation did. */
function leakedToJson(
  leaked: LeakedTokens,
  {
    visibility,
    plan,
    dryRun = false,
    file,
    revocation = null,
  }: {
    readonly visibility: Visibility;
    readonly plan: RevocationPlan | null;
    readonly dryRun?: boolean;
    readonly file?: { readonly path: string; readonly digest: string };
    readonly revocation?: RevocationReport | null;
  },
): LeakedJson {
  const saved = { planFile: file?.path ?? null, digest: file?.digest ?? null };
  return { ...leaked, visibility, dryRun, plan, ...saved, revocation };
}

function foundResult(
  leaked: LeakedTokens,
  {
    visibility,
    plan,
    revocation,
  }: {
    readonly visibility: Visibility;
    readonly plan: RevocationPlan | null;
    readonly revocation: RevocationReport | null;
  },
): Report<LeakedJson> {
  const revoked = revocation === null ? null : revocationResult(revocation, plan);
  return report({
    json: leakedToJson(leaked, { visibility, plan, revocation }),
    // What was found was printed with the plan.
    text: (screen) => (revoked === null ? foundText(leaked) : revoked.text(screen)),
    failure: revoked === null ? undefined : (revoked.failure ?? unclear(leaked)),
  });
}

/** The failure if a live token could not be identified. */
function unclear({ found }: LeakedTokens): TokenctlError | undefined {
  const open = found.filter(({ live, ids }) => live && ids.length !== 1);
  if (open.length === 0) return undefined;
  if (open.some(({ needsUse }) => needsUse === true)) {
    const what = `${countText(open.length, 'live token needs', 'live tokens need')} a use to be told apart`;
    return new TokenctlError('partly_done', `${what}, which a dry run does not make`, {
      hint: 'Run it without --dry-run and check the plan before you confirm it, or use a database context, which finds tokens by hash.',
    });
  }
  return new TokenctlError(
    'partly_done',
    `${countText(open.length, 'live token', 'live tokens')} could not be identified and ${open.length === 1 ? 'was' : 'were'} not revoked`,
    {
      hint: 'Revoke all candidates with `tokenctl tokens revoke --id`, or use a database context, which finds tokens by hash.',
    },
  );
}

function foundText({ lines, values, found, how }: LeakedTokens): string {
  const live = found.filter((each) => each.live).length;
  const text = [
    `Read ${countText(lines, 'line')}: ${countText(values, 'value')} that may be tokens, ${countText(found.length, 'token')} of this target, ${live} live.`,
    ...found.map(tokenText),
    ...(how === 'by_trying'
      ? [
          'Each value was tried as an access token. Refresh tokens and expired tokens cannot be found this way.',
        ]
      : []),
  ];
  return `${text.join('\n')}\n`;
}

function tokenText(token: LeakedToken): string {
  const { kind, ids, user, fingerprint, lines } = token;
  const name = kind === 'access_token' ? 'access token' : 'refresh token';
  const id =
    ids.length === 1
      ? ` ${ids[0]}`
      : ids.length === 0
        ? ' of unknown id'
        : ` that is one of ${ids.join(', ')}`;
  const where = lines.length === 0 ? '' : `, line ${lines.join(', ')}`;
  const owner = printable.value(user ?? 'an unknown user');
  const text = `  ${stateText(token)}  ${name}${id}, of ${owner}, fingerprint ${fingerprint}${where}`;
  if (token.needsUse === true) {
    return `${text}\n        Only a use tells which one it is, and a dry run does not use it.`;
  }
  return kind === 'access_token' ? `${text}\n        ${lastUseText(token)}` : text;
}

/** An expired or orphaned refresh token is refused, but not revoked. */
function stateText({ live, state }: LeakedToken): string {
  if (live) return 'LIVE';
  return state === 'expired' || state === 'orphaned' ? state : 'dead';
}

function lastUseText({ lastUsed, usedAt }: LeakedToken): string {
  const before =
    lastUsed === undefined
      ? 'Last use before this check: unknown.'
      : lastUsed === null
        ? 'Never used before this check.'
        : `Last used before this check: ${timeText(lastUsed)}.`;
  return usedAt === null ? before : `${before} This check used it at ${timeText(usedAt)}.`;
}

/**
 * Opens a file, or standard input for `-`, for one or several readers. For several readers, standard input is kept in
 * memory, because it can be read only once.
 *
 * @returns The lines for one reader. They throw TokenctlError `usage` where standard input is the terminal.
 * @throws TokenctlError `configuration` for a file that cannot be read.
 */
export function leakedSource(path: string): (reader: { readonly several: boolean }) => AsyncIterable<string> {
  if (path !== '-') requireReadable(path, 'The file of --leaked');
  let kept: Promise<readonly string[]> | undefined;
  return ({ several }) => {
    if (path !== '-' || !several) return leakedLines(path);
    kept ??= Array.fromAsync(leakedLines(path));
    return linesOf(kept);
  };
}

async function* linesOf(kept: Promise<readonly string[]>): AsyncIterable<string> {
  yield* await kept;
}

async function* leakedLines(path: string): AsyncGenerator<string, void> {
  if (path === '-' && process.stdin.isTTY) {
    throw new TokenctlError('usage', 'No input on standard input', {
      hint: 'Give a file, or pipe the input from another program. A pasted value would stay visible on the screen.',
    });
  }
  const input = path === '-' ? process.stdin : createReadStream(path);
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

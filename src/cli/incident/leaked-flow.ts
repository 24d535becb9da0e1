import { createReadStream } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Visibility } from '../../domain/claims.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import {
  candidatesFor,
  findLeaked,
  type LeakedToken,
  type LeakedTokens,
  planLeaked,
} from '../../operations/revocation/find-leaked.ts';
import {
  type LeakedInput,
  NAMES,
  readLeaked,
  WITH_SECRETS,
  WITH_VALUES,
} from '../../operations/revocation/leaked-input.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import type { LeakPlace } from '../../operations/revocation/scanner-findings.ts';
import { type Document, type Line, lines, list, warning } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, timeText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlanFileJson, PlannedChange } from '../change/change.ts';
import { writePlanFile } from '../change/plan-file.ts';
import { requireReadable } from '../flags/flags.ts';
import { noteLimit, writeNotice } from '../output/streams.ts';
import { revocationEnding } from '../revocation/revocation-ending.ts';
import type { LeakedFlags } from '../revocation/revocation-flags.ts';
import { revocationChange } from '../revocation/revocation-flow.ts';
import { planDocument } from '../revocation/revocation-plan.ts';

/** What `tokens find` prints with `--json`. */
export interface LeakedJson extends LeakedTokens, PlanFileJson {
  readonly visibility: Visibility;
  readonly dryRun: boolean;
  /** Null without --revoke and --plan-out. */
  readonly plan: RevocationPlan | null;
  /** Null if nothing was revoked. */
  readonly revocation: RevocationReport | null;
}

export interface LeakedRequest extends ChangeRequest<Omit<LeakedFlags, 'leaked'>> {
  /** Reads the text or the report to search. */
  readonly input: () => Promise<LeakedInput>;
}

/** Finds token values and their owners, without revoking anything. Throws as the operations do. */
export async function leakedReport(request: LeakedRequest): Promise<Report<LeakedJson>> {
  const { leaked, description } = await find(request);
  const { visibility } = description;
  return report({
    json: {
      ...{ ...leaked, visibility, dryRun: false },
      ...{ plan: null, planFile: null, digest: null, revocation: null },
    },
    document: foundDocument(leaked),
    failure: unchecked(leaked),
  });
}

async function find(request: LeakedRequest) {
  const { runtime, flags } = request;
  const read = await runtime.readTarget();
  const { target, description } = read;
  await noteLimit(runtime);
  const input = await request.input();
  const sent = candidatesFor(target, input).length;
  if (target.identifies === 'by_trying' && sent > 0) {
    writeNotice(
      `Sending ${countText(sent, 'value')} of 30 letters and digits to ${description.address}, each as a bearer token.`,
    );
  }
  const leaked = await findLeaked({
    ...read,
    input,
    log: await runtime.auditLog(),
    change: () => runtime.change(flags),
    withoutUse: flags['dry-run'] === true,
  });
  return { leaked, target, description };
}

/** Finds token values and their owners, and plans to revoke the live ones. Throws as the operations do. */
export async function leakedFlow(
  request: LeakedRequest,
): Promise<PlannedChange<RevocationReport, LeakedJson>> {
  const { runtime, flags } = request;
  const { leaked, target, description } = await find(request);
  const { visibility } = description;
  const includeOwn = flags['include-own'] === true;
  const plan = await planLeaked({ target, description, leaked, includeOwn });
  return {
    ...revocationChange(plan, { description }),
    guard: undefined,
    plan: [...foundDocument(leaked), ...planDocument(plan, description)],
    preview: [],
    incomplete: unclear(leaked) ?? unchecked(leaked),
    nothing: undefined,
    save: (path) => writePlanFile(runtime, { path, plan, includeOwn, flags }),
    ended(done) {
      const ending = revocationEnding(done);
      return {
        ...ending,
        amount: undefined,
        failure: ending.failure ?? unclear(leaked) ?? unchecked(leaked),
      };
    },
    json: ({ dryRun, done, file }) => ({ ...leaked, visibility, dryRun, plan, ...file, revocation: done }),
  };
}

/** The failure if a live token could not be identified. */
function unclear({ found }: LeakedTokens): TokenctlError | undefined {
  const open = found.filter(({ live, ids }) => live && ids.length !== 1);
  if (open.length === 0) return undefined;
  if (open.some(({ needsUse }) => needsUse === true)) {
    const what = `${countText(open.length, 'live token', 'live tokens')} can only be distinguished by using each token once`;
    return new TokenctlError('partly_done', `${what}, which a dry run does not do`, {
      hint: 'Run the command without --dry-run and check the plan before you confirm it, or use a database context, which finds tokens by hash.',
    });
  }
  return new TokenctlError(
    'partly_done',
    `${countText(open.length, 'live token', 'live tokens')} could not be identified, and ${open.length === 1 ? 'was' : 'were'} not revoked`,
    { hint: `${candidatesText(open)}Or use a database context, which finds tokens by hash.` },
  );
}

/** The command that revokes all candidates; empty without candidates, or if there are too many to print. */
function candidatesText(open: LeakedTokens['found']): string {
  const ids = [...new Set(open.flatMap((token) => token.ids))];
  if (ids.length === 0 || ids.length > MAX_CANDIDATES) return '';
  const named = ids.map((id) => `--id ${id}`).join(' ');
  return `To revoke all candidates: \`tokenctl tokens revoke ${named}\`. `;
}

const MAX_CANDIDATES = 20;

/** The failure if the input hides secrets, which may be live tokens. */
function unchecked({ report, hiddenLines }: LeakedTokens): TokenctlError | undefined {
  const hidden = report?.hidden ?? hiddenLines;
  if (hidden === 0) return undefined;
  const what =
    report === null
      ? countText(hidden, 'line does not show its value', 'lines do not show their values')
      : countText(hidden, 'finding does not show its value', 'findings do not show their values');
  return new TokenctlError('partly_done', `Not checked: ${what}`, {
    hint: report === null ? WITH_VALUES : WITH_SECRETS[report.format],
  });
}

function foundDocument(leaked: LeakedTokens): Document {
  const { lines: read, hiddenLines, report, values, notSent, found, how } = leaked;
  const live = found.filter((each) => each.live).length;
  const what =
    report === null
      ? countText(read, 'line')
      : `a ${NAMES[report.format]} with ${countText(report.findings, 'finding')}`;
  return [
    lines(
      `Read ${what}: ${countText(values, 'value that may be a token', 'values that may be tokens')}, ${countText(found.length, 'token')} of this target, ${live} live.`,
      report === null &&
        read === 0 &&
        'The input is empty. TruffleHog writes nothing if it finds nothing, but a failed scan may also have written nothing.',
      found.map(tokenLines),
      hiddenLines > 0 &&
        warning`Not checked: ${countText(hiddenLines, 'line contains', 'lines contain')} REDACTED, asterisks, a hash or packed data instead of a value.`,
      report !== null &&
        report.hidden > 0 &&
        warning`Not checked: ${countText(report.hidden, 'finding', 'findings')} without a secret${placesText(report.hiddenPlaces)}.`,
      notSent > 0 &&
        `Not sent: ${countText(notSent, 'value')} in another format. A controller generates tokens of 30 letters and digits.`,
      how === 'by_trying' &&
        values > notSent &&
        'Each value was tested as an access token. Refresh tokens and expired tokens cannot be found this way.',
    ),
  ];
}

function tokenLines(token: LeakedToken): Line[] {
  const { kind, ids, user, fingerprint, lines: inLines, places } = token;
  const name = kind === 'access_token' ? 'access token' : 'refresh token';
  const id =
    ids.length === 1
      ? ` ${ids[0]}`
      : ids.length === 0
        ? ' of unknown ID'
        : ` that is one of ${ids.join(', ')}`;
  const where = `${inLines.length === 0 ? '' : `, line ${inLines.join(', ')}`}${placesText(places)}`;
  const text = `${stateText(token)}  ${name}${id}, of ${user ?? 'an unknown user'}, fingerprint ${fingerprint}${where}`;
  const use =
    token.needsUse === true
      ? 'Only using the token would tell which one it is, and a dry run does not do that.'
      : kind === 'access_token' && lastUseText(token);
  return list(text, use && { text: use, depth: 4 });
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

/** Where a scanner found a value: ", in a.sh, line 3, commit 1a2b3c4d; b.sh". */
function placesText(places: readonly LeakPlace[]): string {
  const texts = places.map(({ file, commit, line, link }) =>
    [file ?? link, line && `line ${line}`, commit && `commit ${commit.slice(0, 12)}`]
      .filter(Boolean)
      .join(', '),
  );
  const named = [...new Set(texts)].filter((text) => text !== '');
  return named.length === 0 ? '' : `, in ${named.join('; ')}`;
}

/**
 * Opens a file, or standard input for `-`. It is read once, even for several contexts: only the values in it
 * are kept.
 * @returns A function that reads it. It throws TokenctlError `usage` if standard input is the terminal, and
 * what {@link readLeaked} throws.
 * @throws TokenctlError `configuration` for a file that cannot be read.
 */
export function leakedSource(path: string): () => Promise<LeakedInput> {
  if (path !== '-') requireReadable(path, 'The file of --leaked');
  let read: Promise<LeakedInput> | undefined;
  return () => {
    if (path === '-' && process.stdin.isTTY) {
      throw new TokenctlError('usage', 'Standard input is the terminal', {
        hint: 'Specify a file, or pipe the output of another program. A pasted value would stay visible on the screen.',
      });
    }
    read ??= readLeaked(path === '-' ? process.stdin : createReadStream(path));
    return read;
  };
}

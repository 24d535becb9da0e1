import { TokenctlError } from '@tokenctl/common/errors.ts';
import { bad, lines, type Part } from '../../reports/document.ts';
import type { Amount, Report, Result } from '../../reports/result.ts';
import { type Listing, listing } from '../../reports/tables/listing.ts';
import { countText, numberText, type Tone } from '../../reports/tables/text.ts';
import { GO_ON } from '../change/ending.ts';
import {
  BugInContexts,
  type Failure,
  type FailureJson,
  failureOf,
  failureToJson,
} from '../errors/failure.ts';

/** How a command ended in one context: with a result or with an error. */
export interface ContextOutcome {
  readonly context: string;
  /** Absent after an error. */
  readonly result?: Result;
  readonly error?: unknown;
  /** Its installation id; null or absent if it states none, or was not asked. */
  readonly installUuid?: string | null;
  /** The context whose database had this context's token before the change, and no longer has it. */
  readonly credentialRevokedBy?: string;
}

/** Groups contexts by installation, in order of appearance. One without an installation id is on its own. */
export function byInstallation<T extends { readonly context: string; readonly installUuid?: string | null }>(
  contexts: readonly T[],
): readonly (readonly T[])[] {
  return [
    ...Map.groupBy(contexts, ({ installUuid, context }) => installUuid ?? `context ${context}`).values(),
  ];
}

/** How a command ended in all contexts. */
export interface MultiContextOutcome {
  readonly outcomes: readonly ContextOutcome[];
  readonly changes: boolean;
}

/**
 * The failure that names the contexts in which a command did not complete; undefined if it completed
 * everywhere. It has the error code that all contexts share, otherwise `partly_done`. `interrupted` and
 * `findings` keep their codes, and a bug in one context is a bug. A user or an application that only some
 * contexts have is not a failure.
 * @param errors The errors by context.
 */
export function multiContextFailure(
  errors: ReadonlyMap<string, unknown>,
  { contexts, changes }: { contexts: readonly string[]; changes: boolean },
): TokenctlError | undefined {
  const everywhere = errors.size === contexts.length;
  const isFound = !everywhere || [...errors.values()].some(isPartlyDone);
  const failures = contexts
    .map((context) => ({ context, error: errors.get(context) }))
    .filter(({ error }) => error !== undefined && !(isFound && isNotFound(error)))
    .map(({ context, error }) => ({ context, error, failure: failureOf(error) }));
  if (failures.length === 0) return undefined;
  // In fifty contexts, the same reason is shown once.
  const reasons = new Map<string, string[]>();
  for (const {
    context,
    failure: { message, hint },
  } of failures) {
    const reason = `${message}${hint === undefined ? '' : ` ${hint}`}`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), context]);
  }
  const each = [...reasons].map(([reason, named]) => `  ${named.join(', ')}: ${reason}`);
  const failed = failures.map(({ context }) => context);
  const cause = new AggregateError(failures.map(({ error }) => error));
  const notCompleted = (what: string) =>
    `${what} in ${failures.length} of ${countText(contexts.length, 'context')}:\n${each.join('\n')}`;
  const codes = new Set(failures.flatMap(({ failure }) => (failure.code === 'bug' ? [] : [failure.code])));
  if (failures.some(({ failure }) => failure.code === 'bug')) {
    return new BugInContexts(notCompleted('Not completed'), failed, cause);
  }
  const [only] = codes;
  const stays = codes.size === 1 && (only === 'findings' || only === 'interrupted' || everywhere);
  const code = codes.has('interrupted') ? 'interrupted' : stays && only !== undefined ? only : 'partly_done';
  const what = code === 'findings' ? 'Findings' : 'Not completed';
  return new TokenctlError(code, notCompleted(what), {
    ...(changes &&
      code !== 'findings' &&
      !failures.every(isStuck) && { hint: `${GO_ON} Completed changes are skipped.` }),
    cause,
    details: { contexts: failed },
  });
}

/** Whether the same command would fail again in a context: its own hint then says what to do instead. */
function isStuck({ error, failure }: { error: unknown; failure: Failure }): boolean {
  if (failure.code === 'credentials_refused' || failure.code === 'permission_refused') return true;
  const isPartly = error instanceof TokenctlError && error.code === 'partly_done';
  return isPartly && failure.hint !== undefined && failure.hint !== GO_ON;
}

/** Whether a named object does not exist; an unknown API path has no `kind`. */
function isNotFound(error: unknown): boolean {
  return (
    error instanceof TokenctlError && error.code === 'not_found' && error.details?.['kind'] !== undefined
  );
}

/** Whether a command began in a context, so that what it names exists there. */
function isPartlyDone(error: unknown): boolean {
  return error instanceof TokenctlError && error.code === 'partly_done';
}

/** The report of a context; undefined after an error, and for other kinds of results. */
export function reportOf({ result }: ContextOutcome): Report | undefined {
  return result?.kind === 'report' ? result : undefined;
}

/**
 * Why a command did not complete in a context. A refusal after another context revoked this one's token is
 * not a problem: the other context did the work, in the same controller, and reports how far it got.
 */
export function problemOf(outcome: ContextOutcome): unknown {
  return isLeftToOther(outcome) ? undefined : (outcome.error ?? reportOf(outcome)?.failure);
}

function isLeftToOther(outcome: ContextOutcome): boolean {
  const problem = outcome.error ?? reportOf(outcome)?.failure;
  if (outcome.credentialRevokedBy === undefined || !(problem instanceof TokenctlError)) return false;
  return problem.code === 'credentials_refused' || problem.code === 'partly_done';
}

/** What happened to a context's token that another context revoked, as a sentence; empty for any other. */
export function credentialText({ context, credentialRevokedBy: by }: ContextOutcome): string {
  return by === undefined
    ? ''
    : `The token of context ${context} is revoked: it is no longer in the database of context ${by}. Configure a new token, or omit this context.`;
}

/** How a command ended in one context, as `--json` shows it. */
interface ContextStateJson {
  /**
   * The code of the error, or `done`. `not_found` is not an error if another context has what was named, nor
   * is `credentials_refused` with `credentialRevokedBy`.
   */
  readonly state: Failure['code'] | 'done';
  /** Absent if there is none. */
  readonly error?: FailureJson['error'];
  /** For `not_found`: what does not exist. For `credentials_refused` without `error`: the token's state. */
  readonly message?: string;
  /** The context whose database had this context's token before the change, and no longer has it. */
  readonly credentialRevokedBy?: string;
}

/** The output of a command with `--json` in several contexts. Lists print an array of rows with `context`. */
export interface SeveralContextsJson {
  readonly contexts: readonly (ContextStateJson & {
    readonly context: string;
    /** As for one context; absent if there is none. */
    readonly result?: unknown;
  })[];
  /** After a change: the sums; null if the contexts count different things. */
  readonly total?: Amount | null;
}

/** How a command ended in one context, for `--json`: its state, and the error or what does not exist. */
export function stateToJson(problem: unknown): ContextStateJson {
  if (problem === undefined) return { state: 'done' };
  const failure = failureOf(problem);
  const why = isNotFound(problem) ? { message: failure.message } : failureToJson(failure);
  return { state: failure.code, ...why };
}

/** As {@link stateToJson}, for a change, with what happened to the context's token. */
export function changeToJson(outcome: ContextOutcome): ContextStateJson {
  const { credentialRevokedBy } = outcome;
  if (credentialRevokedBy !== undefined && isLeftToOther(outcome)) {
    return { state: 'credentials_refused', credentialRevokedBy, message: credentialText(outcome) };
  }
  return { ...stateToJson(problemOf(outcome)), ...(credentialRevokedBy && { credentialRevokedBy }) };
}

/** A line of the table: a context, or the total. */
interface TableRow {
  readonly context: string;
  readonly amount?: Amount | undefined;
  readonly state: string;
  readonly tone: Tone | undefined;
}

/** How a change ended in each context, with the total: the first thing to read after a change in several. */
export function outcomeTable(outcomes: readonly ContextOutcome[]): Listing<TableRow> {
  const rows = outcomes.map(rowOf);
  const total = totalOf(outcomes);
  const completed = outcomes.filter((each) => problemOf(each) === undefined && !isLeftToOther(each)).length;
  const last: readonly TableRow[] =
    total === null
      ? []
      : [
          {
            context: 'total',
            amount: total,
            state: `${total.what}s, completed in ${completed} of ${countText(outcomes.length, 'context')}`,
            tone: undefined,
          },
        ];
  const number = (of: (amount: Amount) => number) => (row: TableRow) =>
    row.amount === undefined ? '' : numberText(of(row.amount));
  return listing<TableRow>({
    rows: [...rows, ...last],
    columns: [
      { name: 'context', cell: ({ context }) => context, whole: true },
      { name: 'planned', cell: number(({ planned }) => planned), whole: true, only: 'unlessEmpty' },
      { name: 'done', cell: number(({ done }) => done), whole: true, only: 'unlessEmpty' },
      { name: 'state', cell: ({ state }) => state, tone: ({ tone }) => tone },
    ],
    json: (row) => row,
    none: '',
  });
}

/**
 * The sum over all contexts; null if they count different things, or nothing. Contexts of one installation
 * count the same objects: the maximum of them is used, so that nothing is counted twice.
 */
export function totalOf(outcomes: readonly ContextOutcome[]): Amount | null {
  const installations = byInstallation(outcomes)
    .map((group) => group.flatMap((outcome) => reportOf(outcome)?.amount ?? []))
    .filter((amounts) => amounts.length > 0);
  const [first] = installations.flat();
  if (first === undefined || installations.flat().some(({ what }) => what !== first.what)) return null;
  const sum = (of: (amount: Amount) => number) =>
    installations.reduce((all, amounts) => all + Math.max(...amounts.map(of)), 0);
  return { what: first.what, planned: sum(({ planned }) => planned), done: sum(({ done }) => done) };
}

function rowOf(outcome: ContextOutcome): TableRow {
  const { context } = outcome;
  const amount = reportOf(outcome)?.amount;
  const problem = problemOf(outcome);
  if (isLeftToOther(outcome)) {
    return { context, amount, state: `token revoked: see ${outcome.credentialRevokedBy}`, tone: 'faint' };
  }
  if (problem === undefined) {
    if (amount?.dryRun === true) return { context, amount, state: 'dry run', tone: 'faint' };
    const isNothing = amount?.planned === 0;
    return {
      context,
      amount,
      state: isNothing ? 'nothing to do' : 'done',
      tone: isNothing ? 'faint' : 'good',
    };
  }
  const { code, message } = failureOf(problem);
  // Another context has what was named: there is nothing to do in this one.
  if (isNotFound(problem)) return { context, amount, state: message.replace(/\.$/, ''), tone: 'faint' };
  return {
    context,
    amount,
    state: STATES[code] ?? 'failed',
    tone: code === 'partly_done' || code === 'not_approved' ? 'warning' : 'bad',
  };
}

const STATES: { readonly [Code in Failure['code']]?: string } = {
  partly_done: 'partly done',
  credentials_refused: 'refused',
  permission_refused: 'refused',
  unsupported: 'not possible there',
  lockout_refused: 'refused because it would lock tokenctl out',
  target_unreachable: 'unreachable',
  database_unreachable: 'unreachable',
  busy: 'busy',
  not_approved: 'needs an approval',
  interrupted: 'interrupted',
  audit_unavailable: 'not recorded, so not done',
  outcome_unrecorded: 'done, not recorded',
};

export function contextHeading(context: string): Part {
  return { kind: 'heading', level: 1, text: context };
}

/** Why a command did not complete in a context. A missing object is not an error. */
export function problemPart(problem: unknown): Part {
  const failure = failureOf(problem);
  if (isNotFound(problem)) return lines(failure.message);
  const [first = '', ...others] = failure.message.split('\n');
  return lines(bad`${failure.label}: ${first}`, others, failure.hint?.split('\n'));
}

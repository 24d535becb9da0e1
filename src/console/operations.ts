import { createHash, randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Progress, Runtime } from '../app/runtime.ts';
import { type Asked, firstStep, type Planned, type Step, type Waiting } from '../cli/change/change.ts';
import { failureOf } from '../cli/errors/failure.ts';
import type { PlanFlags } from '../cli/flags/flags.ts';
import { documentText } from '../reports/document.ts';
import type { Report } from '../reports/result.ts';
import { noScreen } from '../reports/tables/text.ts';
import { type ChangeOutcome, outcomeOf } from './outcome.ts';
import type { Opened, Places } from './places.ts';
import { type ShownPart, shownDocument } from './shown-document.ts';

/** How an operation ended, or a plan that was only viewed. */
export interface Ended {
  /** The output of the command with --json. */
  readonly json: unknown;
  /** The output of the command. */
  readonly text: string;
  /** The same as data, for a page that lays it out; null if the command prints a verbatim text. */
  readonly document: readonly ShownPart[] | null;
  readonly failure: Problem | null;
}

/** A failure as the page shows it. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** A change from its plan to its report. */
export interface OperationState {
  readonly id: string;
  /** The name of the command: `tokens revoke`. */
  readonly kind: string;
  /** The context; null for a change in none or several. */
  readonly place: string | null;
  readonly command: string;
  readonly state: 'planning' | 'asking' | 'working' | 'done' | 'failed' | 'canceled';
  readonly began: string;
  readonly ended: string | null;
  readonly asked: ReturnType<typeof askedOf> | null;
  readonly progress: (Progress & { readonly verb: string }) | null;
  readonly result: Ended | null;
  /** The result according to the audit log; null until the work has ended. */
  readonly outcome: ChangeOutcome | null;
  /** Why it did not begin. */
  readonly failure: Problem | null;
  readonly notices: readonly string[];
  /** Whether a part was recorded before the rest failed. */
  readonly isInPart: boolean;
}

/** The input for planning a change. */
export interface Run {
  readonly runtime: Runtime;
  /** Adds a line to the notices of the operation. */
  readonly notify: (line: string) => void;
  /** The same, for what was recorded before the rest failed. */
  readonly notifyPart: (line: string) => void;
}

/** A change as the flow of a command plans it, with the flags of the command. */
export interface Work {
  readonly flags: PlanFlags;
  readonly plan: (run: Run) => Promise<Planned<unknown>>;
}

/** How long a plan can be confirmed. */
const ANSWER_WITHIN_MS = 10 * 60_000;
/** The maximum number of operations kept; the oldest ended one is dropped. */
const MAX_KEPT = 50;
/** The maximum number of operations that have not ended. */
const MAX_OPEN = 8;
const MAX_NOTICES = 20;

interface Kept {
  state: OperationState;
  /** What it waits for, and the timeout. */
  waiting: { readonly step: Waiting<unknown>; readonly late: NodeJS.Timeout } | null;
  readonly watchers: Set<() => void>;
  /** The work in progress. */
  settled: Promise<void>;
  /** Open until it has ended. */
  close: () => Promise<void>;
}

/**
 * The changes of a console. Each is planned by the flow of its command, with the browser instead of the
 * terminal: the plan is kept until it is confirmed, and then carried out, independently of the connection.
 */
export class Operations {
  readonly #places: Places;
  readonly #kept = new Map<string, Kept>();
  #isClosed = false;

  constructor(places: Places) {
    this.#places = places;
  }

  /**
   * Begins an operation; its plan comes with a later state.
   * @throws TokenctlError `busy` with too many of them, or while the console stops.
   */
  begin(options: Work & { kind: string; place: string | null; command: string }): OperationState {
    const { flags, plan, ...facts } = options;
    this.#makeRoom();
    const id = randomUUID();
    const kept: Kept = {
      state: {
        id,
        ...facts,
        state: 'planning',
        began: new Date().toISOString(),
        ended: null,
        asked: null,
        progress: null,
        result: null,
        outcome: null,
        failure: null,
        notices: [],
        isInPart: false,
      },
      waiting: null,
      watchers: new Set(),
      settled: Promise.resolve().then(() => this.#plan(kept, { flags, plan })),
      close: async () => undefined,
    };
    this.#kept.set(id, kept);
    return kept.state;
  }

  /** All operations, newest first. */
  all(): readonly OperationState[] {
    return [...this.#kept.values()].map(({ state }) => state).reverse();
  }

  /** @throws TokenctlError `not_found` */
  get(id: string): OperationState {
    return this.#find(id).state;
  }

  /** Whether a change is in progress, so that the console must not stop. */
  get isWorking(): boolean {
    return this.all().some(({ state }) => state === 'working');
  }

  /**
   * Confirms the plan of an operation.
   * @throws TokenctlError `not_found`; `not_confirmed` if the answer is wrong or for another plan: it can be
   * given again.
   */
  confirm(id: string, given: { readonly digest: string; readonly answer: string }): OperationState {
    const kept = this.#find(id);
    const { waiting } = kept;
    const { asked } = kept.state;
    if (waiting === null || asked === null) {
      throw new TokenctlError('not_confirmed', 'The operation is not waiting for a confirmation');
    }
    if (given.digest !== asked.digest) {
      throw new TokenctlError(
        'not_confirmed',
        'The confirmation belongs to another plan. Nothing was changed',
      );
    }
    if (given.answer.trim() !== asked.type) {
      throw new TokenctlError('not_confirmed', 'Not confirmed. Nothing was changed', {
        hint: `Type ${asked.type} to ${asked.act}.`,
      });
    }
    clearTimeout(waiting.late);
    kept.waiting = null;
    this.#change(kept, { state: 'working' });
    kept.settled = this.#follow(kept, waiting.step.goOn);
    return kept.state;
  }

  /** Drops an unconfirmed plan. @throws TokenctlError `not_found` */
  cancel(id: string): OperationState {
    const kept = this.#find(id);
    this.#drop(kept, 'Canceled. Nothing was changed');
    return kept.state;
  }

  /** Calls back after each state change; returns what stops that. @throws TokenctlError `not_found` */
  watch(id: string, onChange: () => void): () => void {
    const { watchers } = this.#find(id);
    watchers.add(onChange);
    return () => watchers.delete(onChange);
  }

  /** Drops all unconfirmed plans, and waits for work in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const kept of this.#kept.values()) this.#drop(kept, ENDED);
    await Promise.all([...this.#kept.values()].map(({ settled }) => settled));
  }

  #find(id: string): Kept {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept;
    throw new TokenctlError('not_found', 'The console has no such operation', {
      hint: 'The audit log records what was done.',
    });
  }

  #makeRoom(): void {
    if (this.#isClosed) throw new TokenctlError('busy', 'The console is stopping');
    const all = [...this.#kept.entries()];
    if (all.filter(([, { state }]) => state.ended === null).length >= MAX_OPEN) {
      throw new TokenctlError('busy', `${MAX_OPEN} operations are open`, {
        hint: 'Confirm or cancel one of them.',
      });
    }
    const [oldest] = all.find(([, { state }]) => state.ended !== null) ?? [];
    if (all.length >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  #change(kept: Kept, change: Partial<OperationState>): void {
    kept.state = { ...kept.state, ...change };
    for (const onChange of kept.watchers) onChange();
  }

  async #plan(kept: Kept, { flags, plan }: Work): Promise<void> {
    await this.#follow(kept, async () => {
      const notify = (line: string) =>
        this.#change(kept, { notices: [...kept.state.notices, line].slice(-MAX_NOTICES) });
      const { runtime, close }: Opened = this.#places.open(kept.state.place, {
        changes: true,
        notify,
        progress: (verb) => ({
          step: (progress) => this.#change(kept, { progress: { ...progress, verb } }),
          end: () => undefined,
        }),
      });
      kept.close = close;
      const notifyPart = (line: string) => {
        this.#change(kept, { isInPart: true });
        notify(line);
      };
      return await firstStep({ runtime, flags }, await plan({ runtime, notify, notifyPart }));
    });
  }

  /** Takes a step, after which the change waits for an answer or has ended. */
  async #follow(kept: Kept, take: () => Promise<Step<unknown>>): Promise<void> {
    try {
      const step = await take();
      if ('asked' in step) return this.#wait(kept, step);
      await kept.close();
      const { report } = step;
      const outcome = await this.#places.anywhere((runtime) => outcomeOf(runtime, report));
      this.#end(kept, { state: 'done', outcome, result: await endedOf(report) });
    } catch (error) {
      await kept.close();
      this.#end(kept, { state: 'failed', failure: problemOf(error) });
    }
  }

  #wait(kept: Kept, step: Waiting<unknown>): void {
    const late = setTimeout(() => this.#drop(kept, 'Not confirmed in time'), ANSWER_WITHIN_MS);
    kept.waiting = { step, late };
    if (this.#isClosed) this.#drop(kept, ENDED);
    else this.#change(kept, { state: 'asking', asked: askedOf(step.asked) });
  }

  /** Drops the plan that waits for an answer, if any; this is not a failure of the operation. */
  #drop(kept: Kept, why: string): void {
    if (kept.waiting === null) return;
    clearTimeout(kept.waiting.late);
    kept.waiting = null;
    this.#end(kept, { state: 'canceled', failure: problemOf(new TokenctlError('not_confirmed', why)) });
    kept.settled = kept.close();
  }

  #end(kept: Kept, how: Partial<OperationState>): void {
    this.#change(kept, { ended: new Date().toISOString(), progress: null, ...how });
  }
}

/** Why a plan is dropped when the console stops. */
const ENDED = 'The console ended. Nothing was changed';

/** The plan as the command prints it, also with --json and as data; and what to type. */
function askedOf({ plan: document, act, type, lift, json = null }: Asked) {
  const plan = documentText(document);
  /** Identifies the plan: the answer must include it. */
  const digest = createHash('sha256').update(JSON.stringify({ plan, act, type, json })).digest('hex');
  /** `lift` is the purpose of a lift; null for any other change. */
  return { plan, json, act, type, digest, document: shownDocument(document), lift: lift ?? null };
}

/** A report of a command as the page shows it. */
export async function endedOf(report: Report): Promise<Ended> {
  const { json, failure } = report;
  return {
    json,
    text: await report.text(noScreen),
    document: report.document === undefined ? null : shownDocument(report.document()),
    failure: failure === undefined ? null : problemOf(failure),
  };
}

/** Any error as the page shows it: what the command would print. */
export function problemOf(error: unknown): Problem {
  const { code, message, hint = null } = failureOf(error);
  return { code, message, hint };
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { Investigation } from '../../../src/domain/investigation/investigation.ts';
import { investigate } from '../../../src/operations/investigation/investigate.ts';
import type { Target, TargetDescription } from '../../../src/operations/ports/target.ts';
import {
  type OpenedEvidence,
  openDatabaseEvidence,
} from '../../../src/targets/database/evidence/evidence.ts';
import { loadRealTables, type Peer, type RealTables } from '../real-tables.ts';
import { type Course, History } from './history.ts';
import { Numbers, openRows } from './real-rows.ts';
import { writeRows } from './rows.ts';
import { differences } from './truth.ts';

/** How long a history is at most: the investigation of each has its own period. */
const PERIOD_MS = 120_000;
/** Between the beginnings of two: the entries of one are no part of the next one, even by a clock that is an hour wrong. */
const BETWEEN_MS = 7_200_000;
/** A history in which nothing is done. */
const NOTHING: Course = { acts: [], before: 0, focus: 1, first: 0 };

/** What histories are written to, and read with. */
interface Opened {
  readonly tables: RealTables;
  readonly rows: Awaited<ReturnType<typeof openRows>>;
  readonly evidence: OpenedEvidence;
  readonly target: Target;
  readonly description: TargetDescription;
}

/** Histories in the database of a real controller, one after the other, and what an investigation finds of each. */
export class InvestigatedHistories {
  readonly #open: Opened;
  readonly #numbers = new Numbers();
  #start = Date.now() - 90 * 86_400_000;

  private constructor(open: Opened) {
    this.#open = open;
  }

  static async open(peer: Peer): Promise<InvestigatedHistories> {
    const tables = await loadRealTables(peer);
    const rows = await openRows(tables.url);
    const evidence = await openDatabaseEvidence({ connection: new Secret(tables.url) });
    const target = await tables.open();
    return new InvestigatedHistories({
      tables,
      rows,
      evidence,
      target,
      description: await target.describe(),
    });
  }

  async close(): Promise<void> {
    await this.#open.rows.client.end();
    await this.#open.evidence.close();
    await this.#open.tables.close();
  }

  /** What the investigations of the intruders of a history have wrong, after the history; nothing if they are right. */
  async wrong(course: Course): Promise<readonly string[]> {
    const history = await this.#write(this.#begin(course));
    const wrong: string[] = [];
    for (const subject of history.subjects) {
      const investigation = await this.#investigate(history, subject).catch(nothingFound);
      // That there is no such user is no all-clear: entries that have the name were deleted.
      if (investigation === null && history.controller.wiped.length > 0) continue;
      const found = differences(history, { investigation: investigation ?? NOTHING_FOUND, subject });
      if (found.length > 0) wrong.push(`Investigation of user ${subject}:`, ...found);
    }
    return wrong.length === 0 ? [] : [...history.lines, ...wrong];
  }

  /** What an investigation of the first intruder finds after some acts. */
  async after(acts: (history: History) => void): Promise<Investigation> {
    const history = this.#begin(NOTHING);
    acts(history);
    await this.#write(history);
    return await this.#investigate(history, history.accounts.intruders[0] ?? 0);
  }

  #begin(course: Course): History {
    this.#start += BETWEEN_MS;
    return History.of(course, {
      numbers: this.#numbers,
      real: this.#open.rows.real,
      start: new Date(this.#start),
    });
  }

  async #write(history: History): Promise<History> {
    const { client, real } = this.#open.rows;
    await writeRows(client, real, { controller: history.controller, numbers: this.#numbers });
    return history;
  }

  async #investigate(history: History, subject: number): Promise<Investigation> {
    const { target, evidence, description } = this.#open;
    return await investigate({
      ...{ target, evidence, description },
      ...{ clock: { now: () => new Date() }, since: history.since, until: new Date(this.#start + PERIOD_MS) },
      user: history.names.get(subject),
    });
  }
}

const NOTHING_FOUND = { items: [], limits: [], stream: { hole: null } };

/** Of a user who was deleted without having done anything there is nothing to find. */
function nothingFound(error: unknown): null {
  if (error instanceof TokenctlError && error.code === 'not_found') return null;
  throw error;
}

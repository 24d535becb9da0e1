import { createHash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { joined, sql } from '@tokenctl/common/db/sql.ts';
import { openStateTables, type StatePlace, type StateTables } from '@tokenctl/common/db/state-tables.ts';
import type {
  AdmissionLimit,
  ClaimOptions,
  ExpectedVerification,
  NewSignal,
  Recorded,
  Signal,
  SignalClaim,
  SignalOutcome,
  SignalRelease,
  SignalSelector,
  SignalState,
  SignalStore,
} from '../operations/ports/signals.ts';
import { signalStates } from '../operations/ports/signals.ts';
import { signalsSchema } from './signal-tables.ts';

/** Opens the queue: in PostgreSQL, it is the schema `tokenctl_signals`. Throws as {@link openStateTables}. */
export async function openSignals(place: StatePlace): Promise<SignalStore> {
  return new StoredSignals(await openStateTables(place, signalsSchema));
}

/** The id of a signal: one for each `jti` of an issuer. */
function signalId({ issuer, jti }: Pick<NewSignal, 'issuer' | 'jti'>): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, jti]))
    .digest('hex');
}

/** No pause or lease is longer: a time further ahead was written while the clock was wrong. */
const LONGEST_MS = 3_600_000;

/** A signal as stored: times are milliseconds, lists and objects are JSON. */
type Stored<Value> = Value extends Date ? number : Value extends object ? string : Value;
type SignalRow = { readonly [Name in keyof Signal]: Stored<Signal[Name]> };

const COLUMNS = sql`id, issuer, jti, transmitter, route, kinds, kind, subject, action, issued, received,
  state, reason, users, runs, attempts, changed, ended, released`;

/** The queue over a database: each method is one transaction. */
class StoredSignals implements SignalStore {
  readonly #tables: StateTables;
  #arrived: Arrived[] = [];
  #written: Promise<void> = Promise.resolve();

  constructor(tables: StateTables) {
    this.#tables = tables;
  }

  /** Signals that arrive during a write share the next transaction, so that a burst does not write each separately. */
  async record(signal: NewSignal): Promise<Recorded> {
    const { promise, resolve, reject } = Promise.withResolvers<Recorded>();
    this.#arrived.push({ signal, resolve, reject });
    if (this.#arrived.length === 1) void this.#writeArrived();
    return await promise;
  }

  async #writeArrived(): Promise<void> {
    await this.#written;
    const arrived = this.#arrived;
    this.#arrived = [];
    this.#written = this.#tables
      .transaction(async (queryable) => {
        const results: Recorded[] = [];
        for (const { signal } of arrived) results.push(await recordOne(queryable, signal));
        return results;
      })
      .then(
        (results) => {
          for (const [index, result] of results.entries()) arrived[index]?.resolve(result);
        },
        (error: unknown) => {
          for (const { reject } of arrived) reject(error);
        },
      );
  }

  claim({ holder, lease, limit, now }: ClaimOptions): Promise<readonly SignalClaim[]> {
    const clock = this.#tables.now;
    return this.#tables.transaction(async (queryable) => {
      await this.#tables.takeTurn(queryable);
      const rows = await sql`UPDATE tokenctl_signals.signal
        SET state = 'acting', attempts = attempts + 1, holder = ${holder}, lease_until = ${clock} + ${lease},
        changed = ${now.getTime()}
        WHERE id IN (
          SELECT id FROM tokenctl_signals.signal
          WHERE state IN ('waiting', 'acting')
            AND ((state = 'waiting' AND retry_at NOT BETWEEN ${now.getTime() + 1} AND ${now.getTime() + LONGEST_MS})
              OR (state = 'acting' AND lease_until NOT BETWEEN ${clock} + 1 AND ${clock} + ${LONGEST_MS}))
          ORDER BY received LIMIT ${limit})
        RETURNING ${COLUMNS}`.rows<SignalRow>(queryable);
      return rows
        .toSorted((one, other) => one.received - other.received)
        .map((row) => ({ signal: signalOf(row), attempt: row.attempts }));
    });
  }

  renew(claims: readonly SignalClaim[], lease: number): Promise<void> {
    return this.#tables.transaction(async (queryable) => {
      for (const { signal, attempt } of claims) {
        await sql`UPDATE tokenctl_signals.signal SET lease_until = ${this.#tables.now} + ${lease}
          WHERE id = ${signal.id} AND attempts = ${attempt} AND state = 'acting'`.execute(queryable);
      }
    });
  }

  admit(users: readonly string[], { countedAs, limit, withinMs }: AdmissionLimit) {
    const clock = this.#tables.now;
    return this.#tables.transaction(async (queryable) => {
      await this.#tables.takeTurn(queryable);
      const rows = await sql`SELECT username FROM tokenctl_signals.acted
        WHERE counted_as = ${countedAs} AND at BETWEEN ${clock} - ${withinMs} + 1 AND ${clock} + ${withinMs}`.rows<{
        username: string;
      }>(queryable);
      const acted = new Set(rows.map(({ username }) => username));
      const fresh = users.filter((name) => !acted.has(name));
      if (fresh.length > 0 && acted.size + fresh.length > limit) return null;
      for (const username of fresh) {
        await sql`INSERT INTO tokenctl_signals.acted (username, counted_as, at)
          VALUES (${username}, ${countedAs}, ${clock})
          ON CONFLICT (username, counted_as) DO UPDATE SET at = excluded.at`.execute(queryable);
      }
      return fresh;
    });
  }

  uncount(users: readonly string[], { countedAs }: Pick<AdmissionLimit, 'countedAs'>): Promise<void> {
    return this.#tables.transaction(async (queryable) => {
      for (const username of users) {
        await sql`DELETE FROM tokenctl_signals.acted
          WHERE username = ${username} AND counted_as = ${countedAs}`.execute(queryable);
      }
    });
  }

  settle(claims: readonly SignalClaim[], outcome: SignalOutcome, now: Date): Promise<readonly SignalClaim[]> {
    const { state, reason, users, runs = [], retryAt } = outcome;
    return this.#tables.transaction(async (queryable) => {
      const settled: SignalClaim[] = [];
      for (const claim of claims) {
        const { signal, attempt } = claim;
        const all = [...new Set([...signal.runs, ...runs])];
        const changed = await sql`UPDATE tokenctl_signals.signal
          SET state = ${state}, reason = ${reason}, users = ${JSON.stringify(users ?? signal.users)},
            runs = ${JSON.stringify(all)}, changed = ${now.getTime()},
            ended = ${state === 'waiting' ? null : now.getTime()}, retry_at = ${retryAt?.getTime() ?? 0},
            lease_until = NULL, told = 0
          WHERE id = ${signal.id} AND attempts = ${attempt} AND state = 'acting'`.execute(queryable);
        if (changed === 1) settled.push(claim);
      }
      return settled;
    });
  }

  giveBack(isDead: (holder: string) => boolean): Promise<void> {
    return this.#tables.transaction(async (queryable) => {
      const held = await sql`SELECT DISTINCT holder FROM tokenctl_signals.signal
        WHERE state = 'acting'`.rows<{ holder: string }>(queryable);
      for (const { holder } of held.filter((each) => isDead(each.holder))) {
        await sql`UPDATE tokenctl_signals.signal SET lease_until = 0
          WHERE state = 'acting' AND holder = ${holder}`.execute(queryable);
      }
    });
  }

  list({ states, transmitter, limit }: SignalSelector): Promise<readonly Signal[]> {
    const chosen = states === undefined || states.length === 0 ? signalStates : states;
    // One parameter per state: SQLite has no arrays.
    const places = joined(chosen.map((state) => sql`${state}`));
    return this.#tables.transaction(async (queryable) => {
      const rows = await sql`SELECT ${COLUMNS} FROM tokenctl_signals.signal
        WHERE (CAST(${transmitter ?? null} AS text) IS NULL OR transmitter = ${transmitter ?? null})
          AND state IN (${places})
        ORDER BY received DESC LIMIT ${limit}`.rows<SignalRow>(queryable);
      return rows.map(signalOf);
    });
  }

  find(prefix: string): Promise<readonly Signal[]> {
    return this.#tables.transaction(async (queryable) =>
      (await selectByPrefix(queryable, prefix)).map(signalOf),
    );
  }

  backlog(most: number): Promise<number> {
    return this.#tables.transaction(async (queryable) => {
      const [row] = await sql`SELECT CAST(count(*) AS integer) AS count FROM (
           SELECT 1 AS one FROM tokenctl_signals.signal
           WHERE state IN ('waiting', 'acting') LIMIT ${most}) AS open`.rows<{ count: number }>(queryable);
      return row?.count ?? 0;
    });
  }

  counts(): Promise<Readonly<Record<SignalState, number>>> {
    return this.#tables.transaction(async (queryable) => {
      const rows = await sql`SELECT state, CAST(count(*) AS integer) AS count
        FROM tokenctl_signals.signal GROUP BY state`.rows<{ state: SignalState; count: number }>(queryable);
      const found = new Map(rows.map(({ state, count }) => [state, count]));
      return Object.fromEntries(signalStates.map((state) => [state, found.get(state) ?? 0])) as Record<
        SignalState,
        number
      >;
    });
  }

  release(id: string, release: SignalRelease, now: Date): Promise<boolean> {
    return this.#decide(id, { state: 'waiting', release, now });
  }

  dismiss(id: string, release: SignalRelease, now: Date): Promise<boolean> {
    return this.#decide(id, { state: 'dismissed', release, now });
  }

  #decide(
    id: string,
    decision: { state: 'waiting' | 'dismissed'; release: SignalRelease; now: Date },
  ): Promise<boolean> {
    const { state, release, now } = decision;
    return this.#tables.transaction(async (queryable) => {
      return sql`UPDATE tokenctl_signals.signal
        SET state = ${state}, released = ${JSON.stringify(release)}, changed = ${now.getTime()},
        ended = ${state === 'waiting' ? null : now.getTime()}, retry_at = 0
        WHERE id = ${id} AND state = 'held'`.touchesOne(queryable);
    });
  }

  untold(limit: number): Promise<readonly Signal[]> {
    return this.#tables.transaction(async (queryable) => {
      const rows = await sql`SELECT ${COLUMNS} FROM tokenctl_signals.signal WHERE state = 'held' AND told = 0
        ORDER BY received LIMIT ${limit}`.rows<SignalRow>(queryable);
      return rows.map(signalOf);
    });
  }

  markTold(ids: readonly string[]): Promise<void> {
    return this.#tables.transaction(async (queryable) => {
      for (const id of ids)
        await sql`UPDATE tokenctl_signals.signal SET told = 1 WHERE id = ${id}`.execute(queryable);
    });
  }

  forget(before: Date): Promise<void> {
    return this.#tables.transaction(async (queryable) => {
      await sql`DELETE FROM tokenctl_signals.signal
        WHERE ended < ${before.getTime()} AND state IN ('done', 'ignored', 'dismissed')`.execute(queryable);
      await sql`DELETE FROM tokenctl_signals.acted WHERE at < ${before.getTime()}`.execute(queryable);
      await sql`DELETE FROM tokenctl_signals.verification WHERE at < ${before.getTime()}`.execute(queryable);
    });
  }

  expect({ transmitter, stream, state }: ExpectedVerification, now: Date): Promise<void> {
    return this.#tables.transaction(async (queryable) => {
      await sql`INSERT INTO tokenctl_signals.verification (transmitter, stream, state, at)
        VALUES (${transmitter}, ${stream}, ${state}, ${now.getTime()})`.execute(queryable);
    });
  }

  expected(transmitter: string): Promise<readonly ExpectedVerification[]> {
    return this.#tables.transaction(
      async (queryable) =>
        await sql`SELECT transmitter, stream, state FROM tokenctl_signals.verification
          WHERE transmitter = ${transmitter} ORDER BY at DESC LIMIT 1000`.rows<ExpectedVerification>(
          queryable,
        ),
    );
  }

  close(): Promise<void> {
    return this.#tables.close();
  }
}

interface Arrived {
  readonly signal: NewSignal;
  readonly resolve: (recorded: Recorded) => void;
  readonly reject: (error: unknown) => void;
}

async function recordOne(queryable: Queryable, signal: NewSignal): Promise<Recorded> {
  const id = signalId(signal);
  const received = signal.received.getTime();
  const added = await sql`INSERT INTO tokenctl_signals.signal (id, issuer, jti, transmitter, route, kinds,
      kind, subject, action, issued, received, state, reason, users, runs, attempts, changed, ended, retry_at, told)
    VALUES (${id}, ${signal.issuer}, ${signal.jti}, ${signal.transmitter}, ${signal.route},
      ${JSON.stringify(signal.kinds)}, ${signal.kind},
      ${signal.subject === null ? null : JSON.stringify(signal.subject)}, ${signal.action},
      ${signal.issued.getTime()}, ${received}, ${signal.state}, ${signal.reason}, '[]', '[]', 0, ${received},
      ${signal.state === 'waiting' ? null : received}, 0, 0)
    ON CONFLICT (id) DO NOTHING`.execute(queryable);
  if (added === 1) return { result: 'new', id };
  const [known] = await sql`SELECT ${COLUMNS} FROM tokenctl_signals.signal
    WHERE id = ${id}`.rows<SignalRow>(queryable);
  if (known === undefined) throw new Error(`the signal ${id} is neither new nor known`);
  return { result: 'known', signal: signalOf(known) };
}

function selectByPrefix(queryable: Queryable, prefix: string): Promise<SignalRow[]> {
  const digits = prefix.toLowerCase();
  if (!/^[0-9a-f]{1,64}$/.test(digits)) return Promise.resolve([]);
  // An id is hexadecimal, so "g" sorts after all ids with the prefix. A pattern would read every row.
  return sql`SELECT ${COLUMNS} FROM tokenctl_signals.signal
    WHERE id >= ${digits} AND id < ${`${digits}g`} LIMIT 2`.rows<SignalRow>(queryable);
}

function signalOf(row: SignalRow): Signal {
  return {
    ...row,
    kinds: JSON.parse(row.kinds) as Signal['kinds'],
    subject: row.subject === null ? null : (JSON.parse(row.subject) as Signal['subject']),
    issued: new Date(row.issued),
    received: new Date(row.received),
    users: JSON.parse(row.users) as Signal['users'],
    runs: JSON.parse(row.runs) as Signal['runs'],
    changed: new Date(row.changed),
    ended: row.ended === null ? null : new Date(row.ended),
    released: row.released === null ? null : (JSON.parse(row.released) as SignalRelease),
  };
}

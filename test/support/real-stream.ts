import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { type CleaningReport, clean, undoCleaning } from '../../src/operations/investigation/clean.ts';
import { investigate } from '../../src/operations/investigation/investigate.ts';
import {
  type CleaningPlan,
  type CleaningSelection,
  planCleaning,
} from '../../src/operations/investigation/plan-cleaning.ts';
import { planUndo, type UndoPlan } from '../../src/operations/investigation/plan-undo.ts';
import type { Evidence } from '../../src/operations/ports/evidence.ts';
import { openDatabaseCleaner } from '../../src/targets/database/evidence/cleaner.ts';
import { openDatabaseEvidence } from '../../src/targets/database/evidence/evidence.ts';
import { fixture } from './fixture.ts';
import { loadRealTables, type Peer, type RealTables } from './real-tables.ts';

/** An entry of the activity stream, as a controller writes it. */
interface WrittenEntry {
  /** The id of the user; null for none. */
  readonly actor: number | null;
  readonly operation: 'create' | 'update' | 'delete' | 'associate' | 'disassociate';
  readonly object1: string;
  readonly object2?: string;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly relationship?: string;
  readonly setting?: string;
  /** The objects that it is linked to, by kind. */
  readonly links?: Readonly<Record<string, number>>;
}

/** Writes an entry into the tables of a controller, with its links. */
async function writeEntry(database: Database, entry: WrittenEntry): Promise<number> {
  const { actor, operation, object1, object2 = '', changes, relationship = '', setting, links = {} } = entry;
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO main_activitystream (operation, timestamp, changes, object1, object2, object_relationship_type, actor_id, action_node, setting)
     VALUES ($1, now(), $2, $3, $4, $5, $6, 'x', $7) RETURNING id`,
    [
      ...[operation, JSON.stringify(changes), object1, object2, relationship, actor],
      JSON.stringify(setting === undefined ? {} : { name: setting, category: 'authentication' }),
    ],
  );
  const id = row?.id ?? 0;
  for (const [kind, object] of Object.entries(links)) {
    await database.execute(
      `INSERT INTO main_activitystream_${kind} (activitystream_id, ${kind.replaceAll('_', '')}_id) VALUES ($1, $2)`,
      [id, object],
    );
  }
  return id;
}

/** The tables of a controller, and investigations of them. */
export interface RealCase extends RealTables {
  readonly evidence: Evidence;
  /** The ids of the users. */
  readonly id: Readonly<Record<string, number>>;
  write(entry: WrittenEntry): Promise<number>;
  /** Investigates a user in the last days: all that the tables have, by default, read from the tables. */
  investigate(
    user: string,
    options?: { readonly since?: Date; readonly evidence?: Evidence },
  ): ReturnType<typeof investigate>;
  /** Plans in the database alone how to end what remains of a user. */
  plan(user: string, selection?: CleaningSelection): Promise<CleaningPlan>;
  /** The same, and ends it. */
  clean(user: string, selection?: CleaningSelection): Promise<CleaningReport>;
  /** Plans to undo a cleaning in the database alone. */
  planUndo(run: string): Promise<UndoPlan>;
  undo(run: string): Promise<CleaningReport>;
}

/** Loads the tables of a controller to investigate them; `close` closes all. */
export async function loadRealCase(peer: Peer): Promise<RealCase> {
  const real = await loadRealTables(peer);
  const evidence = await openDatabaseEvidence({ connection: new Secret(real.url) });
  const cleaner = await openDatabaseCleaner({ connection: new Secret(real.url) });
  const target = await real.open();
  const description = await target.describe();
  const { log, ...at } = await fixture();
  // Entries have fractions of a millisecond.
  const clock = { now: () => new Date(Date.now() + 1000) };
  const way = { via: 'database', context: 'test', description, isTarget: true, cleaner } as const;
  const look = (user: string, options: Parameters<RealCase['investigate']>[1] = {}) =>
    investigate({ target, evidence, description, clock, user, ...options });
  const plan = async (user: string, selection: CleaningSelection = {}) =>
    planCleaning(await look(user), { selection, ways: [way], ownTokens: [] });
  const undoing = (run: string) =>
    planUndo({ log, description, evidence, run, ways: [way], restProblem: null });
  const common = { target, description, evidence, log, clock, actor: { user: 'root' } };
  return {
    ...real,
    evidence,
    id: real.filling.users,
    write: (entry) => writeEntry(real.database, entry),
    investigate: (user, options) => look(user, options),
    plan,
    clean: async (user, selection) => await clean({ ...common, plan: await plan(user, selection) }),
    planUndo: undoing,
    undo: async (run) => await undoCleaning({ ...common, plan: await undoing(run) }),
    close: async () => {
      await at[Symbol.asyncDispose]();
      await cleaner.close();
      await evidence.close();
      await real.close();
    },
  };
}

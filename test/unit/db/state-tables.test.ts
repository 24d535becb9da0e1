import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStateTables } from '@tokenctl/common/db/state-tables.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { signalsSchema } from '../../../src/signals/signal-tables.ts';

test('a commit that SQLite refuses, because another connection reads, is made when that has ended', async () => {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'signals.sqlite');
  const tables = await openStateTables(path, signalsSchema);
  const other = new DatabaseSync(path);
  const { exec } = DatabaseSync.prototype;
  const refused: string[] = [];
  const watched = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
    this: DatabaseSync,
    statement,
  ) {
    try {
      exec.call(this, statement);
    } catch (error) {
      refused.push(statement);
      // The other connection reads until it has been in the way: the moment is not left to chance.
      if (refused.length === 2) exec.call(other, 'ROLLBACK');
      throw error;
    }
  });
  onTestFinished(async () => {
    watched.mockRestore();
    await tables.close();
    other.close();
    await folder[Symbol.asyncDispose]();
  });
  const read = () => other.prepare('SELECT username FROM acted').all();
  const result = await tables.transaction(async (queryable) => {
    await queryable.execute(
      "INSERT INTO tokenctl_signals.acted (username, counted_as, at) VALUES ('alice', 'revoke', 1)",
    );
    // A shared lock, as whoever is about to begin a transaction holds it for a moment.
    exec.call(other, 'BEGIN');
    expect(read()).toEqual([]);
    return 'done';
  });
  expect({ result, refused }).toEqual({ result: 'done', refused: ['COMMIT', 'COMMIT'] });
  expect(read()).toEqual([{ username: 'alice' }]);
});

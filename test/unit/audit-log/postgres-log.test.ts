import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { openPrepared } from '@tokenctl/testing/embedded-template.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { openPostgresLog } from '../../../src/audit-log/postgres-log.ts';
import { AUDIT_SCHEMA } from '../../../src/audit-log/postgres-queries.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { refusal } from '../../support/logs.ts';

let url: string;
let admin: Database;
let opened: AuditLog[];

beforeEach(async () => {
  url = await createDatabase(inject('postgresUrl'));
  admin = await openOn(url);
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((log) => log.close()));
  await admin.close();
});

function logOn(open: () => Promise<Database> = () => openOn(url)): AuditLog {
  const log = openPostgresLog({ open, name: 'in PostgreSQL', clock: stillClock });
  opened.push(log);
  return log;
}

/** A URL of the same database for a new role without any right. */
async function newRole(): Promise<{ role: string; as: () => Promise<Database> }> {
  const role = `writer_${new URL(url).pathname.slice(6)}`;
  await admin.execute(`CREATE ROLE ${role} LOGIN PASSWORD 'writes'`);
  const theirs = new URL(url);
  theirs.username = role;
  theirs.password = 'writes';
  return { role, as: () => openOn(theirs.href) };
}

describe('the role that appends', () => {
  test('needs no more than to use the schema, to read the table and to add to it', async () => {
    const { role, as } = await newRole();
    for (const statement of AUDIT_SCHEMA) await admin.execute(statement);
    await admin.execute(`GRANT USAGE ON SCHEMA tokenctl_audit TO ${role}`);
    await admin.execute(`GRANT SELECT, INSERT ON tokenctl_audit.entry TO ${role}`);
    const log = logOn(as);
    using _hold = await log.lockRun('a run');
    const intent = await log.append(draft({ kind: 'intent' }));
    expect(await logOn(as).abandonedIntents()).toEqual([intent]);
    expect(await log.verify()).toMatchObject({ entries: 1, break: null });
    const theirs = await as();
    await expect(theirs.execute('UPDATE tokenctl_audit.entry SET seq = 9')).rejects.toThrow();
    await theirs.close();
  });

  test('is told what is missing, with the SQL for it', async () => {
    const { role, as } = await newRole();
    const error = await refusal(logOn(as).append(draft()));
    expect(error).toMatchObject(refused('audit_unavailable', 'has no permission'));
    expect(error.details?.['sql']).toBe(`${AUDIT_SCHEMA.join(';\n')};`);
    for (const statement of AUDIT_SCHEMA) await admin.execute(statement);
    expect(await refusal(logOn(as).append(draft()))).toMatchObject({ code: 'audit_unavailable' });
    await admin.execute(`GRANT USAGE ON SCHEMA tokenctl_audit TO ${role}`);
    await admin.execute(`GRANT SELECT ON tokenctl_audit.entry TO ${role}`);
    const reader = logOn(as);
    expect(await refusal(reader.append(draft()))).toMatchObject({ code: 'audit_unavailable' });
    expect(await reader.verify()).toMatchObject({ entries: 0, break: null });
  });

  test('finds the SQL in the documentation', async () => {
    const page = await readFile(join(import.meta.dirname, '../../../docs/audit-log.md'), 'utf8');
    for (const statement of AUDIT_SCHEMA) expect(page).toContain(`${statement};`);
  });
});

describe('the table', () => {
  test.each([
    ['changing', "UPDATE tokenctl_audit.entry SET line = 'x'"],
    ['removing', 'DELETE FROM tokenctl_audit.entry'],
    ['emptying', 'TRUNCATE tokenctl_audit.entry'],
  ])('refuses %s entries, to its owner too', async (_, sql) => {
    const log = logOn();
    await log.append(draft());
    await expect(admin.execute(sql)).rejects.toThrow('neither changed nor removed');
    expect(await log.verify()).toMatchObject({ entries: 1, break: null });
  });

  test('takes no line under another hash', async () => {
    await logOn().append(draft());
    const sql = `INSERT INTO tokenctl_audit.entry VALUES (2, repeat('0', 64), 'x')`;
    await expect(admin.execute(sql)).rejects.toMatchObject({ code: '23514' });
  });
});

describe('what a superuser did', () => {
  test.each([
    [
      'an edited entry',
      ['UPDATE tokenctl_audit.entry SET line = $$garbage$$ WHERE seq = 3'],
      'unreadable',
      3,
    ],
    [
      'an edited entry under its new hash',
      [
        `UPDATE tokenctl_audit.entry SET line = replace(line, '"index":2', '"index":7') WHERE seq = 3`,
        `UPDATE tokenctl_audit.entry SET hash = encode(sha256(convert_to(line, 'UTF8')), 'hex') WHERE seq = 3`,
      ],
      'edited',
      3,
    ],
    ['a removed entry', ['DELETE FROM tokenctl_audit.entry WHERE seq = 2'], 'removed', 2],
    [
      'two entries in each other’s place',
      [
        'UPDATE tokenctl_audit.entry SET seq = 99 WHERE seq = 2',
        'UPDATE tokenctl_audit.entry SET seq = 2 WHERE seq = 3',
        'UPDATE tokenctl_audit.entry SET seq = 3 WHERE seq = 99',
      ],
      'reordered',
      2,
    ],
    ['entries under other numbers', ['UPDATE tokenctl_audit.entry SET seq = seq + 100'], 'edited', 1],
  ] as const)('is found: %s', async (_, statements, problem, line) => {
    const log = logOn();
    for (let index = 0; index < 5; index += 1) await log.append(draft({ data: { index } }));
    await admin.script(`ALTER TABLE tokenctl_audit.entry DISABLE TRIGGER refuse;
      ALTER TABLE tokenctl_audit.entry DROP CONSTRAINT entry_check;`);
    for (const statement of statements) await admin.execute(statement);
    expect((await log.verify()).break).toMatchObject({ problem, line });
  });

  test('to the numbers keeps an append from building on it', async () => {
    const log = logOn();
    await log.append(draft());
    await admin.script(`ALTER TABLE tokenctl_audit.entry DISABLE TRIGGER refuse;
      UPDATE tokenctl_audit.entry SET seq = 5;`);
    expect((await refusal(log.append(draft()))).message).toContain('row 5, its last one, has entry 1');
  });
});

describe('a database', () => {
  test('of other defaults is written durably and in turn all the same', async () => {
    const name = new URL(url).pathname.slice(1);
    for (const setting of [
      'synchronous_commit = off',
      "default_transaction_isolation = 'serializable'",
      'default_transaction_read_only = on',
    ]) {
      await admin.execute(`ALTER DATABASE ${name} SET ${setting}`);
    }
    const settings: unknown[] = [];
    const open = async (): Promise<Database> => {
      const database = await openOn(url);
      return {
        ...database,
        transaction: (work) =>
          database.transaction(async (transaction) => {
            const result = await work(transaction);
            const rows = await transaction.query("SELECT current_setting('synchronous_commit') AS commit");
            settings.push(...rows);
            return result;
          }),
      };
    };
    await logOn()
      .append(draft())
      .catch(() => undefined);
    await admin.script(`SET default_transaction_read_only = off; ${AUDIT_SCHEMA.join(';')}`);
    const logs = [logOn(open), logOn(open), logOn(open)];
    await Promise.all(logs.flatMap((log) => Array.from({ length: 5 }, () => log.append(draft()))));
    expect(await logs[0]?.verify()).toMatchObject({ entries: 15, break: null });
    expect(new Set(settings.map((each) => JSON.stringify(each)))).toEqual(new Set(['{"commit":"on"}']));
  });

  test('that does not sync to the disk is refused', { tags: ['long'] }, async () => {
    const embedded = await openPrepared();
    const error = await refusal(logOn(() => Promise.resolve(embedded)).append(draft()));
    expect(error).toMatchObject(refused('audit_unavailable', 'does not sync'));
  });

  test('reports an unreachable database, and retries at the next use', async () => {
    let isThere = false;
    const log = logOn(() => (isThere ? openOn(url) : openOn('postgres://nobody@127.0.0.1:1/none')));
    expect(await refusal(log.append(draft()))).toMatchObject({ code: 'audit_unavailable' });
    isThere = true;
    expect((await log.append(draft())).seq).toBe(1);
  });
});

test('its lines are the same as in a file', async () => {
  const log = logOn();
  for (let index = 0; index < 5; index += 1) await log.append(draft({ data: { index, text: 'é' } }));
  const rows = await admin.query<{ line: string }>('SELECT line FROM tokenctl_audit.entry ORDER BY seq');
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  await writeFile(path, rows.map(({ line }) => `${line}\n`).join(''), { mode: 0o600 });
  expect(await openFileLog({ path, clock: stillClock }).verify()).toEqual(await log.verify());
});

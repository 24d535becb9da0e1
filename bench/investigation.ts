// Investigating one user among a million entries of the activity stream, in the database: tokenctl against one hand-written
// query that reads the same entries with their links, turn by turn; and the memory of the whole program for a user of few and
// of many entries. Run: npm run build && node bench/investigation.ts [entries]

import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { investigate } from '../src/operations/investigation/investigate.ts';
import { openDatabaseTarget } from '../src/targets/database/database-target.ts';
import { openDatabaseEvidence } from '../src/targets/database/evidence/evidence.ts';
import { Estates } from './support/database-estate.ts';
import { judge, measureInTurn, median, perTurn, sized } from './support/ratio.ts';
import { Tokenctl } from './support/tokenctl-process.ts';

const entries = Number(process.argv[2] ?? sized(1_000_000, 10_000));
const ROUNDS = sized(7, 1);
/** Users whose entries are among those of a thousand others, and how many they have. */
const FEW = { id: 1, name: 'user-1', entries: entries / 100 };
const MANY = { id: 2, name: 'user-2', entries: entries / 10 };
const SINCE = '2026-01-01';

/** Changes of 1,000 tokens in 231 days, each linked to its token, as a controller writes them. No user changes what another did. */
async function fill(url: string): Promise<void> {
  const database = await openPostgres({
    url: new Secret(url),
    applicationName: 'bench',
    responseTimeout: 600_000,
  });
  await database.execute('TRUNCATE main_activitystream CASCADE');
  await database.execute(
    `INSERT INTO main_activitystream (id, operation, timestamp, changes, object_relationship_type, object1, object2,
       actor_id, action_node, setting)
     SELECT n, 'update', timestamptz '${SINCE}' + n * interval '20 seconds', '{"description": ["' || n || '", "x"]}', '',
       'o_auth2_access_token', '', CASE WHEN n % 100 = 0 THEN ${FEW.id} WHEN n % 10 = 5 THEN ${MANY.id} ELSE 3 + n % 997 END,
       'node', '{}' FROM generate_series(1, $1::int) n`,
    [entries],
  );
  await database.execute(
    `INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
     SELECT n, CASE WHEN n % 100 = 0 THEN 1 + n / 100 % 100 WHEN n % 10 = 5 THEN 101 + n / 10 % 400
       ELSE 501 + n % 500 END FROM generate_series(1, $1::int) n`,
    [entries],
  );
  await database.execute('VACUUM ANALYZE');
  await database.close();
}

/** The entries of a user in the period with what they are linked to. */
const REFERENCE = `SELECT s.id, s.timestamp, s.operation, s.object1, s.object2, s.object_relationship_type, s.changes, s.setting,
    u.username, l.oauth2accesstoken_id, t.description
  FROM main_activitystream s JOIN auth_user u ON u.id = s.actor_id
    LEFT JOIN main_activitystream_o_auth2_access_token l ON l.activitystream_id = s.id
    LEFT JOIN main_oauth2accesstoken t ON t.id = l.oauth2accesstoken_id
  WHERE s.actor_id = $1 AND s.timestamp >= $2 ORDER BY s.id`;

using tokenctl = new Tokenctl();
const server = await startPostgres();
const estates = await Estates.connect(server.url);
await estates.fill('estate', { tokens: 1000, users: 1000 });
const url = estates.url('estate');
await fill(url);
console.log(`${entries} entries, on the tables of a ${Estates.layout}`);

const client = new pg.Client({ connectionString: url });
await client.connect();
const connection = new Secret(url);
const target = await openDatabaseTarget({ context: 'bench', connection });
const evidence = await openDatabaseEvidence({ connection });
const description = await target.describe();
const clock = { now: () => new Date() };
for (const user of [FEW, MANY]) {
  const measured = await measureInTurn(ROUNDS, {
    tokenctl: async () => {
      const { stream } = await investigate({
        target,
        evidence,
        description,
        clock,
        user: user.name,
        since: new Date(SINCE),
      });
      if (stream.read !== user.entries) throw new Error(`read ${stream.read} entries of ${user.entries}`);
    },
    query: async () => {
      const { rowCount } = await client.query(REFERENCE, [user.id, SINCE]);
      if (rowCount !== user.entries) throw new Error(`the query read ${rowCount} entries of ${user.entries}`);
    },
  });
  const [whole, reference] = [measured['tokenctl']?.times ?? [], measured['query']?.times ?? []];
  console.log(
    `${user.entries} entries of the user: tokenctl ${median(whole).toFixed(0)} ms, one query ${median(reference).toFixed(0)} ms`,
  );
  judge(`time / time of one query, ${user.entries} entries`, perTurn(whole, reference), { atMost: 3 });
}
await client.end();
await evidence.close();
await target.close();
const memory: number[] = [];
for (const { name } of [FEW, MANY]) {
  const run = await tokenctl.run(url, ['incident', 'investigate', '--user', name, '--since', SINCE]);
  memory.push(run.memory);
  console.log(`${name}: the whole program ${(run.whole / 1000).toFixed(2)} s, ${run.memory.toFixed(0)} MB`);
}
judge('memory, ten times as many entries', (memory[1] ?? 0) / (memory[0] ?? 1), { atMost: 1.5 });
await estates.close();
await server.stop();

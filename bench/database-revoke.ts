// Revoking every token straight at the database, refresh tokens, activity entries, intents and outcomes
// included, as whole processes: tokenctl against psql, which changes the same rows (activity entries included)
// with one hand-written transaction, each on a fresh copy of the same database, turn by turn. At 10,000 tokens, the
// start of the program, the queries before the plan and the verification take as long as the change itself.
// Run: npm run build && node bench/database-revoke.ts [largest number of tokens]
import { startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { Estates, psql } from './support/database-estate.ts';
import { judge, median, perTurn, sized } from './support/ratio.ts';
import { Tokenctl } from './support/tokenctl-process.ts';

const REFERENCE = `BEGIN;
UPDATE oauth2_provider_refreshtoken SET revoked = now(), updated = now(), access_token_id = NULL WHERE revoked IS NULL;
INSERT INTO main_activitystream (operation, timestamp, changes, object_relationship_type, object1, object2, action_node,
  setting)
SELECT 'delete', now(), '{"description": ' || to_json(t.description) || ', "application": '
  || coalesce(to_json(a.name)::text, 'null') || ', "scope": ' || to_json(t.scope) || ', "id": ' || t.id
  || ', "token": "************"}', '', 'o_auth2_access_token', '', 'psql', '{}'
FROM main_oauth2accesstoken t LEFT JOIN main_oauth2application a ON a.id = t.application_id;
DELETE FROM main_activitystream_o_auth2_access_token;
DELETE FROM main_oauth2accesstoken;
COMMIT`;

/** For the whole process: at few tokens, starting it weighs most. */
const GOALS: Readonly<Record<number, number>> = { 10000: 1.5, 1000000: 1.1 };
const largest = Number(process.argv[2] ?? sized(1_000_000, 10_000));

interface Report {
  readonly revoked: number;
  readonly verified: boolean;
  readonly seconds: number;
}

/** Revokes everything, and makes sure that it did. */
async function revokeAll(url: string, tokens: number) {
  const run = await tokenctl.run<Report>(url, ['tokens', 'revoke', '--all', '--yes']);
  const { revoked, verified } = run.report;
  if (revoked !== tokens || !verified) throw new Error(`not all was revoked: ${JSON.stringify(run.report)}`);
  return run;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

using tokenctl = new Tokenctl();
const server = await startPostgres();
const estates = await Estates.connect(server.url);
const perToken = new Map<number, number>();
const memory = new Map<number, number>();
console.log(`on the tables of a ${Estates.layout}`);
for (const { tokens, rounds } of [
  { tokens: 10_000, rounds: sized(7, 1) },
  { tokens: 100_000, rounds: 5 },
  { tokens: 1_000_000, rounds: 5 },
]) {
  if (tokens > largest) break;
  const template = `estate_${tokens}`;
  await estates.fill(template, { tokens });
  const runs: Awaited<ReturnType<typeof revokeAll>>[] = [];
  const references: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const turn of round % 2 === 0 ? ['psql', 'tokenctl'] : ['tokenctl', 'psql']) {
      const url = await estates.copy(template);
      if (turn === 'psql') references.push(await timed(() => psql(url, REFERENCE)));
      else runs.push(await revokeAll(url, tokens));
      await estates.drop(url);
    }
  }
  const whole = median(runs.map((run) => run.whole));
  const reference = median(references);
  const ratios = perTurn(
    runs.map((run) => run.whole),
    references,
  );
  perToken.set(tokens, (median(runs.map(({ report }) => report.seconds)) * 1000) / tokens);
  memory.set(tokens, Math.max(...runs.map((run) => run.memory)));
  console.log(
    `${tokens} tokens: tokenctl ${(whole / 1000).toFixed(2)} s, psql ${(reference / 1000).toFixed(2)} s, as whole processes; ${memory.get(tokens)?.toFixed(0)} MB`,
  );
  judge(`time / time of one transaction by psql, ${tokens} tokens`, ratios, { atMost: GOALS[tokens] ?? 1.5 });
}
const growth = (values: ReadonlyMap<number, number>) =>
  ([...values.values()].at(-1) ?? 0) / (values.get(10_000) ?? 1);
judge('time a token, most tokens / 10,000 tokens', growth(perToken), { atMost: 1.3 });
judge('memory, most tokens / 10,000 tokens', growth(memory), { atMost: 2 });
await estates.close();
await server.stop();

// The worst half hour of a fleet of 1,000 controllers, simulated on the real scheduler and the real queue of signals: three
// schedulers share a ledger in PostgreSQL, and at two in the morning each controller has five jobs due; two receivers carry out
// 10,000 security events an hour. Time passes faster: three times for the schedulers, ten times for
// the receivers. What a run or an event takes is what others of these benchmarks
// measured, and is only waited for: no controller is asked. So this measures what tokenctl adds to the work itself.
// Run: node bench/scale.ts [--controllers N]
import { parseArgs } from 'node:util';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { judge, sized } from './support/ratio.ts';
import { start } from './support/requests.ts';
import { JOBS, type Told } from './support/scale-process.ts';

const { values } = parseArgs({
  options: { controllers: { type: 'string', default: String(sized(1_000, 20)) } },
});
const controllers = Number(values.controllers);
const SCHEDULERS = 3;
const RECEIVERS = 2;
/** In one scheduler: the default of `runsAtOnce`. */
const AT_ONCE = 32;
const EVENTS = { anHour: 10_000, minutes: sized(10, 1) };
const SPEED = { scheduler: sized(3, 30), receiver: 10 };

const server = await startPostgres();
const DATABASE_URL = await createDatabase(server.url);
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 1, application_name: 'bench' });
database.on('error', () => undefined);

/** The result of a whole number that one row has. */
async function numberOf(text: string): Promise<number> {
  const { rows } = await database.query<{ n: string }>(text);
  return Number(rows[0]?.n ?? 0);
}

/** Starts processes of one role at the same instant, and returns what all told until they ended. */
async function run(role: 'scheduler' | 'receiver', processes: number): Promise<readonly Told[]> {
  const children = await Promise.all(
    Array.from({ length: processes }, (_, number) =>
      start('scale-process.ts', {
        DATABASE_URL,
        SCALE: JSON.stringify({
          role,
          number,
          controllers,
          speed: SPEED[role],
          atOnce: AT_ONCE,
          events: EVENTS,
        }),
      }),
    ),
  );
  return await Promise.all(
    children.map(
      ({ child }) =>
        new Promise<Told>((resolve, reject) => {
          child.once('message', (told) => {
            resolve(told as Told);
            child.kill('SIGKILL');
          });
          child.once('exit', (code) => reject(new Error(`a ${role} ended with ${code}`)));
          child.send(Date.now() + 3_000);
        }),
    ),
  );
}

/** When the last run of the half hour would end if each began in the first free place, in seconds after two o'clock. */
function idealEnd(): number {
  const places = new Array<number>(SCHEDULERS * AT_ONCE).fill(0);
  const ticks = JOBS.flatMap(({ due, seconds }) => due.map((at) => ({ at, seconds })));
  for (const { at, seconds } of ticks.toSorted((one, other) => one.at - other.at)) {
    for (let run = 0; run < controllers; run += 1) {
      const place = places.indexOf(Math.min(...places));
      places[place] = Math.max(places[place] ?? 0, at) + seconds;
    }
  }
  return Math.max(...places);
}

try {
  const schedulers = await run('scheduler', SCHEDULERS);
  const begun = schedulers.flatMap(({ waits }) => waits);
  const runs = await numberOf(`SELECT count(*) AS n FROM tokenctl_scheduler.run WHERE state = 'completed'`);
  const ideal = idealEnd();
  const last = Math.max(...schedulers.map(({ seconds }) => seconds));
  const bytes = await numberOf(`SELECT pg_total_relation_size('tokenctl_scheduler.run')
    + pg_total_relation_size('tokenctl_scheduler.tick') AS n`);
  const expected = JOBS.reduce((sum, { due }) => sum + due.length, 0) * controllers;
  console.log(
    `${runs} runs of ${controllers * JOBS.length} jobs, all ended ${(last / 60).toFixed(1)} minutes after two o'clock; without any cost of tokenctl ${(ideal / 60).toFixed(1)}`,
  );
  console.log(`the ledger has ${(bytes / runs).toFixed(0)} bytes for a run, indexes included`);
  for (const { processor, memory } of schedulers) {
    console.log(
      `a scheduler: ${processor.toFixed(1)} s of processor for ${last.toFixed(0)} simulated seconds, ${memory.toFixed(0)} MB`,
    );
  }
  judge(
    'times that the ledger did not answer',
    schedulers.reduce((sum, { errors }) => sum + errors, 0),
    { atMost: 0 },
  );
  judge('runs that began / runs that were due', begun.length / expected, { atLeast: 1 });
  judge('until the last run ended / the same without any cost of tokenctl', last / ideal, { atMost: 1.15 });
  judge(
    'processor of a scheduler, seconds of a simulated minute',
    (Math.max(...schedulers.map(({ processor }) => processor)) / last) * 60,
    { atMost: 6 },
  );
  judge('memory of a scheduler, MB', Math.max(...schedulers.map(({ memory }) => memory)), { atMost: 512 });

  const receivers = await run('receiver', RECEIVERS);
  const waits = receivers.flatMap((each) => each.waits).sort((one, other) => one - other);
  const events = Math.round((EVENTS.anHour / 60) * EVENTS.minutes);
  const p99 = waits[Math.floor(waits.length * 0.99)] ?? Number.NaN;
  console.log(
    `${waits.length} of ${events} events, ${((100 * waits.length) / events).toFixed(0)} %; half of them ended within ${(waits[Math.floor(waits.length / 2)] ?? 0).toFixed(2)} s`,
  );
  judge('events carried out / events that arrived', waits.length / events, { atLeast: 1 });
  judge('from the arrival of an event to its end, 99th percentile, simulated seconds', p99, { atMost: 5 });
} finally {
  await database.end();
  await server.stop();
}

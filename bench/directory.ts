// Asking an LDAP directory who has left, as a whole process: tokenctl against ldapsearch that reads the same entries and psql that
// copies the same users, turn by turn; and the memory and time of the whole program at five times as many users, entries and
// tokens. Those programs only copy bytes: tokenctl parses each entry, finds its user by four kinds of names, and keeps little.
// Run: npm run build && node bench/directory.ts [users]
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { NO_SLAPD, PEOPLE, person, READER, type Slapd, startSlapd } from '../test/support/slapd.ts';
import { Estates, psql } from './support/database-estate.ts';
import { judge, median, perTurn, sized } from './support/ratio.ts';
import { Tokenctl } from './support/tokenctl-process.ts';

const ROUNDS = sized(3, 1);
const largest = Number(process.argv[2] ?? sized(100_000, 1_000));
const GROWTH = 5;
const TOKENS_EACH = 10;
/** One user in a thousand has left. */
const leavers = (users: number) => Math.ceil(users / 1_000);

const run = promisify(execFile);

/** Gives every user the name of an entry in the directory. */
async function addNames(url: string): Promise<void> {
  const database = await openPostgres({
    url: new Secret(url),
    applicationName: 'bench',
    responseTimeout: 600_000,
  });
  await database.execute(
    `INSERT INTO main_profile (created, modified, ldap_dn, user_id)
     SELECT now(), now(), 'uid=' || username || ',${PEOPLE}', id FROM auth_user`,
  );
  await database.execute('VACUUM ANALYZE');
  await database.close();
}

function startDirectory(users: number): Promise<Slapd> {
  const entries = Array.from({ length: users }, (_, index) =>
    person(`user-${index + 1}`, index < leavers(users) ? { pwdAccountLockedTime: '000001010000Z' } : {}),
  );
  return startSlapd(entries.join(''));
}

const ATTRIBUTES = ['entryUUID', 'uid', 'mail', 'pwdAccountLockedTime', 'shadowExpire', 'nsAccountLock'];

/** What is read, by the programs that come with the servers. */
async function readBoth(slapd: Slapd, url: string): Promise<void> {
  await psql(
    url,
    'COPY (SELECT u.*, p.ldap_dn FROM auth_user u JOIN main_profile p ON p.user_id = u.id) TO STDOUT',
  );
  const bind = ['-x', '-H', slapd.url, '-D', READER.dn, '-w', READER.password];
  const search = ['-LLL', '-E', 'pr=500/noprompt', '-b', PEOPLE, '(objectClass=person)', ...ATTRIBUTES];
  await run('ldapsearch', [...bind, ...search], { maxBuffer: 1024 * 1024 * 1024 });
}

interface Answer {
  readonly directory: { readonly listed: number; readonly gone: readonly unknown[] };
}

if (NO_SLAPD !== null) throw new Error(`${NO_SLAPD}: install it, and ldap-utils`);
const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-directory-'));
const server = await startPostgres();
const estates = await Estates.connect(server.url);
const memory: number[][] = [];
const wholes: number[][] = [];
const references: number[] = [];
for (const users of [largest / GROWTH, largest]) {
  const name = `estate_${users}`;
  await estates.fill(name, { tokens: users * TOKENS_EACH, users });
  const url = estates.url(name);
  await addNames(url);
  const slapd = await startDirectory(users);
  using tokenctl = new Tokenctl();
  const password = join(folder, 'password');
  writeFileSync(password, READER.password, { mode: 0o600 });
  const staff = {
    kind: 'ldap',
    url: slapd.url,
    bindDn: READER.dn,
    bindPassword: { file: password },
    base: PEOPLE,
  };
  const config = join(folder, 'tokenctl.yaml');
  writeFileSync(config, JSON.stringify({ directories: { staff } }));
  memory.push([]);
  wholes.push([]);
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    await readBoth(slapd, url);
    const reference = performance.now() - started;
    const ask = ['users', 'offboard', '--gone', 'staff', '--dry-run', '--config', config];
    const { report, whole, memory: most } = await tokenctl.run<Answer>(url, ask);
    const { listed, gone } = report.directory;
    if (listed !== users || gone.length !== leavers(users))
      throw new Error(`listed ${listed}, gone ${gone.length}`);
    memory.at(-1)?.push(most);
    wholes.at(-1)?.push(whole);
    if (users === largest) references.push(reference);
  }
  const [time, most] = [median(wholes.at(-1) ?? []) / 1000, median(memory.at(-1) ?? [])];
  console.log(`${users} users, ${users * TOKENS_EACH} tokens: ${time.toFixed(2)} s, ${most.toFixed(0)} MB`);
  await slapd.stop();
}
const [few = [], many = []] = wholes;
console.log(`ldapsearch and psql: ${(median(references) / 1000).toFixed(2)} s`);
judge('time / time of ldapsearch and COPY', perTurn(many, references), { atMost: 5 });
// Linear, and a fifth for what else the machine does.
judge(`time at ${GROWTH} times as many users / at as many`, perTurn(many, few), { atMost: GROWTH * 1.2 });
judge('memory, MB', memory[1] ?? [], { atMost: 220 });
judge(`memory at ${GROWTH} times as many users / at as many`, perTurn(memory[1] ?? [], memory[0] ?? []), {
  atMost: 1.25,
});
await estates.close();
await server.stop();
rmSync(folder, { recursive: true });

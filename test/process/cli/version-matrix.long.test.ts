import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { withPart } from '../../../scripts/compatibility-table.ts';
import { type TriedId, triedVersions } from '../../../src/domain/tried-versions.ts';
import { configure } from '../../support/drafts.ts';
import { loadRealTables, REAL_PEERS, type RealTables } from '../../support/real-tables.ts';
import { RecordedController } from '../../support/recorded-controller.ts';
import { RecordedGateway } from '../../support/recorded-gateway.ts';
import { hasRecordings } from '../../support/recordings.ts';
import { Snapshot, type TableChange } from '../../support/row-changes.ts';
import { type Run, tokenctl } from './program.ts';

/** The versions that differ most; the others run with the long tests. */
const FEW: readonly TriedId[] = ['awx-21.14.0', 'awx-24.6.1', 'gateway-newest'];

const ALL = triedVersions.filter(({ id }) => REAL_PEERS.includes(id) && hasRecordings(id));
const TRIED = ALL.filter(({ id }) => inject('longTests') || FEW.includes(id));
const WAYS = ['REST', 'database'] as const;

// The tables and recordings are kept beside the project: without them, one test says that the others are left out.
test.runIf(TRIED.length === 0)('skipped: tables and recordings of real controllers are absent', ({ skip }) =>
  skip(),
);

/** What a command does on a version, over one of the ways. */
interface Cell {
  readonly outcome: 'done' | 'in part' | 'refused';
  /** What is left open or refused, in the words of the command. */
  readonly notes: readonly string[];
}

/** By version, way and command. */
const cells = new Map<string, Cell>();

describe.each(TRIED.flatMap((tried) => WAYS.map((way) => ({ ...tried, way }))))(
  '$name, $way',
  ({ id, way }) => {
    let place: Place;
    beforeAll(async () => {
      place = await Place.make(id, way);
    });
    afterAll(() => place.close());

    test.each(Object.entries(COMMANDS))('%s', async (name, check) => {
      place.begin();
      await check(place);
      cells.set(`${id} ${way} ${name}`, place.cell());
    });
  },
);

// After a deliberate change: npx vitest run --project=soak test/process/cli/version-matrix.long.test.ts -u
test.runIf(TRIED.length === triedVersions.length)('the page has these outcomes', async () => {
  const path = '../../../docs/compatibility.md';
  const page = readFileSync(join(import.meta.dirname, path), 'utf8');
  await expect(withPart(page, 'commands', matrix())).toMatchFileSnapshot(path);
});

/** The table of the outcomes, in Markdown, and its notes. */
function matrix(): string {
  const notes: string[] = [];
  const noteOf = (text: string) => {
    if (!notes.includes(text)) notes.push(text);
    return notes.indexOf(text) + 1;
  };
  const rows = Object.keys(COMMANDS).flatMap((name) =>
    WAYS.map((way) => {
      const outcomes = TRIED.map(({ id }) => {
        const { outcome, notes: own } = cells.get(`${id} ${way} ${name}`) as Cell;
        return own.length === 0 ? outcome : `${outcome} (${own.map(noteOf).join(', ')})`;
      });
      return `| ${name} | ${way} | ${outcomes.join(' | ')} |`;
    }),
  );
  return [
    `| | over | ${TRIED.map(({ name }) => name).join(' | ')} |`,
    `|---|---|${'---|'.repeat(TRIED.length)}`,
    ...rows,
    '',
    ...notes.map((note, index) => `${index + 1}. ${note}`),
  ].join('\n');
}

/** The commands, in an order in which each finds something to do; each checks the tables after it. */
const COMMANDS: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  'context check': async (place) => {
    const { stdout } = await place.run('context', 'check', '--json');
    const { dialect, compatibility } = JSON.parse(stdout) as {
      dialect: string;
      compatibility: { standing: string };
    };
    expect(dialect).toBe(place.isGateway ? 'gateway' : 'controller');
    // The tables of a controller whose nodes did not run hold no version; a gateway states none.
    const isStated = place.way === 'REST' && !place.isGateway;
    expect(compatibility.standing).toBe(isStated ? 'tried' : 'unknown');
  },
  // What follows works with stored settings, which controllers up to 22.3 have as text.
  settings: async (place) => {
    await place.run('settings', 'show');
    for (const value of ['off', 'on'] as const) {
      await place.run('settings', 'basic-auth', value, '--yes');
      expect(await place.setting('AUTH_BASIC_ENABLED', 'gateway_basic_auth_enabled')).toBe(value === 'on');
    }
    await place.run('settings', 'token-lifetime', '--access', '30d', '--yes');
    if (!place.isGateway)
      expect(await place.setting('OAUTH2_PROVIDER')).toMatchObject({
        ACCESS_TOKEN_EXPIRE_SECONDS: 2_592_000,
      });
    await place.run('settings', 'external-tokens', 'allow', '--yes');
    const name = 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS';
    expect(await place.setting(name, name)).toBe(place.peer === 'awx-devel' ? undefined : true);
  },
  'tokens list': async (place) => {
    const { stdout } = await place.run('tokens', 'list', '--json');
    const listed = JSON.parse(stdout) as { id: number; user: { username: string } }[];
    expect(listed.map(({ id, user }) => [id, user.username])).toEqual(
      await place.rows(
        `SELECT t.id::int, u.username FROM TOKENS t JOIN USERS u ON u.id = t.user_id ORDER BY 1`,
      ),
    );
  },
  'tokens audit': async (place) => {
    const { stdout } = await place.run('tokens', 'audit', '--json');
    const { findings } = JSON.parse(stdout) as { findings: { rule: string; token?: { id: number } }[] };
    const found = findings.filter(({ rule }) => rule === 'write-scope').map(({ token }) => [token?.id]);
    expect(found.toSorted(byNumber)).toEqual(
      await place.rows("SELECT id::int FROM TOKENS WHERE scope = 'write' AND expires > now() ORDER BY 1"),
    );
  },
  'tokens revoke': async (place) => {
    const user = place.isGateway ? 'erin' : 'robot';
    const before = await place.count('TOKENS');
    await place.run('tokens', 'revoke', '--user', user, '--yes');
    expect(await place.accessOf(user)).toMatchObject({ tokens: 0 });
    expect(await place.count('TOKENS')).toBe(before - 4);
  },
  'tokens rotate': async (place) => {
    // A database role rotates the token of any user, a caller over REST an own one.
    const owner = place.way === 'REST' ? 'admin' : 'alice';
    const own = place.tables.filling.tokens.filter(({ user, scope }) => user === owner && scope === 'write');
    const id = own.findLast((token) => token.application === null)?.id;
    const file = join(place.home, 'rotated.token');
    const before = await place.count('TOKENS');
    await place.run('tokens', 'rotate', String(id), '--yes', '--output', file);
    expect(await place.rows('SELECT id FROM TOKENS WHERE id = $1', [id])).toEqual([]);
    expect(await place.count('TOKENS')).toBe(before);
    const value = readFileSync(file, 'utf8').trim();
    expect(
      await place.rows(
        `SELECT u.username FROM TOKENS t JOIN USERS u ON u.id = t.user_id
         WHERE t.token IN ($1::text, '$sha256$' || encode(sha256($1::text::bytea), 'hex')) AND t.scope = 'write'`,
        [value],
      ),
    ).toEqual([[owner]]);
  },
  'incident lockdown': async (place) => {
    const more = place.way === 'database' ? ['--deactivate'] : [];
    await place.run('incident', 'lockdown', '--user', 'alice', '--yes', '--reason', 'stolen laptop', ...more);
    expect(await place.accessOf('alice')).toMatchObject({ tokens: 0, active: place.way === 'REST' });
    expect(await place.accessOf(place.intruder)).not.toMatchObject({ tokens: 0 });
  },
  'incident status': async (place) => {
    const { stdout } = await place.run('incident', 'status');
    expect(stdout).toMatch(/^inc-[0-9a-f]+: the access of alice\n {2}locked down\n/);
    expect(stdout).toMatch(/\n {2}In effect/);
  },
  'incident lift': async (place) => {
    const { stdout } = await place.run('incident', 'lift', '--yes', '--reason', 'over');
    // The sessions of before would be accepted from the cache of a gateway again.
    const isEarly = place.isGateway && place.way === 'database';
    expect(stdout).toMatch(isEarly ? /^ {2}Keep alice deactivated for now/m : /^Lifted: inc-/m);
    expect(await place.accessOf('alice')).toMatchObject({ tokens: 0, active: !isEarly });
  },
  'users offboard': async (place) => {
    await place.run('users', 'offboard', 'bob', '--yes', '--reason', 'left');
    expect(await place.accessOf('bob')).toMatchObject({ tokens: 0, active: place.way === 'REST' });
  },
  'incident investigate': async (place) => {
    const file = join(place.home, 'investigation.json');
    const { stdout } = await place.run(
      ...['incident', 'investigate', '--user', place.intruder, '--since', '30d', '--out', file],
    );
    const made = await place.rows(
      'SELECT t.id FROM TOKENS t JOIN USERS u ON u.id = t.user_id WHERE u.username = $1 AND t.application_id IS NULL',
      [place.intruder],
    );
    expect(made.length).toBeGreaterThan(0);
    for (const [id] of made) expect(stdout).toContain(`[o_auth2_access_token:${id}]`);
    // Controllers with older roles only have no such assignments, and record their roles.
    if (!place.isGateway) expect(stdout.includes('role assignments')).toBe(!/^awx-2[13]/.test(place.peer));
  },
  'incident clean': async (place) => {
    const file = join(place.home, 'investigation.json');
    await place.run('incident', 'clean', '--from', file, '--yes', '--irreversible');
    const left = await place.rows(
      'SELECT count(*)::int FROM TOKENS t JOIN USERS u ON u.id = t.user_id WHERE u.username = $1 AND t.application_id IS NULL',
      [place.intruder],
    );
    expect(left).toEqual([[place.isGateway ? 3 : 0]]);
  },
  'drop-ins': async (place) => {
    const user = place.isGateway ? 'dave' : 'carol';
    await place.run('cleanup_tokens');
    await place.run('create_oauth2_token', '--user', 'admin', '--output', join(place.home, 'admin.token'));
    await place.run('revoke_oauth2_tokens', '--user', user, '--all');
    if (place.way === 'REST') await place.run('revoke_oauth2_tokens', '--user', user);
    expect(await place.accessOf(user)).toMatchObject({ tokens: 0 });
    await place.run('expire_sessions', '--user', user);
  },
};

function byNumber([a = 0]: readonly (number | undefined)[], [b = 0]: readonly (number | undefined)[]) {
  return a - b;
}

/** A server on the tables of a version that answers as was recorded. */
type Server = RecordedController | RecordedGateway;

/** A version to run commands on: its tables, and over REST a server on them that answers as was recorded. */
class Place {
  readonly peer: TriedId;
  readonly way: (typeof WAYS)[number];
  readonly tables: RealTables;
  readonly home = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
  readonly #server: Server;
  #runs: Run[] = [];

  private constructor(
    peer: TriedId,
    way: Place['way'],
    parts: { readonly tables: RealTables; readonly server: Server },
  ) {
    [this.peer, this.way, this.tables, this.#server] = [peer, way, parts.tables, parts.server];
    const file = (name: string, value: string) => {
      const path = join(this.home, name);
      writeFileSync(path, `${value}\n`, { mode: 0o600 });
      return path;
    };
    const admin = this.tables.filling.tokens.find(({ user }) => user === 'admin');
    const rest = `url: "${this.#server.address}"`;
    configure(
      this.home,
      `contexts:
  database: { database: { file: "${file('database', this.tables.url)}" } }
  REST: { ${rest}, username: admin, password: { file: "${file('password', 'adminpw')}" } }
  token: { ${rest}, token: { file: "${file('token', admin?.token ?? '')}" } }
`,
    );
  }

  static async make(peer: TriedId, way: Place['way']): Promise<Place> {
    const tables = await loadRealTables(peer);
    const server = peer.startsWith('gateway')
      ? await RecordedGateway.start(tables)
      : await RecordedController.start(peer as Exclude<TriedId, `gateway${string}`>, tables);
    return new Place(peer, way, { tables, server });
  }

  get isGateway(): boolean {
    return this.peer.startsWith('gateway');
  }

  /** A user with personal tokens of the own making. */
  get intruder(): string {
    return this.isGateway ? 'auditor' : 'eve';
  }

  begin(): void {
    this.#runs = [];
  }

  /** Runs a command. One that refuses has changed nothing. */
  async run(...args: string[]): Promise<Run> {
    // Turning passwords off with a password would lock the caller out.
    const context = this.way === 'REST' && args[1] === 'basic-auth' ? 'token' : this.way;
    const before = await Snapshot.take(this.tables.database);
    const settings = this.#server instanceof RecordedController ? this.#server.settings() : null;
    const run = await tokenctl([...args, '--context', context], { env: { HOME: this.home } });
    expect([0, 4, 5], `${args.join(' ')}: ${run.stderr}`).toContain(run.code);
    if (run.code !== 0) expect(run.stderr).toMatch(/^(CommandError|Error): .+\.\n(.+\.\n)?$/);
    if (run.code === 4) {
      expect([...(await before.changes())].filter(isNotOfRequest), args.join(' ')).toEqual([]);
      if (this.#server instanceof RecordedController) expect(this.#server.settings()).toEqual(settings);
    }
    this.#runs.push(run);
    return run;
  }

  /** What came of the runs. */
  cell(): Cell {
    const notes = this.#runs.filter(({ code }) => code !== 0).map(({ stderr }) => this.#note(stderr));
    const outcome = this.#runs.every(({ code }) => code === 4)
      ? 'refused'
      : notes.length > 0
        ? 'in part'
        : 'done';
    return { outcome, notes: [...new Set(notes)] };
  }

  /** An error without what differs from run to run. */
  #note(stderr: string): string {
    const [first = ''] = stderr.split('\n');
    return first
      .replace(/^\w+: /, '')
      .replaceAll(this.#server.address, 'the server')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, 'TIME')
      .replaceAll(/postgresql:[^\s,]+/g, 'the database')
      .replaceAll(/inc-[0-9a-f]+/g, 'INCIDENT');
  }

  async rows(sql: string, values: readonly unknown[] = []): Promise<readonly (readonly unknown[])[]> {
    const [prefix, users] = this.isGateway
      ? ['dab_oauth2_provider_oauth2', 'aap_gateway_api_user']
      : ['main_oauth2', 'auth_user'];
    const rows = await this.tables.database.query(
      sql.replaceAll('TOKENS', `${prefix}accesstoken`).replaceAll('USERS', users),
      values,
    );
    return rows.map((row) => Object.values(row));
  }

  async count(table: 'TOKENS'): Promise<number> {
    return Number((await this.rows(`SELECT count(*)::int FROM ${table}`))[0]?.[0]);
  }

  /** What a user can still use: access tokens, and in the database refresh tokens as well; and whether the user is active. */
  async accessOf(user: string): Promise<{ readonly tokens: number; readonly active: boolean }> {
    const refresh = this.isGateway
      ? 'dab_oauth2_provider_oauth2refreshtoken'
      : 'oauth2_provider_refreshtoken';
    const ofRefresh =
      this.way === 'REST'
        ? '0'
        : `(SELECT count(*) FROM ${refresh} r WHERE r.user_id = u.id AND r.revoked IS NULL)`;
    const [row] = await this.rows(
      `SELECT ((SELECT count(*) FROM TOKENS t WHERE t.user_id = u.id) + ${ofRefresh})::int, u.is_active FROM USERS u WHERE u.username = $1`,
      [user],
    );
    return { tokens: Number(row?.[0]), active: row?.[1] === true };
  }

  /** A setting as it is stored. */
  async setting(controller: string, gateway = ''): Promise<unknown> {
    if (this.isGateway) {
      const [row] = await this.rows('SELECT raw_value FROM aap_gateway_api_preference WHERE name = $1', [
        gateway,
      ]);
      return row?.[0] === 'True';
    }
    if (this.way === 'REST' && this.#server instanceof RecordedController)
      return this.#server.settings()[controller];
    const [row] = await this.rows('SELECT value::text FROM conf_setting WHERE key = $1', [controller]);
    return row === undefined ? undefined : JSON.parse(String(row[0]));
  }

  async close(): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.tables.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** A request with a token sets its last use, and a gateway writes an entry. */
function isNotOfRequest([table, { added, removed, changed }]: readonly [string, TableChange]): boolean {
  if (removed.length > 0) return true;
  if (table === 'dab_activitystream_entry') return added.some(({ operation }) => operation !== 'update');
  return (
    added.length > 0 ||
    changed.some(({ before, after }) => {
      const { last_used: _before, ...was } = before;
      const { last_used: _after, ...is } = after;
      return JSON.stringify(was) !== JSON.stringify(is);
    })
  );
}

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../support/real-tables.ts';
import { type Effect, ownEffect, recordedEffect, Times } from '../../support/recorded-changes.ts';
import { hasRecordings, type ManagementRun, recorded } from '../../support/recordings.ts';
import { Snapshot } from '../../support/row-changes.ts';
import { tokenctl } from './program.ts';

const PEERS = REAL_PEERS.filter(hasRecordings);

// The tables and recordings are kept beside the project: without them, one test says that the others are left out.
test.runIf(PEERS.length === 0)('skipped: tables and recordings of real controllers are absent', ({ skip }) =>
  skip(),
);

/** Why recorded commands are not compared, and what the page of the database says of it. */
const NOT_COMPARED = {
  'no drop-in of this name': null,
  'help of its own': null,
  'the flag of the manual': '`--all` and `--revoke_refresh` are the same flag',
  'no such command on a gateway': 'A gateway has no `expire_sessions`',
  'an empty user': 'An empty `--user` is refused',
} as const;

/** Null for the commands that are compared. */
function reasonAgainst({ argv, stderr }: ManagementRun): keyof typeof NOT_COMPARED | null {
  const [name = '', ...rest] = argv;
  if (!/^(revoke_oauth2_tokens|create_oauth2_token|cleanup_tokens|expire_sessions)$/.test(name))
    return 'no drop-in of this name';
  if (stderr.includes('Unknown command')) return 'no such command on a gateway';
  if (rest.includes('--help')) return 'help of its own';
  if (rest.includes('--revoke_refresh')) return 'the flag of the manual';
  return rest.includes('') ? 'an empty user' : null;
}

test.runIf(PEERS.length > 0)('every recorded command is compared, or differs as documented', () => {
  const runs = PEERS.flatMap((peer) => recorded(peer, 'manage'));
  const reasons = new Set(runs.map(reasonAgainst));
  expect([...reasons].filter((reason) => reason !== null).toSorted()).toEqual(
    Object.keys(NOT_COMPARED).toSorted(),
  );
  const page = readFileSync(new URL('../../../docs/database.md', import.meta.url), 'utf8');
  for (const sentence of [...Object.values(NOT_COMPARED), ...Object.values(DOCUMENTED)])
    expect(page.replaceAll(/\s+/g, ' ')).toContain(sentence ?? '');
});

describeEach(PEERS)('the drop-ins beside the recorded management commands of %s', (peer) => {
  const runs = recorded(peer, 'manage').map(
    (run) => [run.argv.join(' '), run.start, reasonAgainst(run), run] as const,
  );
  let places: Readonly<Record<ManagementRun['start'], Place>>;
  beforeAll(async () => {
    places = {
      filled: await Place.make(peer, 'filled'),
      'filled+logins': await Place.make(peer, 'filled+logins'),
    };
  });
  afterAll(async () => {
    for (const place of Object.values(places)) await place.close();
  });

  test.each(runs.filter(([, , reason]) => reason === null))('%s on %s', async (name, start, _reason, run) => {
    const place = places[start];
    const [theirs, ours] = [place.recorded(run), await place.run(run.argv)];
    if (name === 'cleanup_tokens' && !peer.startsWith('gateway')) expectDocumentedMore(theirs, ours);
    else expect(ours).toEqual(documented(theirs, peer));
  });

  test('an empty user is refused, where the management command revokes the tokens of all', async () => {
    const ours = await places.filled.run(['revoke_oauth2_tokens', '--user', '']);
    expect(ours).toMatchObject({ code: 1, rows: {} });
  });
});

/** How the drop-ins differ on some versions, and what the page of the database says of it. */
const DOCUMENTED = {
  usage: 'its usage also mentions `awx-manage`',
  lifetime: 'a token is valid for a year',
  entry: '`modified` and `modified_by`, which the newest gateways omit',
  cleanup: '`cleanup_tokens` deletes a refresh token as soon as the controller rejects it',
  orphans: '`cleanup_tokens` also deletes orphaned refresh tokens',
};

/** What the drop-in does where the page of the database says that it differs. */
function documented(theirs: Effect, peer: Peer): Effect {
  let text = JSON.stringify(theirs)
    // A cached setting of the conversation before: the same command half a minute later gives 1,000 years.
    .replaceAll('new+120min', 'new+525600000min');
  if (peer.startsWith('gateway')) {
    text = text
      .replace('Usage: create', 'Usage: awx-manage create')
      .replaceAll('new+525600000min', 'new+525600min');
  }
  if (peer === 'gateway-newest') {
    text = text.replace(
      /("id_token\\":null),(\\"created_by.*?"description\\":\\"\\")(,\\"source_refresh_token\\":null},\\"changed_fields)/,
      '$1,\\"modified\\":\\"new+0min\\",$2,\\"modified_by\\":\\"1\\"$3',
    );
  }
  return JSON.parse(text) as Effect;
}

/** The cleanup of a controller deletes what the management command does, the refresh tokens that it refuses and what these keep. */
function expectDocumentedMore(theirs: Effect, ours: Effect): void {
  expect(ours.code).toBe(theirs.code);
  const more = Object.entries(ours.rows).flatMap(([table, { added, removed, changed }]) => {
    const same = theirs.rows[table] ?? { added: [], removed: [], changed: [] };
    expect(added).toEqual(expect.arrayContaining([...same.added]));
    expect(removed).toEqual(expect.arrayContaining([...same.removed]));
    expect(changed).toEqual(same.changed);
    const ids = removed
      .filter((row) => !same.removed.includes(row))
      .map((row) => Number((JSON.parse(row) as { id: unknown }).id));
    return /activitystream/.test(table) ? [] : [[table, ids.toSorted((a, b) => a - b)]];
  });
  // Carol's, whose refresh tokens are of 60 days ago, and the orphan of eve.
  expect(Object.fromEntries(more)).toEqual({
    main_oauth2accesstoken: [11, 12],
    oauth2_provider_refreshtoken: [5, 6, 18],
  });
  expect(ours.notices).toEqual([
    'Expired OAuth 2 Access Tokens deleted: 4',
    'Expired OAuth 2 Refresh Tokens deleted: 3',
  ]);
}

/** The tables as a recorded command found them, and a home whose context works on them. */
class Place {
  readonly #real: RealTables;
  readonly #before: Snapshot;
  readonly #times: Times;
  readonly #home = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));

  private constructor(real: RealTables, before: Snapshot, times: Times) {
    [this.#real, this.#before, this.#times] = [real, before, times];
    const secret = join(this.#home, 'database');
    writeFileSync(secret, `${real.url}\n`, { mode: 0o600 });
    configure(this.#home, `currentContext: db\ncontexts:\n  db: { database: { file: "${secret}" } }\n`);
  }

  static async make(peer: Peer, start: ManagementRun['start']): Promise<Place> {
    const real = await loadRealTables(peer);
    const runs = recorded(peer, 'manage');
    // The same time in the recording and in the database.
    const times = { recorded: createdOfFirst(runs), database: '' };
    const [first] = await real.database.query<{ created: string }>(
      `SELECT to_jsonb(created) #>> '{}' AS created FROM ${peer.startsWith('gateway') ? 'dab_oauth2_provider' : 'main'}_oauth2accesstoken WHERE id = 1`,
    );
    times.database = first?.created ?? '';
    if (start === 'filled+logins') await addLogins(real, runs, times);
    // An orphan of a moment ago may belong to a refresh that is under way.
    if (!peer.startsWith('gateway'))
      await real.database.execute(
        `UPDATE oauth2_provider_refreshtoken SET created = created - interval '1 hour' WHERE access_token_id IS NULL`,
      );
    const before = await Snapshot.take(real.database);
    return new Place(real, before, new Times(before, times));
  }

  /** Runs a drop-in, and puts all rows back. */
  async run(argv: readonly string[]): Promise<Effect> {
    const file = ['--output', join(this.#home, `${randomUUID()}.token`)];
    const args = [...argv, ...(argv[0] === 'create_oauth2_token' ? file : [])];
    const run = await tokenctl(args, { env: { HOME: this.#home } });
    const effect = ownEffect(run, { changes: await this.#before.changes(), times: this.#times });
    await this.#before.restore();
    return effect;
  }

  recorded(run: ManagementRun): Effect {
    return recordedEffect(run, this.#times);
  }

  async close(): Promise<void> {
    await this.#real.close();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** When the first token was made, as recorded. */
function createdOfFirst(runs: readonly ManagementRun[]): string {
  const all = runs.find(({ argv }) => argv.join(' ') === 'revoke_oauth2_tokens');
  const tokens = Object.entries(all?.changes ?? {}).find(([table]) => /_oauth2accesstoken$/.test(table));
  return String(tokens?.[1].removed?.find(({ id }) => id === 1)?.['created']);
}

/**
 * The logins of the recorded start, from the rows that ending all sessions removed. Which session had expired differs between the
 * recorded copies: here it is the one that was left. None of a gateway is recorded.
 */
async function addLogins(
  { database }: RealTables,
  runs: readonly ManagementRun[],
  times: { readonly recorded: string; readonly database: string },
): Promise<void> {
  const of = (start: ManagementRun['start']) =>
    runs.find((run) => run.argv.join(' ') === 'expire_sessions' && run.start === start)?.changes ?? {};
  const keys = (changes: ManagementRun['changes']) =>
    (changes['django_session']?.removed ?? []).map(({ session_key: key }) => key);
  const [filled, logins] = [of('filled'), of('filled+logins')];
  const age = [times.database, times.recorded];
  for (const [table, { removed = [] }] of Object.entries(logins)) {
    const column = table === 'django_session' ? 'expire_date' : 'created';
    for (const row of removed.filter((each) => !keys(filled).includes(each['session_key'])))
      await database.execute(
        `INSERT INTO ${table} SELECT (jsonb_populate_record(NULL::${table}, $1::jsonb
           || jsonb_build_object('${column}', ($1::jsonb ->> '${column}')::timestamptz + ($2::timestamptz - $3)))).*`,
        [JSON.stringify(row), ...age],
      );
  }
  const expired = keys(filled).filter((key) => !keys(logins).includes(key));
  await database.execute(
    `UPDATE django_session SET expire_date = expire_date - interval '1 day' WHERE session_key = ANY($1)`,
    [expired],
  );
}

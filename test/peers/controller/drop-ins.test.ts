import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homeOf } from '../home.ts';
import { changes, describePeer, type Peer, type Row, type TableChange } from '../peer.ts';

const OURS = 'twin_tokenctl';
const THEIRS = 'twin_manage';

/** Times: of these a comparison looks only at whether they are set. */
const TIMES = new Set(['timestamp', 'created', 'updated', 'modified', 'revoked', 'expires']);
/** Numbers of activity entries follow the order of the work; the node of ours is `tokenctl` (docs/database.md). */
const IGNORED = ['main_activitystream.action_node'];

/** What a run did to a database, in a form that two runs can be compared by. */
interface Effect {
  readonly code: number | null;
  /** The lines of stdout, in any order, with fingerprints for tokens. */
  readonly lines: readonly string[];
  /** All changes by table, each row as comparable text. */
  readonly rows: unknown;
  /** The ids of removed rows by table. */
  readonly removed: Readonly<Record<string, readonly unknown[]>>;
}

describePeer('awx', 'the drop-ins beside the management commands', (peer) => {
  test.each([
    ['revoke_oauth2_tokens'],
    ['revoke_oauth2_tokens --all'],
    ['revoke_oauth2_tokens --user alice'],
    ['revoke_oauth2_tokens --user alice --all'],
    ['revoke_oauth2_tokens --user eve --all'],
    ['revoke_oauth2_tokens --user nosuch'],
    ['revoke_oauth2_tokens --bogus'],
    ['expire_sessions'],
    ['expire_sessions --user alice'],
    ['expire_sessions --user nosuch'],
    ['create_oauth2_token --user bob'],
    ['create_oauth2_token --user socialite'],
    ['create_oauth2_token --user nosuch'],
    ['create_oauth2_token'],
  ])('%s', async (command) => {
    const [theirs, ours] = await runBoth(peer(), command.split(' '));
    expect(ours).toEqual(theirs);
  });

  test.each([
    ['cleanup_tokens -v 5'],
    ['cleanup_tokens --s x'],
    ['cleanup_tokens --no-color --force-color -v 0'],
    ['cleanup_tokens --verb 2 --skip --settings x.y --pyth /tmp'],
    ['cleanup_tokens --version'],
    ['create_oauth2_token --no-c --force-c --user alice'],
    ['create_oauth2_token --us nosuch --trace'],
    ['create_oauth2_token --help'],
    ['expire_sessions --traceback=1'],
  ])("Django's own options: %s", async (command) => {
    const args = command.split(' ');
    const [theirs, ours] = [await peer().manage(args), await homeOf(peer(), { current: 'db' }).run(...args)];
    expect(ours.code).toBe(theirs.code);
    // The controller's own log goes to stderr as well, with a time and INFO in each line.
    const lines = (text: string) => text.split('\n').filter((line) => /^(Expired|CommandError)/.test(line));
    expect(lines(ours.stderr).map((line) => line.replace(/\d+$/, 'N'))).toEqual(
      command.endsWith('--trace')
        ? [expect.stringMatching(/^CommandError: /)]
        : lines(theirs.stderr).map((line) => line.replace(/\d+$/, 'N')),
    );
    expect(theirs.stderr.includes('Traceback')).toBe(/\n {4}at /.test(ours.stderr));
    expect(ours.stdout === '').toBe(theirs.stdout === '');
  });

  test('cleanup_tokens deletes expired authorization codes', async () => {
    const codes = async () => (await peer().sql('SELECT id FROM oauth2_provider_grant')).length;
    const expired = `INSERT INTO oauth2_provider_grant (code, expires, redirect_uri, scope, application_id, user_id,
        created, updated, code_challenge, code_challenge_method, nonce, claims)
      SELECT gen_random_uuid()::text, now() - interval '1 hour', 'https://x.org/cb', 'read', a.id, u.id,
        now(), now(), '', '', '', '' FROM main_oauth2application a, auth_user u
      WHERE a.name = 'AppCode' AND u.username = 'alice'`;
    const before = await codes();
    await peer().sql(expired);
    await peer().manage(['cleanup_tokens']);
    expect(await codes()).toBe(before);
    await peer().sql(expired);
    await homeOf(peer(), { current: 'db' }).run('cleanup_tokens');
    expect(await codes()).toBe(before);
  });

  test('cleanup_tokens deletes what the management command does, and more only as documented', async () => {
    const [theirs, ours] = await runBoth(peer(), ['cleanup_tokens']);
    const kept = new Map(
      (
        await peer().sql('SELECT id::int, expires < now() AS expired FROM main_oauth2accesstoken', [], THEIRS)
      ).map((row) => [row['id'], row['expired']]),
    );
    const removed = (effect: Effect, table: string): readonly unknown[] => effect.removed[table] ?? [];
    expect(ours.code).toBe(theirs.code);
    expect(removed(ours, 'main_oauth2accesstoken')).toEqual(
      expect.arrayContaining([...removed(theirs, 'main_oauth2accesstoken')]),
    );
    const more = removed(ours, 'main_oauth2accesstoken').filter((id) => kept.has(id));
    expect(more.length).toBeGreaterThan(0);
    expect(more.every((id) => kept.get(id) === true)).toBe(true);
    expect(removed(theirs, 'oauth2_provider_refreshtoken')).toEqual([]);
    expect(removed(ours, 'oauth2_provider_refreshtoken')).toHaveLength(3);
  });
});

/** Runs a command as the management command and as the drop-in, each on a database of its own. */
async function runBoth(peer: Peer, args: readonly string[]): Promise<[Effect, Effect]> {
  await peer.twin(THEIRS);
  await peer.twin(OURS);
  const before = await peer.tables(THEIRS);
  const home = homeOf(peer, { database: peer.databaseUrl('owner', OURS), current: 'db' });
  const output = args[0] === 'create_oauth2_token' ? ['--output', join(home.folder, 'new.token')] : [];
  const [theirs, ours] = await Promise.all([peer.manage(args, THEIRS), home.run(...args, ...output)]);
  return [
    effectOf(
      { ...theirs, stdout: withFingerprints(theirs.stdout) },
      changes(before, await peer.tables(THEIRS), IGNORED),
    ),
    effectOf(ours, changes(before, await peer.tables(OURS), IGNORED)),
  ];
}

function effectOf(
  { code, stdout }: { readonly code: number | null; readonly stdout: string },
  found: Readonly<Record<string, TableChange>>,
): Effect {
  // A new token has another value, and so another line, in each database.
  const lines =
    found['main_oauth2accesstoken']?.added.length === 1 ? ['one token'] : stdout.split('\n').sort();
  const removed = Object.fromEntries(
    Object.entries(found).map(([table, { removed: rows }]) => [table, rows.map((row) => row['id'])]),
  );
  const rows = Object.fromEntries(
    Object.entries(found).map(([table, change]) => [
      table,
      {
        added: change.added.map((row) => comparable(table, row)).sort(),
        removed: change.removed.map((row) => comparable(table, row)).sort(),
        changed: change.changed
          .map(({ row, columns }) => comparable(table, { key: row['id'], ...after(columns) }))
          .sort(),
      },
    ]),
  );
  return { code, lines, rows, removed };
}

/** A row as text, without what differs between any two runs. */
function comparable(table: string, row: Row): string {
  const kept = Object.entries(row)
    .filter(([column]) => !(table === 'main_activitystream' && (column === 'id' || column === 'action_node')))
    .filter(([column]) => column !== 'activitystream_id')
    .map(([column, value]) => {
      if (TIMES.has(column)) return [column, value !== null];
      // A link of the fill is removed by its number; a new one and its token's value are each run's own.
      if (column === 'token' || (table.startsWith('main_activitystream_') && column === 'id'))
        return [column, 'any'];
      return [column, value];
    });
  return JSON.stringify(Object.fromEntries(kept));
}

function after(columns: Readonly<Record<string, readonly [unknown, unknown]>>): Row {
  return Object.fromEntries(Object.entries(columns).map(([column, [, value]]) => [column, value]));
}

/** The management commands print tokens; tokenctl prints fingerprints in their place. */
function withFingerprints(stdout: string): string {
  return stdout.replace(
    /^(revoked \w+ )(\S+)$/gm,
    (_line, what: string, token: string) =>
      what + createHash('sha256').update(token).digest('hex').slice(0, 12),
  );
}

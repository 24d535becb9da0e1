import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homeOf } from '../home.ts';
import { describePeer, type PeerKind } from '../peer.ts';

interface Listed {
  readonly id: number;
  readonly fingerprint: string | null;
}

const TOKENS = 'dab_oauth2_provider_oauth2accesstoken';
const KINDS: readonly (PeerKind & ('gateway' | 'gateway-plain'))[] = ['gateway', 'gateway-plain'];

describePeerOf(KINDS, 'the stored form of tokens', (peer) => {
  test('a token made in the database is accepted', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const made = await home.run(
      'tokens',
      'create',
      '--user',
      'alice',
      '--scope',
      'read',
      '--yes',
      '--output',
      join(home.folder, 'made'),
    );
    expect(made).toMatchObject({ code: 0 });
    const value = readFileSync(join(home.folder, 'made'), 'utf8').trim();
    expect((await peer().request(`${peer().api}me/`, { token: value })).status).toBe(200);
  });

  test('fingerprints are of the value', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const { body } = await home.json<Listed[]>('tokens', 'list');
    const byId = new Map(body.map(({ id, fingerprint }) => [id, fingerprint]));
    const known = peer().fill.tokens.filter(({ id }) => id !== undefined);
    expect(known.length).toBeGreaterThan(0);
    for (const { id, token } of known) expect(byId.get(id ?? 0)).toBe(fingerprint(token));
  });

  test('leaked tokens are found, access and refresh', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const pair = peer().fill.tokens.find(({ refresh_token }) => refresh_token !== undefined);
    const values = [peer().fill.admintoken, pair?.token ?? '', pair?.refresh_token ?? ''];
    writeFileSync(join(home.folder, 'leak.txt'), values.join('\n'));
    const run = await home.run('tokens', 'find', '--leaked', join(home.folder, 'leak.txt'), '--json');
    const { found: tokens } = JSON.parse(run.stdout) as { found: { fingerprint: string; live: boolean }[] };
    expect(tokens.map(({ fingerprint: mark }) => mark).sort()).toEqual(values.map(fingerprint).sort());
    expect(tokens.every(({ live }) => live)).toBe(true);
  });

  test('tokens in clear are reported, and only they', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const isPlain = peer().kind === 'gateway-plain';
    const [row] = await peer().sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${TOKENS} WHERE token NOT LIKE '$sha256$%'`,
    );
    expect((row?.n ?? 0) > 0).toBe(isPlain);
    const check = await home.json<{ warnings: string[] }>('context', 'check');
    expect(check.body.warnings.some((each) => /in clear/.test(each))).toBe(isPlain);
    const { body } = await home.json<{ findings: { rule: string; severity: string }[] }>('tokens', 'audit');
    const found = body.findings.filter(({ rule }) => rule === 'tokens-in-clear');
    expect(found.map(({ severity }) => severity)).toEqual(isPlain ? ['critical'] : []);
  });

  test('a hash without its prefix, as tokenctl stored it before 0.2, is said to be what the gateway takes it for', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const value = 'handed0out0by0an0older0tokenctl';
    const stored = createHash('sha256').update(value).digest('hex');
    const [row] = await peer().sql<{ id: string }>(
      `INSERT INTO ${TOKENS} (token, user_id, scope, description, expires, created, modified)
       VALUES ($1, $2, 'read', '', now() + interval '1 day', now() - interval '1 day', now()) RETURNING id`,
      [stored, peer().fill.users['bob']],
    );
    const status = async (token: string) => (await peer().request(`${peer().api}me/`, { token })).status;
    const isPlain = peer().kind === 'gateway-plain';
    expect([await status(value), await status(stored)]).toEqual([401, isPlain ? 200 : 401]);
    const { body } = await home.json<{ warnings: string[]; tokensInClear: boolean }>('context', 'check');
    expect(body.tokensInClear).toBe(isPlain);
    const warning = body.warnings.find((each) => each.includes('without the prefix')) ?? '';
    expect(warning.includes('does not accept these')).toBe(!isPlain);
    expect(JSON.stringify(body)).not.toContain(stored.slice(0, 6));
    const remedy = /`tokenctl ([^`]*)`/.exec(warning)?.[1] ?? `tokens revoke --id ${row?.id} --context db`;
    expect(await home.run(...remedy.split(' '), '--yes')).toMatchObject({ code: 0 });
    expect(await status(stored)).toBe(401);
  });
});

function fingerprint(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 12);
}

function describePeerOf(
  kinds: readonly PeerKind[],
  name: string,
  body: Parameters<typeof describePeer>[2],
): void {
  for (const kind of kinds) describePeer(kind, `${name} (${kind})`, body);
}

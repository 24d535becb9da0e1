import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { authorize, login } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

/** How many characters in a row of a secret may not be printed. */
const LENGTH = 6;

/** Everything that lets somebody in: tokens as handed out and as stored, refresh tokens, codes, session keys, cookies. */
async function secretsOf(peer: Peer): Promise<string[]> {
  const stored = await peer.sql<{ value: string }>(`
    SELECT token AS value FROM dab_oauth2_provider_oauth2accesstoken
    UNION ALL SELECT token FROM dab_oauth2_provider_oauth2refreshtoken
    UNION ALL SELECT code FROM oauth2_provider_grant
    UNION ALL SELECT session_key FROM django_session`);
  const given = peer.fill.tokens.flatMap(({ token, refresh_token }) => [token, refresh_token ?? token]);
  return [...new Set([...given, ...stored.map(({ value }) => value)])];
}

/** The parts of the secrets that a text holds. */
function leaks(text: string, secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    // The audit log is full of hashes: six hexadecimal digits of a token are in one of them by chance, twelve are not.
    const length = /^[0-9a-f]+$/.test(secret) ? 2 * LENGTH : LENGTH;
    return Array.from({ length: secret.length - length + 1 }, (_, start) =>
      secret.slice(start, start + length),
    ).filter((part) => text.includes(part));
  });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describePeer('gateway-plain', 'a gateway that stores tokens in clear', (peer) => {
  test('no part of a secret is in any output, log, export or error', async () => {
    const home = homeOf(peer());
    const inputs = new Set(filesBelow(home.folder).filter((file) => !file.endsWith('.yaml')));
    for (const user of ['alice', 'bob']) await authorize(peer(), (await login(peer(), user)) ?? '');
    // A token whose stored form is hex is a token all the same.
    await peer().sql(`UPDATE dab_oauth2_provider_oauth2accesstoken
      SET token = encode(sha256(token::bytea), 'hex') WHERE id = (SELECT max(id) FROM dab_oauth2_provider_oauth2accesstoken)`);
    const secrets = await secretsOf(peer());
    expect(secrets.length).toBeGreaterThan(20);
    const lists = { rest: secrets.slice(0, 3), db: secrets };
    for (const [context, values] of Object.entries(lists)) {
      writeFileSync(join(home.folder, `${context}-leaked`), values.join('\n'), { mode: 0o600 });
      inputs.add(join(home.folder, `${context}-leaked`));
    }
    const [{ id } = { id: 0 }] = await peer().sql<{ id: string | number }>(
      `SELECT id FROM dab_oauth2_provider_oauth2accesstoken WHERE user_id = ${peer().fill.users['alice']} LIMIT 1`,
    );

    const outputs: string[] = [];
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await home.run(...args);
      outputs.push(`${args.join(' ')}: exit ${code}\n${stdout}${stderr}`);
    };
    for (const [index, context] of ['rest', 'db'].entries()) {
      const at = ['--context', context];
      const file = (name: string) => join(home.folder, `${context}-${name}`);
      await run('context', 'check', context);
      await run('context', 'check', context, '--json');
      for (const format of [[], ['--json'], ['--csv']]) {
        await run('tokens', 'list', ...format, ...at);
        await run('refresh-tokens', 'list', ...format, ...at);
        await run('sessions', 'list', ...format, ...at);
      }
      for (const format of ['table', 'json', 'sarif', 'html', 'csv'])
        await run('tokens', 'audit', '--format', format, ...at);
      await run('tokens', 'find', '--leaked', file('leaked'), ...at);
      await run('tokens', 'find', '--leaked', file('leaked'), '--json', ...at);
      await run('tokens', 'trace', `${id}`, ...at);
      await run('tokens', 'trace', `${id}`, '--json', ...at);
      await run('tokens', 'notices', '--dry-run', ...at);
      await run('tokens', 'revoke', '--all', '--dry-run', ...at);
      await run('tokens', 'revoke', '--all', '--dry-run', '--json', ...at);
      const owner = context === 'db' ? ['--user', 'erin'] : [];
      await run(
        ...['tokens', 'create', ...owner, '--scope', 'read', '--yes'],
        '--output',
        file('created'),
        ...at,
      );
      inputs.add(file('created'));
      await run('create_oauth2_token', '--user', 'erin', '--output', file('dropped-in'), ...at);
      inputs.add(file('dropped-in'));
      await run('incident', 'timeline', '--user', 'alice', '--json', ...at);
      await run('incident', 'timeline', '--token', `${id}`, '--since', '400d', ...at);
      await run('incident', 'lockdown', '--user', ['alice', 'bob'][index] ?? '', '--yes', ...at);
      await run('incident', 'lockdown', '--user', 'alice', '--deactivate', '--json', '--yes', ...at);
      await run('incident', 'status', '--json', ...at);
      await run('users', 'offboard', 'erin', '--yes', ...at);
      await run('sessions', 'expire', '--all', '--yes', ...at);
      await run('expire_sessions', ...at);
      await run('tokens', 'cleanup', '--yes', ...at);
      await run('cleanup_tokens', ...at);
      await run('revoke_oauth2_tokens', '--user', 'dave', '--all', ...at);
      await run('tokens', 'revoke', '--user', 'bob', '--yes', '--json', ...at);
    }
    await run('revoke_oauth2_tokens', '--context', 'db');
    await run('tokens', 'list', '--context', 'rest');
    await run('log', 'list', '--raw', '--json');
    await run('log', 'report', '--format', 'html');
    await run('log', 'verify');
    for (const format of ['ocsf', 'ecs', 'cef', 'syslog', 'jsonl'])
      await run('log', 'export', '--format', format, '--to', join(home.folder, `export.${format}`));

    const created = [...inputs].filter((file) => /created|dropped-in/.test(file)).flatMap(contentOf);
    const all = [...secrets, ...created];
    const texts = [
      ...outputs,
      ...filesBelow(home.folder)
        .filter((file) => !inputs.has(file))
        .map((file) => `${file}\n${readFileSync(file, 'utf8')}`),
    ];
    expect(texts.length).toBeGreaterThan(80);
    expect(texts.filter((text) => leaks(text, all).length > 0).map((text) => text.split('\n', 1)[0])).toEqual(
      [],
    );
    // The session did what it was to do.
    expect(outputs.filter((text) => /: exit 1\n/.test(text))).toEqual([]);
    expect(outputs.filter((text) => /: exit 2\n/.test(text))).toEqual([]);
  }, 900_000);
});

function contentOf(file: string): string[] {
  try {
    return [readFileSync(file, 'utf8').trim()];
  } catch {
    return [];
  }
}

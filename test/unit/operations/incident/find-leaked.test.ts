import { gzipSync } from 'node:zlib';
import type { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, test } from 'vitest';
import { findLeaked, planLeaked } from '../../../../src/operations/revocation/find-leaked.ts';
import { readLeaked } from '../../../../src/operations/revocation/leaked-input.ts';
import { revokeTokens } from '../../../../src/operations/revocation/revoke-tokens.ts';
import { findTokenValues } from '../../../../src/operations/revocation/token-values.ts';
import { stillClock } from '../../../support/drafts.ts';
import { incidentFixture } from '../../../support/incident-fixture.ts';
import { refreshToken } from '../../../support/memory-refresh-tokens.ts';

const VALUE = 'abcdefghijABCDEFGHIJ0123456789';
const OTHER = 'ZZZZZefghijABCDEFGHIJ012345678';
const values = (line: string) => findTokenValues(line).map((value) => value.reveal());

async function* lines(...texts: readonly string[]) {
  for (const text of texts) yield await Promise.resolve(Buffer.from(`${text}\n`));
}

describe('values in a line', () => {
  test.each([
    ['alone', VALUE],
    ['in quotes', `token: "${VALUE}",`],
    ['in a diff', `+export CONTROLLER_OAUTH_TOKEN=${VALUE}`],
    ['in a header', `curl -H 'Authorization: Bearer ${VALUE}' https://controller.example.org`],
    ['in an address', `https://controller.example.org/?access_token=${VALUE}&x=1`],
    ['with a comma behind', `${VALUE}, and more`],
  ])('%s', (_, line) => {
    expect(values(line)).toEqual([VALUE]);
  });

  const base64 = (text: string, encoding: BufferEncoding = 'utf8') =>
    Buffer.from(text, encoding).toString('base64');
  const hex = (text: string) => Buffer.from(text).toString('hex');
  const everyEscape = String.raw`\x1b[1mx\x1b[m \u00e9 \n x%20y =3D &quot; &#8203; #033 ^[ [0m`;
  const encoded: readonly (readonly [string, string])[] = [
    ['ANSI colors', `\x1b[32m+\x1b[m\x1b[32m${VALUE}\x1b[m`],
    ['ANSI colors within it', `token \x1b[1m${VALUE.slice(0, 9)}\x1b[0m${VALUE.slice(9)}`],
    ['ANSI colors behind a word', `token\x1b[0m${VALUE}\x1b[K`],
    ['ANSI colors without the escape character', `[0;32m${VALUE}[0m`],
    ['a link of a terminal', `\x1b]8;;https://x.example.org\x07${VALUE}\x1b]8;;\x07`],
    ['ANSI colors as cat -v writes them', `^[[32m${VALUE}^[[m`],
    ['ANSI colors as a program escapes them', String.raw`\033[32m${VALUE}`],
    ['JSON', String.raw`{"stdout":"x:\n${VALUE}"}`],
    ['ANSI colors in JSON', String.raw`{"stdout":"\u001b[0;33m${VALUE}\u001b[0m"}`],
    ['JSON in JSON', String.raw`{"body":"{\"stdout\":\"x:\\n${VALUE}\"}"}`],
    ['a Unicode escape', String.raw`token\u003d${VALUE}`],
    ['a hexadecimal escape', String.raw`'token\x3d${VALUE}'`],
    ['percent encoding', `access_token%3D${VALUE}`],
    ['percent encoding twice', `url=a%253Faccess_token%253D${VALUE}%2526b`],
    ['quoted-printable', `access_token=3D${VALUE}`],
    ['HTML', `access_token&#x3D${VALUE}`.replace('&#x3D', '&#61;&amp')],
    ['the log of rsyslog', `first#012${VALUE}#012`],
    ['the log of a container with carets', `x^M${VALUE}^M`],
    ['invisible characters', `${VALUE.slice(0, 12)}\u200b${VALUE.slice(12)}`],
    ['UTF-16 within other text', [...VALUE].join('\0')],
    ['base64 of a Kubernetes Secret', `  token: ${base64(VALUE)}`],
    ['base64 with a line feed', `  token: ${base64(`${VALUE}\n`)}`],
    ['base64 of a password', `Authorization: Basic ${base64(`admin:${VALUE}`)}`],
    ['base64 of a configuration', `data: ${base64(`{"env":"A=1\\n${VALUE}"}`)}`],
    ['base64 for PowerShell', `-EncodedCommand ${base64(`$t='${VALUE}'`, 'utf16le')}`],
    ['a NUL of strace', String.raw`write(3, "token\0${VALUE}", 36)`],
    ['an escape of LDAP', String.raw`(description=x\3d${VALUE})`],
    ['an escape of RTF', String.raw`{\rtf1 token\'3d${VALUE}\par}`],
    ['an escape of a browser', `token%u003D${VALUE}`],
    ['HTML without semicolons', `token&#61${VALUE}`],
    ['arguments of auditd', `proctitle=${hex(`curl\0-H\0Authorization: Bearer ${VALUE}`).toUpperCase()}`],
    ['bytes of PostgreSQL', String.raw`E'\\x${hex(`x=${VALUE}`)}'`],
    ['bytes of journald', JSON.stringify({ MESSAGE: [...Buffer.from(`\x1b[32m${VALUE}\x1b[0m`)] })],
    ['bytes of tshark', hex(`x=${VALUE} `).replace(/../g, '$&:')],
    ['bytes of C', hex(`x=${VALUE} `).replace(/../g, '0x$&, ')],
    ['bytes of Go', `[${[...Buffer.from(`x=${VALUE}`)].join(' ')}]`],
    ['long Unicode escapes', hex(VALUE).replace(/../g, String.raw`\U000000$&`)],
    ['gzip within base64 of cloud-init', `user-data: ${gzipSync(`token: ${VALUE}\n`).toString('base64')}`],
    ['base64 within base64', `.dockerconfigjson: ${base64(`{"auth":"${base64(`admin:${VALUE}`)}"}`)}`],
    ['base64 behind what looks like it', `https://x.example.org/a/${base64(VALUE)}`],
    ['base64 in JSON in percent encoding', `%7B%22x%22%3A%22${base64(`-${VALUE}-`)}%22%7D`],
    ['a Unicode escape in percent encoding, twice', `%255Cu0061${VALUE.slice(1)}`],
    ['JSON in UTF-16', [...String.raw`x\n${VALUE}`].join('\0')],
  ];
  test.each(encoded)('in %s', (_, line) => {
    expect(values(line)).toContain(VALUE);
  });

  test.each(encoded)('in %s, in a line with escapes of every kind', (_, line) => {
    expect(values(`\x1b[32mok\x1b[m ${everyEscape} ${line} ${everyEscape}`)).toContain(VALUE);
  });

  test('of other lengths count where they are called tokens, or stand alone', () => {
    expect(values('Bearer short-but_long.enough')).toEqual(['short-but_long.enough']);
    expect(values('short-but_long.enough')).toEqual(['short-but_long.enough']);
  });

  test.each([
    'a commit 3f786850e387550fdab836ed7e6dc881de23001b of somebody',
    'AKIAIOSFODNN7EXAMPLE is of another system',
    `x${VALUE} and ${VALUE}x are longer`,
    'nothing at all',
    '',
  ])('of other systems are left alone: %s', (line) => {
    expect(values(line)).toEqual([]);
  });
});

/** Looks for tokens as the command does. */
async function find(at: Awaited<ReturnType<typeof incidentFixture>>, ...texts: readonly string[]) {
  const change = () => Promise.resolve(at.common);
  return findLeaked({ ...at.common, input: await readLeaked(lines(...texts)), change });
}

describe('leaked tokens', () => {
  test('are found once, with the lines that they stand in, and exactly the live ones are revoked', async () => {
    await using at = await incidentFixture('database');
    const { target } = at;
    target.secrets
      .set(VALUE, { kind: 'access_token', ids: [4] })
      .set(OTHER, { kind: 'refresh_token', ids: [1] });
    const text = ['first', `a ${VALUE}`, `${OTHER}`, `again ${VALUE} and ${VALUE}`, '0'.repeat(30)];
    const leaked = await find(at, ...text);
    expect(leaked).toMatchObject({ lines: 5, values: 3, how: 'by_hash' });
    expect(leaked.found).toMatchObject([
      { kind: 'access_token', live: true, ids: [4], user: 'alice', lines: [2, 4] },
      { kind: 'refresh_token', live: true, ids: [1], lines: [3] },
    ]);
    expect(JSON.stringify(leaked)).not.toContain(VALUE);
    const plan = await planLeaked({ target, description: target.self, leaked, includeOwn: false });
    expect(plan).toMatchObject({ tokenIds: [4], refreshTokenIds: [1] });
    expect(await revokeTokens({ ...at.common, plan })).toMatchObject({ revoked: 1, verified: true });
    expect([...target.alive.keys()]).toEqual([1, 2, 3, 5]);
    expect(target.refresh.rows.get(1)?.revoked).not.toBeNull();
    expect(target.refresh.rows.get(2)?.revoked).toBeNull();
    expect(JSON.stringify(await at.entries())).not.toContain(VALUE);
  });

  test('that are refresh tokens are live, expired, orphaned or revoked, and all but the last are revoked', async () => {
    await using at = await incidentFixture('database');
    const { target } = at;
    target.self = { ...target.self, dialect: 'controller', version: '24.6.1' };
    const month = new Date(stillClock.now().getTime() - 32 * 86_400_000);
    const refresh = (id: number, fields: object) => {
      const value = `${String(id).padStart(2, '0')}cdefghijABCDEFGHIJ0123456789`;
      target.refresh.rows.set(id, refreshToken({ id, ...fields }));
      target.secrets.set(value, { kind: 'refresh_token', ids: [id] });
      return value;
    };
    const leaked = await find(
      at,
      refresh(11, { accessTokenId: 2 }),
      refresh(12, { accessTokenId: 3, created: month }),
      refresh(13, { accessTokenId: null }),
      refresh(14, { accessTokenId: null, revoked: month }),
    );
    expect(leaked.found.map(({ state, live }) => [state, live])).toEqual([
      ['live', true],
      ['expired', false],
      ['orphaned', false],
      ['revoked', false],
    ]);
    const plan = await planLeaked({ target, description: target.self, leaked, includeOwn: false });
    expect(plan.refreshTokenIds).toEqual([11, 12, 13]);
  });

  test('that could be one of several are not revoked', async () => {
    await using at = await incidentFixture('rest');
    const { target } = at;
    target.secrets.set(VALUE, { kind: 'access_token', ids: [2, 3] });
    const leaked = await find(at, VALUE);
    expect(leaked.found).toMatchObject([{ live: true, ids: [2, 3] }]);
    expect(
      (await planLeaked({ target, description: target.self, leaked, includeOwn: false })).tokenIds,
    ).toEqual([]);
  });

  test.each([
    ['rest', [VALUE], 2],
    ['database', ['ghp_aSecretOfAnotherSystem0123456789abcd', 'short-but_long.enough', VALUE], 0],
  ] as const)('over %s, no secret of another system is sent to be tried', async (kind, sent, notSent) => {
    await using at = await incidentFixture(kind);
    const { target } = at;
    target.secrets.set(VALUE, { kind: 'access_token', ids: [4] });
    const asked: string[] = [];
    const identify = target.identify.bind(target);
    target.identify = (some: readonly Secret[]) => {
      asked.push(...some.map((value) => value.reveal()));
      return identify(some);
    };
    const texts = ['Bearer ghp_aSecretOfAnotherSystem0123456789abcd', 'Bearer short-but_long.enough', VALUE];
    const leaked = await find(at, ...texts);
    expect(asked).toEqual(sent);
    expect(leaked).toMatchObject({ values: 3, notSent, found: [{ ids: [4], lines: [3] }] });
  });

  test("the tool's own is kept unless it is meant", async () => {
    await using at = await incidentFixture('rest');
    const { target } = at;
    target.own = [2];
    target.secrets.set(VALUE, { kind: 'access_token', ids: [2] });
    const leaked = await find(at, VALUE);
    const plan = (includeOwn: boolean) =>
      planLeaked({ target, description: target.self, leaked, includeOwn });
    expect(await plan(false)).toMatchObject({ tokenIds: [], kept: [{ tokenId: 2 }] });
    expect(await plan(true)).toMatchObject({ tokenIds: [2], ownTokenIds: [2] });
  });
});

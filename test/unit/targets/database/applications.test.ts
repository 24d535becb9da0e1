import { createCipheriv, createDecipheriv, createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, it } from 'vitest';
import { GITHUB, LAYOUTS, testDatabase } from '../../../support/test-database.ts';

const KEY = new Secret('the secret key of a test');

/** A Fernet token with AES-256, built here by its specification: version, time, IV, ciphertext, HMAC. */
function encrypted(value: string, key: Secret): string {
  const digest = createHash('sha512').update(`${key.reveal()}value`).digest();
  const iv = Buffer.alloc(16, 7);
  const cipher = createCipheriv('aes-256-cbc', digest.subarray(32), iv);
  const body = Buffer.concat([
    Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0, 1]),
    iv,
    cipher.update(value),
    cipher.final(),
  ]);
  const signed = Buffer.concat([body, createHmac('sha256', digest.subarray(0, 32)).update(body).digest()]);
  const text = signed.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
  return `$encrypted$UTF8$AESCBC$${Buffer.from(text).toString('base64')}`;
}

function decrypted(stored: string, key: Secret): string {
  const digest = createHash('sha512').update(`${key.reveal()}value`).digest();
  const text = Buffer.from(stored.replace('$encrypted$UTF8$AESCBC$', ''), 'base64').toString();
  const token = Buffer.from(text, 'base64url');
  const body = token.subarray(0, -32);
  expect(createHmac('sha256', digest.subarray(0, 32)).update(body).digest()).toEqual(token.subarray(-32));
  const decipher = createDecipheriv('aes-256-cbc', digest.subarray(32), body.subarray(9, 25));
  return decipher.update(body.subarray(25)).toString() + decipher.final().toString();
}

describe.each(LAYOUTS)('applications in the database of a %s', (layout) => {
  const place = testDatabase(layout);

  const column = async (name: string) => {
    const { applications } = place.tables;
    const [row] = await place.database.query<{ value: string }>(
      `SELECT a.${name} AS value FROM ${applications} a WHERE a.id = $1`,
      [GITHUB],
    );
    return row?.value ?? '';
  };
  const make = (type: string, secret: string) =>
    place.database.execute(
      `UPDATE ${place.tables.applications} SET client_type = $2, client_secret = $3 WHERE id = $1`,
      [GITHUB, type, secret],
    );
  const entries = async () => {
    const [row] = await place.database.query<{ n: number }>(
      `SELECT count(*) AS n FROM ${place.tables.activity}`,
    );
    return row?.n ?? 0;
  };

  it('shows one, without its secret', async () => {
    const shown = await place.target.applications.find(GITHUB);
    expect(shown).toMatchObject({ id: GITHUB, name: 'github', clientId: 'github', redirectUris: [] });
    expect(Object.keys(shown ?? {})).not.toContain('clientSecret');
    expect(await place.target.applications.find(999)).toBeNull();
  });

  it('has no secret to replace of a public client', async () => {
    await make('public', 'nothing');
    await expect(place.target.applications.replaceSecret?.(GITHUB, KEY)).rejects.toMatchObject({
      code: 'unsupported',
    });
    expect(await column('client_secret')).toBe('nothing');
  });

  it('stores a new secret as its own program does, and records it', async () => {
    const before = { gateway: 'pbkdf2_sha256$600000$salt$key', service: '0'.repeat(64) };
    await make('confidential', layout === 'gateway' ? before.gateway : encrypted('old', KEY));
    const known = await entries();
    const secret = (await place.target.applications.replaceSecret?.(GITHUB, KEY))?.reveal() ?? '';
    expect(secret).toMatch(/^[A-Za-z0-9]{128}$/);
    const stored = await column('client_secret');
    if (layout === 'gateway') {
      const [, rounds, salt = '', key] = stored.split('$');
      expect(pbkdf2Sync(secret, salt, Number(rounds), 32, 'sha256').toString('base64')).toBe(key);
    } else if (layout === 'service') {
      expect(stored).toBe(createHash('sha256').update(secret).digest('hex'));
    } else expect(decrypted(stored, KEY)).toBe(secret);
    expect(await entries()).toBe(known + 1);
  });

  it.runIf(layout === 'controller')('changes nothing with another key, or without one', async () => {
    const stored = encrypted('old', KEY);
    await make('confidential', stored);
    for (const key of [new Secret('another key'), undefined]) {
      await expect(place.target.applications.replaceSecret?.(GITHUB, key)).rejects.toMatchObject({
        code: 'configuration',
      });
    }
    expect(await column('client_secret')).toBe(stored);
  });

  it('deletes one with all that refers to it, and leaves the others', async () => {
    const [mine = 0] = await place.tokens(1, { application_id: String(GITHUB) });
    const [other = 0] = await place.tokens(1);
    const refresh = [await place.refreshToken(mine), await place.refreshToken(null, true)];
    await place.authorizationCode(10);
    const known = await entries();
    expect(await place.target.applications.delete(GITHUB)).toBe(true);
    const ids = async (table: string) =>
      (await place.database.query<{ id: number }>(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id);
    expect(await ids(place.tables.accessTokens)).toEqual([other]);
    expect(await ids(place.tables.refreshTokens)).toEqual([]);
    expect(refresh).toHaveLength(2);
    expect(await ids(place.tables.authorizationCodes)).toEqual([]);
    expect((await place.target.applications.list()).map(({ name }) => name)).toEqual(['gitlab']);
    expect(await entries()).toBeGreaterThan(known + 1);
    expect(await place.target.applications.delete(GITHUB)).toBe(false);
  });
});

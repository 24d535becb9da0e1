import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeKeyPair } from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { exportJWK, importPKCS8, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requireKeysIn, TransmitterKeys } from '../../src/security-events/transmitter-keys.ts';
import { signatureAlgorithms, verifyRevocationCaller } from '../../src/security-events/verify-token.ts';
import { KeysUnavailable } from '../../src/signals/signal-refusal.ts';

const issuer = 'https://example.okta.com';
const audience = 'https://tokenctl.example.com/global-token-revocation';
const [one, other] = [makeKeyPair('one'), makeKeyPair('other')];
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let file: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'okta.pem');
});
afterAll(() => folder[Symbol.asyncDispose]());

/** The token of a caller, signed as Okta signs for an application with SAML: with a name of the key that no certificate has. */
async function verify(key: string) {
  const token = await new SignJWT({ jti: 'j-1' })
    .setProtectedHeader({ alg: 'RS256', kid: 'a-name-of-okta', typ: 'global-token-revocation+jwt' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(await importPKCS8(key, 'RS256'));
  const keys = new TransmitterKeys().at({ file });
  const expected = { issuer, audiences: [audience], algorithms: signatureAlgorithms, keys };
  return await verifyRevocationCaller(token, expected);
}

test('a signature fits the certificate in a file, or one of several', async () => {
  await writeFile(file, one.certificate);
  expect(await verify(one.key)).toMatchObject({ issuer, id: 'j-1' });
  await expect(verify(other.key)).rejects.toMatchObject({ code: 'invalid_key' });
  await writeFile(file, `Bag Attributes\n${one.certificate}\n${other.certificate}`);
  for (const { key } of [one, other]) expect(await verify(key)).toMatchObject({ issuer });
});

test('a JWK Set in a file names its keys', async () => {
  const key = await importPKCS8(one.key, 'RS256', { extractable: true });
  const { kty, n, e } = await exportJWK(key);
  await writeFile(file, JSON.stringify({ keys: [{ kty, n, e, kid: 'another-name' }] }));
  await expect(verify(one.key)).rejects.toMatchObject({ code: 'invalid_key' });
  await writeFile(file, JSON.stringify({ keys: [{ kty, n, e, kid: 'a-name-of-okta' }] }));
  expect(await verify(one.key)).toMatchObject({ issuer });
});

test('a file without keys is refused at the start', async () => {
  await writeFile(file, one.certificate);
  await requireKeysIn(file);
  for (const text of ['neither of both', '{}']) {
    await writeFile(file, text);
    await expect(requireKeysIn(file)).rejects.toMatchObject({ code: 'configuration' });
  }
  await expect(requireKeysIn(`${file}.missing`)).rejects.toThrow('okta.pem.missing (ENOENT)');
});

test('a file that cannot be read refuses nothing for good', async () => {
  await writeFile(file, 'neither of both');
  await expect(verify(one.key)).rejects.toThrow(KeysUnavailable);
});

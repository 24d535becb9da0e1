import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { listenOnLoopback } from '@tokenctl/testing/sso/http-server.ts';
import { startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import { AUDIENCE } from '@tokenctl/testing/transmitter.ts';
import { expect, onTestFinished, test } from 'vitest';
import { IssuerKeys } from '../../src/security-events/issuer-keys.ts';
import { signatureAlgorithms, verifyIdentity } from '../../src/security-events/verify-token.ts';

const verify = (issuer: string, token: string) =>
  verifyIdentity(token, {
    ...{ issuer, audiences: [AUDIENCE], algorithms: signatureAlgorithms, maxAge: 600 },
    keys: new IssuerKeys().of({ url: issuer }),
  });

test('oidc-provider: what it gives a client for this audience is accepted, and what it gives for another is not', async () => {
  const provider = await startOpenIdProvider({
    ...{ accounts: {}, path: '/tenant', machines: true },
    clients: [{ clientId: 'pipeline', clientSecret: 'a secret', redirectUris: ['https://x.example/cb'] }],
  });
  onTestFinished(() => provider.close());
  const tokenFor = async (resource: string) => {
    const form = {
      ...{ grant_type: 'client_credentials', resource },
      ...{ client_id: 'pipeline', client_secret: 'a secret' },
    };
    const response = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    return ((await response.json()) as { readonly access_token: string }).access_token;
  };
  expect(await verify(provider.issuer, await tokenFor(AUDIENCE))).toMatchObject({
    iss: provider.issuer,
    sub: 'pipeline',
    aud: AUDIENCE,
  });
  await expect(verify(provider.issuer, await tokenFor('https://other.example'))).rejects.toMatchObject({
    code: 'invalid_audience',
  });
});

/** The Python of the system has it as python3-jwt. */
const PYTHON = '/usr/bin/python3';

function hasPyJwt(): boolean {
  try {
    execFileSync(PYTHON, ['-c', 'import jwt, cryptography'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasPyJwt())(
  'PyJWT: what it signs is accepted, and what it signs with another key is not',
  async () => {
    const script = `import json, sys, time, jwt
o = json.load(sys.stdin); now = int(time.time())
claims = {"iss": o["iss"], "aud": o["aud"], "sub": "project_path:acme/infra", "jti": "1", "iat": now, "nbf": now, "exp": now + 300}
print(jwt.encode(claims, o["key"], algorithm=o["alg"], headers={"kid": "only"}))`;
    for (const [alg, make] of [
      ['RS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
      ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
      ['EdDSA', () => generateKeyPairSync('ed25519')],
    ] as const) {
      const [own, other] = [make(), make()];
      const jwk = { ...own.publicKey.export({ format: 'jwk' }), kid: 'only', alg, use: 'sig' };
      const issuer = await listenOnLoopback((url) => ({ url: path }, response) => {
        const body = path === '/keys' ? { keys: [jwk] } : { issuer: url, jwks_uri: `${url}/keys` };
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      });
      onTestFinished(() => issuer.close());
      const sign = ({ privateKey }: typeof own) => {
        const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
        const input = JSON.stringify({ iss: issuer.url, aud: AUDIENCE, key, alg });
        return execFileSync(PYTHON, ['-c', script], { input, encoding: 'utf8' }).trim();
      };
      expect(await verify(issuer.url, sign(own))).toMatchObject({ sub: 'project_path:acme/infra' });
      await expect(verify(issuer.url, sign(other))).rejects.toMatchObject({ code: 'invalid_key' });
    }
  },
);

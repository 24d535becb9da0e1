// A process of its own: Fastify with one route that refreshes tokens in DATABASE_URL by the statements that the service
// uses, one after the other, and without anything else that a service does.

import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { hashToken, randomText } from '@tokenctl/service/auth/secret-hashes.ts';
import { readForms } from '@tokenctl/service/request.ts';
import { currentSettings } from '@tokenctl/service/settings/settings.ts';
import { findClient } from '@tokenctl/service/store/applications.ts';
import { findRefreshToken, rotateRefreshToken } from '@tokenctl/service/store/refresh-tokens.ts';
import Fastify from 'fastify';

const database = await openPostgres({
  url: new Secret(process.env['DATABASE_URL'] ?? ''),
  applicationName: 'bench',
});
const app = Fastify();
readForms(app);
app.post<{ Body: { client_id: string; refresh_token: string } }>('/', async ({ body }, reply) => {
  const client = await findClient(database, body.client_id);
  const { OAUTH2_PROVIDER } = await currentSettings(database);
  const old = await findRefreshToken(database, hashToken(body.refresh_token));
  if (client === null || old?.access_token_id == null || old.scope === null) return reply.code(400).send();
  const [access, refresh] = [randomText(30), randomText(30)];
  const at = new Date();
  const lifetime = OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS;
  const pair = {
    at,
    client,
    node: 'bench',
    scope: old.scope,
    accessToken: hashToken(access),
    refreshToken: hashToken(refresh),
    expires: new Date(at.getTime() + lifetime * 1000),
  };
  const isRotated = await rotateRefreshToken(database, pair, {
    id: old.id,
    accessTokenId: old.access_token_id,
  });
  return isRotated ? { access_token: access, refresh_token: refresh } : reply.code(400).send();
});
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
process.once('disconnect', () => process.exit());

import type { FastifyInstance } from 'fastify';
import { visibleTokens } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Handler, serveEndpoint } from '../endpoint.ts';
import { listTokens } from '../resources/tokens.ts';
import { seenUser } from '../resources/users.ts';

/** `/users/N/personal_tokens/` and `/users/N/authorized_tokens/`: N's tokens as far as the caller sees them. */
export function serveGatewayUserTokens(app: FastifyInstance, service: ServiceContext): void {
  const { api, id, fields } = service.dialect;
  const serve = (path: string, name: string, condition: 'IS NULL' | 'IS NOT NULL') =>
    serveEndpoint(app, service, {
      path: `${api}users/${id}/${path}/`,
      name,
      description: 'Those tokens of this user that you may see.',
      fields: fields.token,
      handlers: { GET: tokensOf(condition) },
    });
  serve('personal_tokens', 'Personal access tokens', 'IS NULL');
  serve('authorized_tokens', 'Authorized tokens', 'IS NOT NULL');
}

function tokensOf(application: 'IS NULL' | 'IS NOT NULL'): Handler {
  return async (exchange) => {
    const owner = await seenUser(exchange);
    const visible = visibleTokens(exchange.caller.user, 2);
    return listTokens(exchange, {
      sql: `t.user_id = $1 AND t.application_id ${application} AND (${visible.sql})`,
      values: [owner.id, ...visible.values],
    });
  };
}

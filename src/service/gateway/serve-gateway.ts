import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { serveGatewayActivity } from './activity.ts';
import { serveGatewayAssociations } from './associations.ts';
import { serveGatewayRoots } from './roots.ts';
import { serveGatewaySettings } from './settings.ts';
import { serveGatewayUserTokens } from './user-tokens.ts';

/** What a gateway has and a controller has not, or has in another form. */
export function serveGateway(app: FastifyInstance, service: ServiceContext): void {
  serveGatewayRoots(app, service);
  serveGatewayUserTokens(app, service);
  serveGatewayAssociations(app, service);
  serveGatewaySettings(app, service);
  serveGatewayActivity(app, service);
}

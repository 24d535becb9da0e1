import { TokenctlError } from '../../domain/errors.ts';
import { jsonOf, notAController } from './answer-failure.ts';
import { Api } from './api.ts';
import { readRoot } from './bodies.ts';
import type { Connection } from './connection.ts';
import { controller } from './dialects/controller.ts';
import { gateway } from './dialects/gateway.ts';

/** A part of a platform that keeps tokens. */
export type Component = 'gateway' | 'controller';

const COMPONENTS: readonly Component[] = ['gateway', 'controller'];

/**
 * Finds out who answers: a controller by itself, or the gateway of a platform, which passes requests on to its
 * controller. `/api/` tells: a controller's own version, or the list of a platform's APIs.
 *
 * @param component Which one is meant. Without it the gateway where one answers, else the controller.
 * @throws TokenctlError `unsupported` where there is no such component, `target_misbehaved` for what is neither,
 * and as requests do.
 */
export async function recognize(connection: Connection, component?: Component): Promise<Api> {
  const what = 'the list of its APIs';
  const answer = await connection.send({ method: 'GET', path: '/api/' });
  if (answer.status === 404) throw notAController(connection, what);
  const root = readRoot(jsonOf(answer, connection, what));
  if (root === null) throw isNeither(connection);
  if (root === 'controller') {
    if (component === 'gateway') throw hasNone(connection, component);
    return new Api({ connection, dialect: controller, place: '', root: '/api/v2/' });
  }
  const components = COMPONENTS.filter((name) => root.includes(name));
  const meant = component ?? components[0];
  if (meant === undefined || !components.includes(meant)) throw hasNone(connection, meant ?? 'gateway');
  return meant === 'gateway' ? gatewayOf(connection, components) : controllerBehind(connection, components);
}

function gatewayOf(connection: Connection, components: readonly Component[]): Api {
  return new Api({ connection, components, dialect: gateway, place: '', root: '/api/gateway/v1/' });
}

function controllerBehind(connection: Connection, components: readonly Component[]): Api {
  return new Api({
    connection,
    components,
    dialect: controller,
    place: '/api/controller',
    root: '/api/controller/v2/',
    ...(components.includes('gateway') && { gateway: gatewayOf(connection, components) }),
  });
}

function isNeither({ address }: Connection): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `${address} does not answer as a controller or gateway does`,
    {
      hint: 'Check host, port and path of the address.',
    },
  );
}

function hasNone({ address }: Connection, component: Component): TokenctlError {
  return new TokenctlError('unsupported', `There is no ${component} at ${address}`, {
    hint:
      component === 'gateway'
        ? 'Check the address, or leave out that a gateway is meant.'
        : 'The platform gateway there lists none: its own tokens are all that there are.',
  });
}

import { TokenctlError } from '../../core/errors.ts';
import type { TargetDescription } from '../../operations/ports/target-description.ts';
import { isJson, jsonOf, notAController } from './answer-failure.ts';
import { readActions, readDialect, readMe, readVersion } from './bodies.ts';
import type { Connection } from './connection.ts';
import { takesActive } from './user-active.ts';

/** Each token is a request: enough of them to keep the connections busy while the log is written. */
const BATCH_SIZE = 250;

/**
 * Finds out who answers, and who the caller is there.
 *
 * @throws TokenctlError `unsupported` for a platform gateway, `target_misbehaved` for what is no
 * controller, and as requests do.
 */
export async function describeController(
  connection: Connection,
  context: string,
): Promise<TargetDescription> {
  const ask = async (path: string, what: string) => {
    const answer = await connection.send({ method: 'GET', path });
    if (answer.status === 404) throw notAController(connection, what);
    return jsonOf(answer, connection, what);
  };
  const dialect = readDialect(await ask('/api/', 'the list of its APIs'));
  if (dialect === 'gateway') throw isGateway(connection);
  const version = readVersion(await ask('/api/v2/ping/', 'its version'));
  const me = readMe(await ask('/api/v2/me/', 'who the caller is'));
  if (dialect === null || version === null || me === null) {
    throw new TokenctlError(
      'target_misbehaved',
      `${connection.address} does not answer as a controller does`,
      {
        hint: 'Check host, port and path of the address.',
      },
    );
  }
  const { id, username, isSuperuser, isSystemAuditor = false } = me;
  const [changes, takes] = await Promise.all([
    mayChange(connection),
    isSuperuser ? takesActive(connection) : false,
  ]);
  return {
    context,
    address: connection.address,
    dialect,
    version,
    identity: { id, username, isSuperuser, isSystemAuditor },
    credential: connection.credential.kind,
    transport: connection.transport,
    capabilities: {
      refreshTokens: false,
      sessions: false,
      lastUsed: false,
      settings: isSuperuser || isSystemAuditor,
      settingsHold: 'at_once',
      createTokens: changes,
      deactivateUsers: changes && takes,
      identifies: 'by_trying',
      changes,
      batchSize: BATCH_SIZE,
    },
    missingRights: [],
  };
}

/**
 * Whether the credential may change things. A controller does not tell a token's scope to its bearer; but
 * its OPTIONS leaves out what the scope does not allow. Where that cannot be read, it counts as allowed: the
 * attempt will tell.
 */
async function mayChange(connection: Connection): Promise<boolean> {
  if (connection.credential.kind === 'password') return true;
  const answer = await connection.send({ method: 'OPTIONS', path: '/api/v2/tokens/' });
  if (answer.status !== 200 || !isJson(answer)) return true;
  const actions = readActions(jsonOf(answer, connection, 'what can be done there'));
  return actions === null || 'POST' in actions;
}

function isGateway({ address }: Connection): TokenctlError {
  return new TokenctlError(
    'unsupported',
    `${address} is a platform gateway, which this version does not administer`,
    {
      hint: 'Use the address of the controller itself.',
    },
  );
}

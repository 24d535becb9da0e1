import { TokenctlError } from '../../domain/errors.ts';
import type { TargetDescription } from '../../operations/ports/target-description.ts';
import { isJson, jsonOf, notAController } from './answer-failure.ts';
import type { Api } from './api.ts';
import { readActions, readMe, readVersion } from './bodies.ts';
import { takesActive } from './user-active.ts';

/** Each token is a request: enough of them to keep the connections busy while the log is written. */
const BATCH_SIZE = 250;

/**
 * Finds out which version answers, and who the caller is there.
 *
 * @throws TokenctlError `target_misbehaved` for what is neither a controller nor a gateway, and as requests do.
 */
export async function describeApi(api: Api, context: string): Promise<TargetDescription> {
  const { dialect, components } = api;
  const ask = async (path: string, what: string) => {
    const answer = await api.send({ method: 'GET', path });
    if (answer.status === 404) throw notAController(api, what);
    return jsonOf(answer, api, what);
  };
  const version = readVersion(await ask('ping/', 'its version'));
  const me = readMe(await ask('me/', 'who the caller is'), dialect);
  if (me === null) {
    throw new TokenctlError('target_misbehaved', `${api.address} does not answer as a ${dialect.name} does`, {
      hint: 'Check host, port and path of the address.',
    });
  }
  const { id, username, isSuperuser, isSystemAuditor = false } = me;
  const [changes, takes] = await Promise.all([mayChange(api), isSuperuser ? takesActive(api) : false]);
  return {
    context,
    address: api.address,
    dialect: dialect.name,
    ...(components !== undefined && { components }),
    version,
    identity: { id, username, isSuperuser, isSystemAuditor },
    credential: api.credential.kind,
    transport: api.transport,
    capabilities: {
      refreshTokens: false,
      sessions: false,
      lastUsed: dialect.tellsLastUse,
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
async function mayChange(api: Api): Promise<boolean> {
  if (api.credential.kind === 'password') return true;
  const answer = await api.send({ method: 'OPTIONS', path: 'tokens/' });
  if (answer.status !== 200 || !isJson(answer)) return true;
  const actions = readActions(jsonOf(answer, api, 'what can be done there'));
  return actions === null || 'POST' in actions;
}

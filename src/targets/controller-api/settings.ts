import { TokenctlError } from '../../core/errors.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import { jsonOf } from './answer-failure.ts';
import { readSettings } from './bodies.ts';
import type { Connection } from './connection.ts';

const PATH = '/api/v2/settings/authentication/';

/** Reads the authentication settings; superusers and system auditors may. */
export async function fetchSettings(connection: Connection): Promise<AuthenticationSettings> {
  const answer = await connection.send({ method: 'GET', path: PATH });
  return settingsOf(connection, jsonOf(answer, connection, 'its authentication settings'));
}

/** Changes the given settings and leaves the others; superusers may. */
export async function patchSettings(
  connection: Connection,
  change: Partial<AuthenticationSettings>,
): Promise<AuthenticationSettings> {
  const answer = await connection.send({ method: 'PATCH', path: PATH, json: change });
  if (answer.status === 400) {
    throw new TokenctlError(
      'unsupported',
      `${connection.address} refuses ${Object.keys(change).join(', ')} with this value`,
    );
  }
  return settingsOf(connection, jsonOf(answer, connection, 'a change of its authentication settings'));
}

function settingsOf(connection: Connection, body: unknown): AuthenticationSettings {
  const settings = readSettings(body);
  if (settings !== null) return settings;
  throw new TokenctlError(
    'target_misbehaved',
    `${connection.address} sent authentication settings that are not a controller's`,
  );
}

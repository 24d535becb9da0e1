import { TokenctlError } from '../../domain/errors.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import { jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';

/** Reads the authentication settings; superusers and auditors may. */
export async function fetchSettings(api: Api): Promise<AuthenticationSettings> {
  const answer = await api.send({ method: 'GET', path: api.dialect.settings.path });
  return settingsOf(api, jsonOf(answer, api, 'its authentication settings'));
}

/**
 * Changes the given settings and leaves the others; superusers may.
 *
 * @throws TokenctlError `unsupported` for a setting or a value that there is not, and as requests do.
 */
export async function changeSettings(
  api: Api,
  change: Partial<AuthenticationSettings>,
): Promise<AuthenticationSettings> {
  const { method, path, bodyOf } = api.dialect.settings;
  const answer = await api.send({ method, path, json: bodyOf(change) });
  if (answer.status === 400) {
    throw new TokenctlError(
      'unsupported',
      `${api.address} refuses ${Object.keys(change).join(', ')} with this value`,
    );
  }
  return settingsOf(api, jsonOf(answer, api, 'a change of its authentication settings'));
}

function settingsOf({ address, dialect }: Api, body: unknown): AuthenticationSettings {
  const settings = dialect.settings.read(body);
  if (settings !== null) return settings;
  throw new TokenctlError(
    'target_misbehaved',
    `${address} sent authentication settings that are not a ${dialect.name}'s`,
  );
}

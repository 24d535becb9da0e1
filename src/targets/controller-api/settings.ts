import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuthenticationSettings, Patience } from '../../operations/ports/target-parts.ts';
import type { Api } from './api.ts';
import { parseJson, unknownFormat } from './responses.ts';

/** Reads the authentication settings, which superusers and auditors may. Throws `target_misbehaved` without any. */
export async function readSettings(api: Api, patience?: Patience): Promise<AuthenticationSettings> {
  const { path } = api.dialect.settings;
  return settingsIn(await api.getJson(path, 'its authentication settings', patience), api);
}

/** Changes only the given settings, which superusers may. Throws `unsupported` for an unknown setting or value. */
export async function writeSettings(
  api: Api,
  change: Partial<AuthenticationSettings>,
): Promise<AuthenticationSettings> {
  const { method, path, toBody } = api.dialect.settings;
  // The setting's name differs between gateways.
  const isNamedBy = (change.MAX_EXTRA_SESSIONS_PER_USER ?? null) !== null;
  const body = toBody(change, isNamedBy ? await presentSettings(api) : {});
  const response = await api.send({ method, path, json: body });
  if (response.status === 400) {
    throw new TokenctlError(
      'unsupported',
      `${api.answeredBy()} rejected the value of ${Object.keys(change).join(', ')}`,
    );
  }
  return settingsIn(parseJson(response, api, 'a change to its authentication settings'), api);
}

/** The settings of the target, under its own names. */
async function presentSettings(api: Api): Promise<object> {
  const body = await api.getJson(api.dialect.settings.path, 'its authentication settings');
  return typeof body === 'object' && body !== null ? body : {};
}

function settingsIn(body: unknown, { address, dialect }: Api): AuthenticationSettings {
  const settings = dialect.settings.read(body);
  if (settings !== null) return settings;
  throw unknownFormat(`${address} sent authentication settings that do not match a ${dialect.name}'s`);
}

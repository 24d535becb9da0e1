import { Secret } from '@tokenctl/common/secret.ts';
import { type SecretStore, sameValue, storeChanged } from '../operations/ports/secret-store.ts';
import { membersOf, StoreClient, type StoreRequest } from './store-client.ts';

/** How tokenctl logs in to Vault: with its own token, or one per use that it revokes afterwards. */
export type VaultLogin =
  | { readonly token: Secret }
  | { readonly mount: string; readonly credentials: () => Readonly<Record<string, Secret | string>> };

export interface VaultStoreOptions {
  readonly url: URL;
  /** The trusted authorities in PEM. */
  readonly ca: string | undefined;
  /** A namespace of Vault Enterprise or OpenBao. */
  readonly namespace: string | undefined;
  /** The mount path of the engine. */
  readonly mount: string;
  /** The path of the secret below it. */
  readonly path: string;
  readonly key: string;
  readonly login: VaultLogin;
}

const MAX_ATTEMPTS = 3;

/**
 * A key of a secret in HashiCorp Vault or OpenBao (KV engine, version 2). Each write is a new version with
 * check-and-set, so that no other writer's value is replaced; other keys of the secret are written back unchanged.
 * Needs `read` and `create`, `update` on the data path. A token from a login is revoked after its use; one from a
 * file is neither renewed nor revoked (https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2).
 */
export function vaultStore(options: VaultStoreOptions, called: string): SecretStore {
  const { url, ca, namespace, mount, path, key, login } = options;
  const name = `${called} (${mount}/${path} at ${url.host})`;
  const client = new StoreClient(name, url, ca === undefined ? {} : { ca });
  const place = `v1/${encoded(mount)}/data/${encoded(path)}`;
  const common = {
    'x-vault-request': 'true',
    ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
  };
  const rights = `read, create and update on ${mount}/data/${path}`;

  const send = async (token: Secret, request: Omit<StoreRequest, 'headers'>) =>
    await client.send({ ...request, headers: { ...common, 'x-vault-token': token.reveal() } });

  const using = async <Result>(signal: AbortSignal | undefined, act: (token: Secret) => Promise<Result>) => {
    if ('token' in login) return await act(login.token);
    const token = await logIn(client, { login, common, signal });
    try {
      return await act(token);
    } finally {
      // The token expires by itself if this fails.
      await send(token, { method: 'POST', path: 'v1/auth/token/revoke-self', signal: undefined }).catch(
        () => undefined,
      );
    }
  };

  const readWhole = async (token: Secret, signal: AbortSignal | undefined) => {
    const { status, body } = await send(token, { method: 'GET', path: place, signal });
    const { data, metadata } = membersOf(membersOf(body)['data']);
    // A deleted version is answered with 404 and its metadata: the next write continues its count. Without
    // any version, 404 has no error; with an error, the namespace or engine does not exist.
    const { version = isNothing(body) ? 0 : undefined } = membersOf(metadata);
    if (status !== 200 && (status !== 404 || version === undefined)) throw client.refusal(status, rights);
    if (typeof version !== 'number')
      throw client.misbehaved(`has no versions: ${mount} is not a KV version 2 engine`);
    const found = status === 200 ? membersOf(data) : {};
    const value = found[key];
    if (value !== undefined && typeof value !== 'string')
      throw client.misbehaved(`has a value in ${key} that is not text`);
    return { version, all: found, value: value === undefined || value === '' ? null : new Secret(value) };
  };

  return {
    name,
    read: async (signal) => (await using(signal, (token) => readWhole(token, signal))).value,
    write: (value, over, signal) =>
      using(signal, async (token) => {
        // Another key of the secret may be written meanwhile, which is not a conflict for this one.
        for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
          const now = await readWhole(token, signal);
          if (!sameValue(now.value, over)) throw storeChanged(name);
          const json = { options: { cas: now.version }, data: { ...now.all, [key]: value.reveal() } };
          const { status, body } = await send(token, { method: 'POST', path: place, json, signal });
          if (status === 200) return;
          if (status !== 400 || !isOutdated(body)) throw client.refusal(status, rights);
        }
        throw client.contended();
      }),
  };
}

function isNothing(body: unknown): boolean {
  const { errors } = membersOf(body);
  return Array.isArray(errors) && errors.length === 0;
}

/** Vault reports this only as text: `check-and-set parameter did not match the current version`. */
function isOutdated(body: unknown): boolean {
  const { errors } = membersOf(body);
  return (
    Array.isArray(errors) &&
    errors.some((each) => typeof each === 'string' && each.startsWith('check-and-set'))
  );
}

async function logIn(
  client: StoreClient,
  options: {
    login: Exclude<VaultLogin, { token: Secret }>;
    common: Readonly<Record<string, string>>;
    signal: AbortSignal | undefined;
  },
): Promise<Secret> {
  const { login, common, signal } = options;
  const json = Object.fromEntries(
    Object.entries(login.credentials()).map(([name, value]) => [
      name,
      value instanceof Secret ? value.reveal() : value,
    ]),
  );
  const path = `v1/auth/${encoded(login.mount)}/login`;
  const { status, body } = await client.send({ method: 'POST', path, headers: common, json, signal });
  // A wrong role or secret is answered with 400.
  if (status === 400) throw client.refusal(401, '');
  if (status !== 200) throw client.refusal(status, 'the login');
  const token = membersOf(membersOf(body)['auth'])['client_token'];
  if (typeof token !== 'string' || token === '') throw client.misbehaved('returned no token at login');
  return new Secret(token);
}

/** A path with each segment encoded. */
function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

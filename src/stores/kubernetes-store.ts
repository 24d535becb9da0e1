import { createHash } from 'node:crypto';
import { Secret } from '@tokenctl/common/secret.ts';
import { type SecretStore, sameValue, storeChanged } from '../operations/ports/secret-store.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { membersOf, StoreClient, type StoreRequest } from './store-client.ts';

export interface KubernetesStoreOptions {
  readonly namespace: string;
  readonly secret: string;
  readonly key: string;
  /** Reads the cluster's access. Called for each use, because tokens are renewed in their files. */
  readonly access: () => Promise<ClusterAccess>;
}

/** The maximum length of a field manager's name. */
const MAX_MANAGER = 128;
const MAX_ATTEMPTS = 3;

/**
 * A key of a Kubernetes Secret, written by server-side apply with the field manager `tokenctl.KEY`: other
 * keys, labels and annotations are unchanged. The object's version is sent along, so that no other writer's
 * value is replaced. Needs `get`, `create` and `patch` on secrets
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply).
 */
export function kubernetesStore(options: KubernetesStoreOptions, called: string): SecretStore {
  const { namespace, secret, key, access } = options;
  const name = `${called} (${namespace}/${secret}, key ${key})`;
  const folder = `api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  const place = `${folder}/${encodeURIComponent(secret)}`;
  const rights = `get, create and patch on the secret ${secret} in the namespace ${namespace}`;
  const writer = `fieldManager=${encodeURIComponent(fieldManager(key))}`;

  const open = async () => {
    const { url, authorization, ...connect } = await access();
    const client = new StoreClient(name, url, connect);
    const headers: Readonly<Record<string, string>> =
      authorization === null ? {} : { authorization: authorization.reveal() };
    const send = (request: Omit<StoreRequest, 'headers'>) =>
      client.send({
        ...request,
        headers: {
          ...headers,
          // JSON is valid YAML.
          ...(request.method === 'PATCH' && { 'content-type': 'application/apply-patch+yaml' }),
        },
      });
    const get = async (signal: AbortSignal | undefined) => {
      const { status, body } = await send({ method: 'GET', path: place, signal });
      const { data, metadata, details } = membersOf(body);
      // Any other 404 does not concern the Secret.
      if (status === 404 && membersOf(details)['kind'] === 'secrets') return null;
      if (status !== 200) throw client.refusal(status, rights);
      const { resourceVersion, uid } = membersOf(metadata);
      if (typeof resourceVersion !== 'string') throw client.misbehaved('sent a Secret without a version');
      const text = Buffer.from(String(membersOf(data)[key] ?? ''), 'base64').toString('utf8');
      return { version: { resourceVersion, uid }, value: text === '' ? null : new Secret(text) };
    };
    return { client, send, get };
  };

  return {
    name,
    read: async (signal) => (await (await open()).get(signal))?.value ?? null,
    async write(value, over, signal) {
      const { client, send, get } = await open();
      // Another key of the Secret may be written meanwhile, which is not a conflict for this one.
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const now = await get(signal);
        if (!sameValue(now?.value ?? null, over)) throw storeChanged(name);
        // An apply creates a missing object. With the uid, it does not recreate a deleted one.
        const metadata = { name: secret, namespace, ...now?.version };
        const data = { [key]: Buffer.from(value.reveal()).toString('base64') };
        const json = { apiVersion: 'v1', kind: 'Secret', metadata, data };
        const { status } =
          now === null
            ? await send({ method: 'POST', path: `${folder}?${writer}`, json, signal })
            : // Forced: the writer of the replaced value owns the key, and this value is the one to replace.
              await send({ method: 'PATCH', path: `${place}?${writer}&force=true`, json, signal });
        if (status === 200 || status === 201) return;
        if (status !== 409) throw client.refusal(status, rights);
      }
      throw client.contended();
    },
  };
}

/** One manager for each key, because values that a manager applied before and omits are removed. */
function fieldManager(key: string): string {
  const whole = `tokenctl.${key}`;
  if (whole.length <= MAX_MANAGER) return whole;
  return `tokenctl.${createHash('sha256').update(key).digest('hex')}`;
}

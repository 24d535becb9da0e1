import type { Configuration } from '../config/configuration.ts';
import type { Environment } from '../config/paths.ts';
import { readSecret } from '../config/secrets.ts';
import { type StoreSettings, storeFor, storeSettings } from '../config/stores.ts';
import type { SecretStore } from '../operations/ports/secret-store.ts';
import { credentialVariables } from './exec/program-environment.ts';
import { readNamedFile } from './open-directory.ts';

/** Opens a store for a consumer. Sends nothing yet. Throws `not_found`, `configuration` for unreadable secrets. */
export async function openStore(
  name: string,
  options: {
    configuration: Configuration;
    /** Instead of the configured ones. */
    stores?: Readonly<Record<string, StoreSettings>>;
    consumer: string;
    environment: Environment;
    /** For a file. */
    isPrivate?: boolean;
  },
): Promise<SecretStore> {
  const { configuration, stores = configuration.stores, consumer, environment, isPrivate = false } = options;
  const settings = storeFor(storeSettings(name, stores), consumer);
  const called = `The store ${name}`;
  // A store's programs get none of tokenctl's credentials.
  const forPrograms = () => {
    const own = credentialVariables(configuration);
    return Object.fromEntries(Object.entries(environment).filter(([variable]) => !own.has(variable)));
  };
  switch (settings.kind) {
    case 'file': {
      const { fileStore } = await import('../stores/file-store.ts');
      return fileStore(settings.file, called, { isPrivate });
    }
    case 'vault': {
      const { vaultStore } = await import('../stores/vault-store.ts');
      const { url, caFile, namespace, mount, path, key, login } = settings;
      const ca = caFile === undefined ? undefined : readNamedFile(caFile);
      return vaultStore(
        { url: new URL(url), ca, namespace, mount, path, key, login: vaultLogin(login, environment) },
        called,
      );
    }
    case 'kubernetes': {
      const { kubernetesStore } = await import('../stores/kubernetes-store.ts');
      const { accessByKubeconfig, accessInCluster } = await import('../stores/cluster-access.ts');
      const { namespace, secret, key, kubeconfig } = settings;
      const access = async () =>
        kubeconfig === undefined
          ? accessInCluster(called, environment)
          : await accessByKubeconfig(kubeconfig.file, {
              name: called,
              environment: forPrograms(),
              context: kubeconfig.context,
            });
      return kubernetesStore({ namespace, secret, key, access }, called);
    }
    case 'command': {
      const { commandStore } = await import('../stores/command-store.ts');
      return commandStore({ ...settings, environment: forPrograms() }, called);
    }
  }
}

/** The secrets are re-read at each login, because they may be renewed in their files. */
function vaultLogin(login: Extract<StoreSettings, { kind: 'vault' }>['login'], environment: Environment) {
  if ('token' in login) return { token: readSecret(login.token, environment) };
  if ('appRole' in login) {
    const { roleId, secretId, mount } = login.appRole;
    return { mount, credentials: () => ({ role_id: roleId, secret_id: readSecret(secretId, environment) }) };
  }
  const { role, jwt, mount } = login.kubernetes;
  // Others in the pod can read Kubernetes's file: its mode is not 0600.
  return { mount, credentials: () => ({ role, jwt: readNamedFile(jwt.file).trim() }) };
}

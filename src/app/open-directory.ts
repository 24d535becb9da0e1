import { readFileSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { DirectorySettings, LdapSettings } from '../config/directories.ts';
import type { Environment } from '../config/paths.ts';
import { readSecret, readSecretFile } from '../config/secrets.ts';
import { clientCredentialsToken, serviceAccountToken } from '../directories/access-tokens.ts';
import type { LdapConnection } from '../directories/ldap-connection.ts';
import type { LdapSource } from '../directories/ldap-users.ts';
import { ProviderClient } from '../directories/provider-client.ts';
import type { FindUsers } from '../directories/provider-users.ts';
import type { DirectoryUsers } from '../domain/directory-users.ts';
import { normalizedName } from '../domain/distinguished-name.ts';
import { nearestName } from '../domain/nearest-name.ts';
import type { Directory } from '../operations/ports/directory.ts';

/** How a kind of provider is reached, read and queried. */
interface Provider {
  readonly url: string;
  readonly authorization: () => Promise<Secret>;
  readonly adapter: () => Promise<{
    readonly read: (client: ProviderClient) => Promise<DirectoryUsers>;
    readonly find: FindUsers;
  }>;
}

/** Opens a directory. Sends nothing yet. Throws `not_found`, `configuration` for unreadable secrets. */
export function openDirectory(
  name: string,
  directories: Readonly<Record<string, DirectorySettings>>,
  environment: Environment,
): Directory {
  const settings = directorySettings(name, directories);
  const ca = settings.caFile === undefined ? undefined : readNamedFile(settings.caFile);
  const called = `The directory ${name}`;
  if (settings.kind === 'ldap' || settings.kind === 'active-directory')
    return openLdap(name, settings, { called, ca, password: readSecret(settings.bindPassword, environment) });
  const { url, authorization, adapter } = providerOf(settings, { name: called, ca, environment });
  const using = async <Result>(
    signal: AbortSignal | undefined,
    ask: (client: ProviderClient) => Promise<Result>,
  ) => {
    // A base URL keeps its last segment only with a trailing slash.
    const base = new URL(url.endsWith('/') ? url : `${url}/`);
    const client = new ProviderClient({ name: called, url: base, ca, authorization, signal });
    try {
      return await ask(client);
    } finally {
      await client.close();
    }
  };
  return {
    name,
    rules: settings,
    async read({ signal }) {
      const { read } = await adapter();
      return await using(signal, read);
    },
    async lookUp(asked, { signal }) {
      const { find } = await adapter();
      const { askEach } = await import('../directories/provider-users.ts');
      return await using(signal, (client) => askEach(client, asked, find));
    },
  };
}

/** Uses the first server that responds. */
function openLdap(
  name: string,
  settings: LdapSettings,
  { called, ca, password }: { called: string; ca: string | undefined; password: Secret },
): Directory {
  const { url: urls, startTls, bindDn, base: bases, groups = [], ...rest } = settings;
  const source = async (): Promise<LdapSource> => {
    const { readFilter } = await import('../directories/ldap-users.ts');
    return {
      name: called,
      isActiveDirectory: settings.kind === 'active-directory',
      bases,
      groups,
      filter: readFilter(settings.filter, `directories.${name}.filter`),
      disabledFilter:
        settings.disabledFilter === undefined
          ? undefined
          : readFilter(settings.disabledFilter, `directories.${name}.disabledFilter`),
      idAttribute: settings.idAttribute,
      loginAttributes: settings.loginAttribute,
      mailAttribute: settings.mailAttribute,
    };
  };
  const using = async <Result>(
    signal: AbortSignal | undefined,
    ask: (connection: LdapConnection) => Promise<Result>,
  ) => {
    const { LdapConnection } = await import('../directories/ldap-connection.ts');
    for (const [index, url] of urls.entries()) {
      let connection: LdapConnection | undefined;
      try {
        connection = await LdapConnection.open({ name: called, url: new URL(url), startTls, ca, signal });
        await connection.bind(bindDn, password);
      } catch (error) {
        connection?.close();
        const isLast = index === urls.length - 1;
        if (isLast || !(error instanceof TokenctlError) || error.code !== 'target_unreachable') throw error;
        continue;
      }
      try {
        return await ask(connection);
      } finally {
        connection.close();
      }
    }
    throw new Error('a directory without a server');
  };
  return {
    name,
    rules: { ...rest, bases: bases.map((base) => normalizedName(base) ?? base) },
    async read({ now, signal }) {
      const { readLdapUsers } = await import('../directories/ldap-users.ts');
      const from = await source();
      return await using(signal, (connection) => readLdapUsers(connection, from, now));
    },
    async lookUp(asked, { now, signal }) {
      const { findLdapUsers } = await import('../directories/ldap-users.ts');
      const from = await source();
      return await using(signal, (connection) => findLdapUsers(connection, from, { asked, now }));
    },
  };
}

function providerOf(
  settings: Exclude<DirectorySettings, LdapSettings>,
  { name, ca, environment }: { name: string; ca: string | undefined; environment: Environment },
): Provider {
  const common = { name, ca };
  const { url } = settings;
  switch (settings.kind) {
    case 'scim': {
      const token = readSecret(settings.token, environment);
      const { paging } = settings;
      return {
        url,
        authorization: () => Promise.resolve(new Secret(`Bearer ${token.reveal()}`)),
        async adapter() {
          const { findScimUsers: find, readScimUsers } = await import('../directories/scim.ts');
          return { read: (client) => readScimUsers(client, { paging }), find };
        },
      };
    }
    case 'entra': {
      const { tenant, clientId, loginUrl } = settings;
      const credential = { secret: readSecret(settings.clientSecret, environment) };
      const tokenUrl = new URL(`${loginUrl.replace(/\/$/, '')}/${tenant}/oauth2/v2.0/token`);
      const scope = `${new URL(url).origin}/.default`;
      return {
        url,
        authorization: () => clientCredentialsToken({ ...common, tokenUrl, clientId, credential, scope }),
        async adapter() {
          const { findGraphUsers: find, readGraphUsers: read } = await import(
            '../directories/microsoft-graph.ts'
          );
          return { read, find };
        },
      };
    }
    case 'okta':
      return {
        url,
        authorization: oktaAuthorization(settings, { ...common, environment }),
        async adapter() {
          const { findOktaUsers: find, readOktaUsers: read } = await import('../directories/okta.ts');
          return { read, find };
        },
      };
    case 'google': {
      const account = readServiceAccount(settings.serviceAccount.file, environment);
      const { administrator: subject, customer } = settings;
      const scope = 'https://www.googleapis.com/auth/admin.directory.user.readonly';
      return {
        url,
        authorization: () => serviceAccountToken({ ...common, ...account, subject, scope }),
        async adapter() {
          const { findGoogleUsers: find, readGoogleUsers } = await import(
            '../directories/google-workspace.ts'
          );
          return { read: (client) => readGoogleUsers(client, { customer }), find };
        },
      };
    }
    case 'keycloak': {
      const { realm, clientId } = settings;
      const credential = { secret: readSecret(settings.clientSecret, environment) };
      const path = `realms/${encodeURIComponent(realm)}/protocol/openid-connect/token`;
      const tokenUrl = new URL(`${url.replace(/\/$/, '')}/${path}`);
      return {
        url,
        authorization: () => clientCredentialsToken({ ...common, tokenUrl, clientId, credential }),
        async adapter() {
          const { findKeycloakUsers, readKeycloakUsers } = await import('../directories/keycloak.ts');
          return {
            read: (client) => readKeycloakUsers(client, { realm }),
            find: findKeycloakUsers({ realm }),
          };
        },
      };
    }
  }
}

function oktaAuthorization(
  { url, token, clientId = '', privateKey, keyId }: Extract<DirectorySettings, { kind: 'okta' }>,
  { name, ca, environment }: { name: string; ca: string | undefined; environment: Environment },
): () => Promise<Secret> {
  if (token !== undefined) {
    const secret = readSecret(token, environment);
    return () => Promise.resolve(new Secret(`SSWS ${secret.reveal()}`));
  }
  const key = new Secret(readSecretFile(privateKey?.file ?? '', environment));
  const credential = { privateKey: key, ...(keyId !== undefined && { keyId }) };
  const tokenUrl = new URL(`${url.replace(/\/$/, '')}/oauth2/v1/token`);
  return () => clientCredentialsToken({ name, ca, tokenUrl, clientId, credential, scope: 'okta.users.read' });
}

/** The used members of Google's JSON key. */
function readServiceAccount(file: string, environment: Environment) {
  const text = readSecretFile(file, environment);
  let key: Record<string, unknown>;
  try {
    key = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw notAKey(file);
  }
  const { client_email: email, private_key: pem, private_key_id: keyId, token_uri: tokenUri } = key;
  if (typeof email !== 'string' || typeof pem !== 'string') throw notAKey(file);
  const tokenUrl = typeof tokenUri === 'string' ? tokenUri : 'https://oauth2.googleapis.com/token';
  if (!URL.canParse(tokenUrl)) throw notAKey(file);
  return {
    email,
    privateKey: new Secret(pem),
    keyId: typeof keyId === 'string' ? keyId : undefined,
    tokenUrl: new URL(tokenUrl),
  };
}

function notAKey(file: string): TokenctlError {
  return new TokenctlError('configuration', `The file ${file} is not a JSON key of a service account`, {
    hint: 'Create a key of type JSON for the service account in the Google Cloud console.',
  });
}

/** The text of a configured file, such as trusted authorities in PEM. Throws TokenctlError `configuration`. */
export function readNamedFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new TokenctlError('configuration', `The file ${file} cannot be read (${code})`, { cause });
  }
}

/** Throws `not_found` for an unknown name. */
export function directorySettings(
  name: string,
  directories: Readonly<Record<string, DirectorySettings>>,
): DirectorySettings {
  const settings = Object.hasOwn(directories, name) ? directories[name] : undefined;
  if (settings !== undefined) return settings;
  const known = Object.keys(directories);
  const near = nearestName(name, known);
  throw new TokenctlError('not_found', `The configuration has no directory named "${name}"`, {
    hint:
      near !== undefined
        ? `Did you mean "${near}"?`
        : known.length > 0
          ? `It has: ${known.join(', ')}.`
          : 'Add one to the section `directories`, as described in `tokenctl docs identity-providers`.',
  });
}

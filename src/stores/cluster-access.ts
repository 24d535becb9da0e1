import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { parse } from 'yaml';
import { type ConnectOptions, membersOf } from './store-client.ts';

export interface ClusterAccess extends ConnectOptions {
  readonly url: URL;
  /** The value of the Authorization header; null if a client certificate is used. */
  readonly authorization: Secret | null;
}

/** Where Kubernetes mounts a pod's service account. */
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const PLUGIN_TIMEOUT_MS = 30_000;

type Variables = Readonly<Record<string, string | undefined>>;

/** Reads the access of a pod to its cluster: its service account. Throws `configuration` outside a cluster. */
export function accessInCluster(name: string, environment: Variables, folder = ACCOUNT): ClusterAccess {
  const [host, port] = [environment['KUBERNETES_SERVICE_HOST'], environment['KUBERNETES_SERVICE_PORT']];
  if (!host || !port) {
    throw new TokenctlError('configuration', `${name}: this is not a pod in a cluster`, {
      hint: 'Outside of a cluster, set `kubeconfig`.',
    });
  }
  return {
    url: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    ca: readText(`${folder}/ca.crt`, name),
    authorization: bearer(readText(`${folder}/token`, name), name),
  };
}

/**
 * Reads the access to a cluster from a kubeconfig: the server, its authority, and a token, a token file, a
 * certificate, or a program that prints them (`exec`,
 * https://kubernetes.io/docs/reference/config-api/client-authentication.v1).
 * @param context By default the current one.
 * @throws TokenctlError `configuration`
 */
export async function accessByKubeconfig(
  file: string,
  { name, context, environment }: { name: string; context?: string | undefined; environment: Variables },
): Promise<ClusterAccess> {
  const wrong = (what: string) => new TokenctlError('configuration', `${name}: ${file} ${what}`);
  const config = membersOf(parsed(file, name));
  const entry = (list: string, of: unknown, member: string) => {
    const all = config[list];
    const found = Array.isArray(all) ? all.find((each) => membersOf(each)['name'] === of) : undefined;
    if (found === undefined) throw wrong(`has no ${member} named ${String(of)}`);
    return membersOf(membersOf(found)[member]);
  };
  const meant = entry('contexts', context ?? config['current-context'], 'context');
  const cluster = entry('clusters', meant['cluster'], 'cluster');
  const user = entry('users', meant['user'], 'user');
  if (cluster['insecure-skip-tls-verify'] === true)
    throw wrong('turns off verification of the server: set its CA instead');
  const server = cluster['server'];
  if (typeof server !== 'string' || !URL.canParse(server)) throw wrong('has no server address');
  const pem = (members: Readonly<Record<string, unknown>>, member: string) =>
    pemOf(members, member, { folder: dirname(file), name });
  const given =
    user['exec'] === undefined ? user : await runPlugin(membersOf(user['exec']), { name, file, environment });
  const { token, tokenFile } = given;
  const read = typeof tokenFile === 'string' ? readText(resolve(dirname(file), tokenFile), name) : token;
  const [cert, key] = [pem(given, 'client-certificate'), pem(given, 'client-key')];
  if (typeof read !== 'string' && (cert === undefined || key === undefined))
    throw wrong('has a user without a token, a certificate and key, or a program');
  const ca = pem(cluster, 'certificate-authority');
  return {
    url: new URL(server),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
    authorization: typeof read === 'string' ? bearer(read, name) : null,
  };
}

function bearer(token: string, name: string): Secret {
  const text = token.trim();
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new TokenctlError(
      'configuration',
      `${name}: its token is empty, or contains whitespace or non-ASCII characters`,
    );
  return new Secret(`Bearer ${text}`);
}

/** A member in base64, or the content of the file in another member. */
function pemOf(
  members: Readonly<Record<string, unknown>>,
  member: string,
  { folder, name }: { folder: string; name: string },
): string | undefined {
  const data = members[`${member}-data`];
  if (typeof data === 'string')
    return data.startsWith('-----') ? data : Buffer.from(data, 'base64').toString('utf8');
  const path = members[member];
  return typeof path === 'string' ? readText(resolve(folder, path), name) : undefined;
}

/** Runs a credential plugin. Its output is never quoted. */
async function runPlugin(
  plugin: Readonly<Record<string, unknown>>,
  { name, file, environment }: { name: string; file: string; environment: Variables },
): Promise<Readonly<Record<string, unknown>>> {
  const { apiVersion, command } = plugin;
  // kubectl writes null for missing values.
  const [args, env] = [plugin['args'] ?? [], plugin['env'] ?? []];
  if (typeof command !== 'string' || !Array.isArray(args) || !Array.isArray(env)) {
    throw new TokenctlError('configuration', `${name}: ${file} uses a credential program without a command`);
  }
  const more = env.map(
    (each) => [String(membersOf(each)['name']), String(membersOf(each)['value'])] as const,
  );
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  try {
    const { stdout } = await promisify(execFile)(
      // A command with a slash is relative to the file.
      command.includes('/') ? resolve(dirname(file), command) : command,
      args.map(String),
      {
        timeout: PLUGIN_TIMEOUT_MS,
        killSignal: 'SIGKILL',
        env: { ...environment, ...Object.fromEntries(more), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      },
    );
    const { token, clientCertificateData, clientKeyData } = membersOf(
      membersOf(JSON.parse(stdout))['status'],
    );
    if (typeof token !== 'string' && typeof clientCertificateData !== 'string') throw new Error('neither');
    return { token, 'client-certificate-data': clientCertificateData, 'client-key-data': clientKeyData };
  } catch {
    throw new TokenctlError('credentials_refused', `${name}: ${command} returned no credential`, {
      hint: 'Run it manually, as kubectl does. Its output is not shown here because it may contain a credential.',
    });
  }
}

function parsed(file: string, name: string): unknown {
  const text = readText(file, name);
  try {
    // Warnings would quote lines.
    return parse(text, { logLevel: 'silent' });
  } catch {
    throw new TokenctlError('configuration', `${name}: ${file} is not YAML`);
  }
}

function readText(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new TokenctlError('configuration', `${name}: ${path} cannot be read (${code})`, { cause });
  }
}

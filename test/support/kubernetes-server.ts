import { randomUUID } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { parse as parseYaml } from 'yaml';
import {
  agentOf,
  applyConflict,
  conflict,
  type Fields,
  fieldsOf,
  invalidPart,
  invalidPatch,
  managerOf,
  notFound,
  objectOf,
  type SecretObject,
  type StoredSecret,
  status,
} from './kubernetes-objects.ts';
import type { ownCa } from './own-ca.ts';
import { type StoreAnswer, type StoreRequest, storeServer } from './store-server.ts';

/**
 * A server that answers as the API server of Kubernetes does for Secrets. No real server was at hand: it is written from kubernetes.io
 * ("Kubernetes API Concepts", "Server-Side Apply", "Authenticating", "Using RBAC Authorization", the reference of Secret, of Status and of
 * `client-authentication`), and from its sources of July 2026 for statuses and texts of errors (`apimachinery/pkg/api/errors`,
 * `util/managedfields`, `apiserver/pkg/endpoints/handlers/patch.go`, `registry/generic/registry/store.go`). It was written without a look
 * at the client in `src/stores`.
 */
export async function kubernetesServer(options: {
  ca: ReturnType<typeof ownCa>;
  namespaces?: readonly string[];
}) {
  const { ca, namespaces = ['ci'] } = options;
  const cluster = new Cluster(namespaces);
  const { cert, key } = ca.issue('kube-apiserver');
  const tls = { cert, key, ca: ca.cert, requestCert: true, rejectUnauthorized: false };
  const server = await storeServer((request) => cluster.answer(request), { tls });
  return Object.assign(cluster, { server });
}

/** What a user may do with Secrets in a namespace. */
export interface Rule {
  readonly namespace: string;
  readonly verbs: readonly ('get' | 'create' | 'patch' | 'update' | 'delete' | 'list')[];
  /** Which ones; all where not given. It does not restrict `create`. */
  readonly names?: readonly string[];
}

class Cluster {
  /** The names of users by their bearer tokens. */
  readonly tokens = new Map<string, string>();
  /** By the names of users; those of client certificates are their common names. */
  readonly rules = new Map<string, Rule[]>();
  readonly #namespaces: ReadonlySet<string>;
  readonly #secrets = new Map<string, StoredSecret>();
  #version = 1000;

  constructor(namespaces: readonly string[]) {
    this.#namespaces = new Set(namespaces);
  }

  /** Writes a Secret as `kubectl create` or `kubectl edit` does: as an update of all of it. Values are plain text. */
  put(
    at: string,
    data: Readonly<Record<string, string>>,
    { manager = 'kubectl-edit', ...other }: { manager?: string; type?: string; immutable?: boolean } = {},
  ): void {
    const [namespace = '', name = ''] = at.split('/');
    const fields = fieldsOf({ stringData: data, type: this.#secrets.get(at)?.fields.get('.type'), ...other });
    this.#update(this.#secrets.get(at) ?? this.#made(namespace, name), fields, manager);
  }

  delete(at: string): void {
    this.#secrets.delete(at);
  }

  /** The values as plain text; null without the Secret. */
  stored(at: string): Readonly<Record<string, string>> | null {
    const secret = this.#secrets.get(at);
    if (secret === undefined) return null;
    const data = objectOf(secret).data ?? {};
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** The managers that own a key, as `kubectl get --show-managed-fields` tells them. */
  owners(at: string, key: string): readonly string[] {
    const managers = this.#secrets.get(at)?.managers ?? [];
    return managers.filter(({ paths }) => paths.has(`.data.${key}`)).map((each) => each.manager);
  }

  answer(request: StoreRequest): StoreAnswer {
    const { method, url } = request;
    const found = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(?:\/([^/]+))?$/.exec(url.pathname);
    const [, namespace = '', name] =
      found?.map((part) => (part === undefined ? part : decodeURIComponent(part))) ?? [];
    const user = this.#userOf(request);
    if (user === null) return status(401, 'Unauthorized', 'Unauthorized');
    if (found === null) return status(404, 'NotFound', 'the server could not find the requested resource');
    const verb = {
      GET: name === undefined ? 'list' : 'get',
      POST: 'create',
      PATCH: 'patch',
      PUT: 'update',
      DELETE: 'delete',
    }[method];
    const refused = this.#refused(user, { verb: verb ?? method.toLowerCase(), namespace, name });
    if (refused !== null) return refused;
    if (method === 'GET' && name !== undefined) {
      const secret = this.#secrets.get(`${namespace}/${name}`);
      return secret === undefined ? notFound(name) : { status: 200, body: objectOf(secret) };
    }
    if (method === 'POST' && name === undefined) return this.#create(request, namespace);
    if (method === 'PATCH' && name !== undefined) return this.#apply(request, { namespace, name, user });
    return status(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  }

  /** Null for credentials that are not valid. Without any, everyone is `system:anonymous`. */
  #userOf({ headers, message }: StoreRequest): string | null {
    const socket = message.socket as TLSSocket;
    const certificate = socket.getPeerCertificate();
    const name = certificate?.subject?.CN;
    if (name !== undefined) return socket.authorized ? String(name) : null;
    if (headers.authorization === undefined) return 'system:anonymous';
    return this.tokens.get(/^Bearer (.+)$/.exec(headers.authorization)?.[1] ?? '') ?? null;
  }

  #refused(
    user: string,
    { verb, namespace, name }: { verb: string; namespace: string; name: string | undefined },
  ): StoreAnswer | null {
    const isAllowed = (this.rules.get(user) ?? []).some(
      (rule) =>
        rule.namespace === namespace &&
        rule.verbs.some((each) => each === verb) &&
        (rule.names === undefined || (name !== undefined && rule.names.includes(name))),
    );
    if (isAllowed) return null;
    const subject = name === undefined ? 'secrets' : `secrets ${JSON.stringify(name)}`;
    const text = `User "${user}" cannot ${verb} resource "secrets" in API group "" in the namespace "${namespace}"`;
    return status(403, 'Forbidden', `${subject} is forbidden: ${text}`, { name, kind: 'secrets' });
  }

  #create(request: StoreRequest, namespace: string): StoreAnswer {
    const object = JSON.parse(request.body) as SecretObject;
    const name = object.metadata?.name;
    if (name === undefined) {
      return status(
        422,
        'Invalid',
        'Secret "" is invalid: metadata.name: Required value: name or generateName is required',
      );
    }
    if (!this.#namespaces.has(namespace))
      return status(404, 'NotFound', `namespaces "${namespace}" not found`);
    if (this.#secrets.has(`${namespace}/${name}`)) {
      return status(409, 'AlreadyExists', `secrets "${name}" already exists`, { name, kind: 'secrets' });
    }
    const invalid = invalidPart(object, name);
    if (invalid !== null) return invalid;
    if (object.metadata?.resourceVersion !== undefined) {
      return status(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
    }
    const manager = request.url.searchParams.get('fieldManager') ?? agentOf(request);
    const secret = this.#made(namespace, name);
    this.#update(secret, fieldsOf(object), manager);
    return { status: 201, body: objectOf(secret) };
  }

  #apply(
    request: StoreRequest,
    { namespace, name, user }: { namespace: string; name: string; user: string },
  ): StoreAnswer {
    if (request.headers['content-type'] !== 'application/apply-patch+yaml') {
      return status(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format');
    }
    const manager = request.url.searchParams.get('fieldManager') ?? '';
    const isForced = request.url.searchParams.get('force') === 'true';
    const object = parseYaml(request.body) as SecretObject;
    const { metadata = {} } = object;
    const invalid = invalidPatch(object, { manager, namespace, name });
    if (invalid !== null) return invalid;
    const live = this.#secrets.get(`${namespace}/${name}`);
    if (live === undefined) {
      if (metadata.uid !== undefined) {
        return conflict(
          name,
          `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
        );
      }
      const refused = this.#refused(user, { verb: 'create', namespace, name: undefined });
      if (refused !== null) return refused;
      if (!this.#namespaces.has(namespace))
        return status(404, 'NotFound', `namespaces "${namespace}" not found`);
      const made = this.#made(namespace, name);
      return (
        this.#merge(made, { manager, isForced, applied: fieldsOf(object) }) ?? {
          status: 201,
          body: objectOf(made),
        }
      );
    }
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== String(live.version)) {
      return conflict(
        name,
        'the object has been modified; please apply your changes to the latest version and try again',
      );
    }
    if (metadata.uid !== undefined && metadata.uid !== live.uid) {
      return status(
        422,
        'Invalid',
        `Secret "${name}" is invalid: metadata.uid: Invalid value: "${metadata.uid}": field is immutable`,
      );
    }
    return (
      this.#merge(live, { manager, isForced, applied: fieldsOf(object) }) ?? {
        status: 200,
        body: objectOf(live),
      }
    );
  }

  #made(namespace: string, name: string): StoredSecret {
    const times = { created: new Date().toISOString(), version: 0 };
    return { namespace, name, uid: randomUUID(), ...times, fields: new Map(), managers: [] };
  }

  #store(secret: StoredSecret): void {
    this.#version += 1;
    secret.version = this.#version;
    if (!secret.fields.has('.type')) secret.fields.set('.type', 'Opaque');
    secret.managers = secret.managers.filter(({ paths }) => paths.size > 0);
    this.#secrets.set(`${secret.namespace}/${secret.name}`, secret);
  }

  /** As PUT and POST: whoever changes a field owns it from then on, alone. */
  #update(secret: StoredSecret, fields: Fields, manager: string): void {
    if (!fields.has('.type')) fields.set('.type', 'Opaque');
    const changed = [...fields]
      .filter(([path, value]) => secret.fields.get(path) !== value)
      .map(([path]) => path);
    for (const { paths } of secret.managers) {
      for (const path of paths) if (changed.includes(path) || !fields.has(path)) paths.delete(path);
    }
    for (const path of changed) managerOf(secret, manager, 'Update').paths.add(path);
    secret.fields = new Map(fields);
    this.#store(secret);
  }

  /** Server-side apply; null where it was done. */
  #merge(
    secret: StoredSecret,
    { manager, isForced, applied }: { manager: string; isForced: boolean; applied: Fields },
  ): StoreAnswer | null {
    const name = secret.name;
    const own = managerOf(secret, manager, 'Apply');
    const others = secret.managers.filter((each) => each !== own);
    const contested = [...applied].flatMap(([path, value]) =>
      secret.fields.get(path) === value
        ? []
        : others.filter(({ paths }) => paths.has(path)).map((by) => ({ path, by })),
    );
    if (contested.length > 0 && !isForced) return applyConflict(contested);
    const before = JSON.stringify([[...secret.fields], [...own.paths]]);
    const fields = new Map(secret.fields);
    for (const path of own.paths) {
      // What it applied before and leaves out now is removed, unless someone else owns it too.
      if (!applied.has(path) && others.every(({ paths }) => !paths.has(path))) fields.delete(path);
    }
    for (const [path, value] of applied) fields.set(path, value);
    const isChanged = (path: string) => fields.get(path) !== secret.fields.get(path);
    if (
      secret.fields.get('.immutable') === true &&
      [...fields.keys(), ...secret.fields.keys()].some((path) => path.startsWith('.data.') && isChanged(path))
    ) {
      return status(
        422,
        'Invalid',
        `Secret "${name}" is invalid: data: Forbidden: field is immutable when \`immutable\` is set`,
      );
    }
    if (secret.fields.has('.type') && fields.has('.type') && isChanged('.type')) {
      return status(
        422,
        'Invalid',
        `Secret "${name}" is invalid: type: Invalid value: "${String(fields.get('.type'))}": field is immutable`,
      );
    }
    for (const { path, by } of contested) by.paths.delete(path);
    own.paths.clear();
    for (const path of applied.keys()) own.paths.add(path);
    secret.fields = fields;
    // An apply that changes nothing makes no new version.
    if (JSON.stringify([[...fields], [...own.paths]]) !== before) this.#store(secret);
    return null;
  }
}

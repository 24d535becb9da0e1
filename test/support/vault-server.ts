import { randomUUID } from 'node:crypto';
import type { ServerOptions } from 'node:https';
import { type StoreAnswer, type StoreRequest, storeServer } from './store-server.ts';

/**
 * A server that answers as HashiCorp Vault and OpenBao do, so far as a client of the KV engine, version 2, meets it. No real server was at
 * hand: it is written from the documentation of both (developer.hashicorp.com/vault/api-docs and openbao.org/api-docs: `secret/kv/kv-v2`,
 * `auth/approle`, `auth/kubernetes`, `auth/token`, "HTTP status codes", "Namespaces"), and from OpenBao's sources of August 2026 for
 * statuses and texts of errors (`builtin/logical/kv/path_data.go`, `credential/approle/path_login.go`, `sdk/logical/response_util.go`,
 * `http/handler.go`). It was written without a look at the client in `src/stores`. It keeps numbers as they were written; the real
 * servers read them as floating point numbers of 64 bits.
 */
export async function vaultServer(options: {
  readonly tls?: ServerOptions;
  /** Where the engine is mounted, in each namespace. */
  readonly mount?: string;
  /** Besides the root namespace, which has the name ''. */
  readonly namespaces?: readonly string[];
}) {
  const vault = new Vault(options);
  const server = await storeServer((request) => vault.answer(request), options);
  return Object.assign(vault, { server });
}

/** What a policy allows: a path as in a policy file, with * at its end for all below it. */
export interface Policy {
  readonly path: string;
  readonly capabilities: readonly ('create' | 'read' | 'update' | 'patch' | 'delete')[];
}

interface TokenOfVault {
  readonly policies: readonly Policy[];
  readonly namespace: string;
  /** How often it may still be used; undefined without a limit. */
  uses?: number;
}

interface Version {
  /** As JSON: numbers keep their digits. */
  readonly data: string;
  readonly created: string;
  deletion: string;
  isDestroyed: boolean;
}

interface Role {
  readonly namespace: string;
  readonly policies: readonly Policy[];
  /** How often its tokens may be used. */
  readonly uses?: number;
}

class Vault {
  readonly mount: string;
  readonly namespaces: ReadonlySet<string>;
  readonly tokens = new Map<string, TokenOfVault>();
  /** By role id. A secret id that may be used once is removed with its use. */
  readonly appRoles = new Map<string, Role & { readonly secretIds: Map<string, number> }>();
  /** By name; which tokens of service accounts each takes. */
  readonly kubernetesRoles = new Map<string, Role & { readonly jwts: ReadonlySet<string> }>();
  isSealed = false;
  /** Set on a standby node that does not forward requests itself. */
  activeNode: URL | undefined;
  /** Of the engine: writes without `cas` are refused. */
  casRequired = false;
  /** Of the engine, in milliseconds: when a new version ends by itself. */
  deleteVersionAfter: number | undefined;
  readonly #secrets = new Map<string, Version[]>();

  constructor({ mount = 'secret', namespaces = [] }: { mount?: string; namespaces?: readonly string[] }) {
    this.mount = mount;
    this.namespaces = new Set(['', ...namespaces]);
  }

  /** Gives a token out. */
  token(policies: readonly Policy[], { namespace = '', uses }: { namespace?: string; uses?: number } = {}) {
    const token = `hvs.${randomUUID()}`;
    this.tokens.set(token, { policies, namespace, ...(uses !== undefined && { uses }) });
    return token;
  }

  /** Writes a new version, as someone else would. */
  put(path: string, data: object | string, namespace = ''): void {
    const deletion = this.deleteVersionAfter;
    const version = {
      data: typeof data === 'string' ? data : JSON.stringify(data),
      created: new Date().toISOString(),
      deletion: deletion === undefined ? '' : new Date(Date.now() + deletion).toISOString(),
      isDestroyed: false,
    };
    const versions = this.#secrets.get(`${namespace}:${path}`);
    if (versions === undefined) this.#secrets.set(`${namespace}:${path}`, [version]);
    else versions.push(version);
  }

  /** A soft delete of the newest version, or with `destroy` its end for good. */
  delete(path: string, { namespace = '', destroy = false } = {}): void {
    const version = this.#newest(`${namespace}:${path}`);
    if (version === undefined) throw new Error(`Nothing at ${path}`);
    if (destroy) version.isDestroyed = true;
    else version.deletion = new Date().toISOString();
  }

  /** Deletes all versions and the metadata. */
  forget(path: string, namespace = ''): void {
    this.#secrets.delete(`${namespace}:${path}`);
  }

  /** The data of the newest version as it was written, and its number. */
  stored(path: string, namespace = ''): { readonly data: string; readonly version: number } | null {
    const versions = this.#secrets.get(`${namespace}:${path}`) ?? [];
    const newest = versions.at(-1);
    return newest === undefined ? null : { data: newest.data, version: versions.length };
  }

  answer(request: StoreRequest): StoreAnswer {
    const { pathname, search } = request.url;
    if (!pathname.startsWith('/v1/')) return { status: 404, body: '404 page not found\n' };
    if (this.isSealed) return failure(503, 'Vault is sealed');
    if (this.activeNode !== undefined) {
      return { status: 307, headers: { location: new URL(pathname + search, this.activeNode).href } };
    }
    const header = request.headers['x-vault-namespace'];
    const namespace = String(header ?? '').replace(/^\/|\/$/g, '');
    if (!this.namespaces.has(namespace)) return failure(404, 'namespace not found');
    const path = decodeURIComponent(pathname.slice('/v1/'.length));
    if (request.method === 'PATCH' && mediaType(request) !== 'application/merge-patch+json') {
      return failure(
        415,
        `PATCH requires Content-Type of application/merge-patch+json, provided ${mediaType(request)}`,
      );
    }
    let body: unknown = {};
    try {
      if (request.body !== '') body = parseExact(request.body);
    } catch {
      return failure(400, 'error parsing JSON');
    }
    const login = /^auth\/(.+)\/login$/.exec(path)?.[1];
    if (login !== undefined) return this.#login(login, namespace, body);
    const denied = this.#denied(request, { path, namespace });
    if (denied !== null) return denied;
    if (path === 'auth/token/revoke-self') {
      if (request.method !== 'POST' && request.method !== 'PUT') return failure(405, 'unsupported operation');
      this.tokens.delete(tokenOf(request));
      return { status: 204 };
    }
    const prefix = `${this.mount}/data/`;
    if (path.startsWith(prefix) && path.length > prefix.length) {
      return this.#data(request.method, {
        at: `${namespace}:${path.slice(prefix.length)}`,
        body,
        version: Number(request.url.searchParams.get('version') ?? 0),
      });
    }
    if (path.startsWith(`${this.mount}/`)) {
      const warning = 'Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate';
      return { status: 404, body: { ...ENVELOPE, warnings: [`${warning} API endpoints to use.`] } };
    }
    return failure(404, `no handler for route "${path}". route entry not found.`);
  }

  /** Refuses a token that is unknown, used up or of another namespace, and what no policy allows. */
  #denied(request: StoreRequest, { path, namespace }: { path: string; namespace: string }) {
    const denied = failure(403, '1 error occurred:\n\t* permission denied\n\n');
    const token = this.tokens.get(tokenOf(request));
    if (token === undefined) return denied;
    if (token.uses !== undefined) {
      token.uses -= 1;
      if (token.uses <= 0) this.tokens.delete(tokenOf(request));
    }
    // Of the policy `default`, which every token has.
    if (path === 'auth/token/revoke-self') return null;
    if (token.namespace !== namespace) return denied;
    const at = `${namespace}:${path.slice(`${this.mount}/data/`.length)}`;
    const capability = {
      GET: 'read',
      POST: this.#secrets.has(at) ? 'update' : 'create',
      PUT: this.#secrets.has(at) ? 'update' : 'create',
      PATCH: 'patch',
      DELETE: 'delete',
    }[request.method];
    const isAllowed = token.policies.some(
      (policy) =>
        (policy.path.endsWith('*') ? path.startsWith(policy.path.slice(0, -1)) : policy.path === path) &&
        policy.capabilities.some((each) => each === capability),
    );
    return isAllowed ? null : denied;
  }

  #login(mount: string, namespace: string, body: unknown): StoreAnswer {
    const field = (name: string) => String((body as Record<string, unknown>)[name] ?? '').trim();
    if (mount === 'approle') {
      if (field('role_id') === '') return failure(400, 'missing role_id');
      const role = this.appRoles.get(field('role_id'));
      if (role === undefined || role.namespace !== namespace) {
        return failure(400, 'invalid role or secret ID');
      }
      if (field('secret_id') === '') return failure(400, 'missing secret_id');
      const uses = role.secretIds.get(field('secret_id'));
      if (uses === undefined) return failure(400, 'invalid role or secret ID');
      // A secret id whose last use another login took at the same instant is quoted by the server.
      if (uses <= 0) return failure(400, `invalid secret_id "${field('secret_id')}"`);
      role.secretIds.set(field('secret_id'), uses - 1);
      return this.#loggedIn(role);
    }
    if (mount === 'kubernetes') {
      const role = this.kubernetesRoles.get(field('role'));
      if (role === undefined || role.namespace !== namespace) {
        return failure(400, `invalid role name "${field('role')}"`);
      }
      if (field('jwt') === '') return failure(400, 'missing jwt');
      if (!role.jwts.has(field('jwt'))) return failure(403, 'service account name not authorized');
      return this.#loggedIn(role);
    }
    return failure(403, 'permission denied');
  }

  #loggedIn({ policies, namespace, uses }: Role): StoreAnswer {
    const token = this.token(policies, { namespace, ...(uses !== undefined && { uses }) });
    const auth = {
      ...{ client_token: token, accessor: randomUUID(), policies: ['default'], token_policies: ['default'] },
      ...{ metadata: null, lease_duration: 1200, renewable: true, entity_id: '', token_type: 'service' },
    };
    return { status: 200, body: { ...ENVELOPE, auth } };
  }

  #newest(at: string): Version | undefined {
    return this.#secrets.get(at)?.at(-1);
  }

  #data(method: string, { at, body, version }: { at: string; body: unknown; version: number }): StoreAnswer {
    const versions = this.#secrets.get(at) ?? [];
    const number = version === 0 ? versions.length : version;
    const found = versions[number - 1];
    switch (method) {
      case 'GET': {
        if (found === undefined) return failure(404);
        const metadata = metadataOf(found, number);
        if (isGone(found)) return { status: 404, body: { ...ENVELOPE, data: { data: null, metadata } } };
        return { status: 200, body: exactText({ data: parseExact(found.data), metadata }) };
      }
      case 'POST':
      case 'PUT':
      case 'PATCH':
        return this.#write(method, { at, body, versions });
      case 'DELETE': {
        const newest = versions.at(-1);
        if (newest !== undefined && !isGone(newest)) newest.deletion = new Date().toISOString();
        return { status: 204 };
      }
      default:
        return failure(405, 'unsupported operation');
    }
  }

  #write(
    method: string,
    { at, body, versions }: { at: string; body: unknown; versions: readonly Version[] },
  ): StoreAnswer {
    const { data, options } = body as { data?: Record<string, unknown>; options?: Record<string, unknown> };
    if (data === undefined || data === null) return failure(400, 'no data provided');
    const newest = versions.at(-1);
    if (method === 'PATCH' && newest === undefined) return failure(404);
    const cas = options?.['cas'];
    if (cas === undefined) {
      if (this.casRequired) return failure(400, 'check-and-set parameter required for this call');
    } else if (!/^\d+$/.test(plain(cas))) return failure(400, 'error parsing check-and-set parameter');
    else if (Number(plain(cas)) !== versions.length) {
      return failure(400, 'check-and-set parameter did not match the current version');
    }
    if (method === 'PATCH' && newest !== undefined && isGone(newest)) {
      return { status: 404, body: { ...ENVELOPE, data: metadataOf(newest, versions.length) } };
    }
    const isPatch = method === 'PATCH' && newest !== undefined;
    const content = isPatch ? mergePatch(parseExact(newest.data), data) : data;
    const [namespace = '', ...rest] = at.split(':');
    this.put(rest.join(':'), exact(content), namespace);
    const written = this.#newest(at);
    if (written === undefined) throw new Error('nothing was written');
    return {
      status: 200,
      body: { ...ENVELOPE, data: metadataOf(written, versions.length + (newest === undefined ? 1 : 0)) },
    };
  }
}

const ENVELOPE = {
  ...{ request_id: '0', lease_id: '', renewable: false, lease_duration: 0 },
  ...{ data: null, wrap_info: null, warnings: null, auth: null },
};

function failure(status: number, ...errors: string[]): StoreAnswer {
  return { status, body: { errors } };
}

function mediaType({ headers }: StoreRequest): string {
  return (
    String(headers['content-type'] ?? '')
      .split(';')[0]
      ?.trim() ?? ''
  );
}

/** Either header counts. */
function tokenOf({ headers }: StoreRequest): string {
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
  return String(headers['x-vault-token'] ?? bearer ?? '');
}

function isGone({ deletion, isDestroyed }: Version): boolean {
  return isDestroyed || (deletion !== '' && Date.parse(deletion) <= Date.now());
}

function metadataOf({ created, deletion, isDestroyed }: Version, version: number) {
  return {
    ...{ created_time: created, custom_metadata: null, deletion_time: deletion },
    ...{ destroyed: isDestroyed, version },
  };
}

/** RFC 7396. */
function mergePatch(before: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(before) ? { ...before } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Digits);
}

/** A number as it was written. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Parses JSON; numbers keep their digits. */
function parseExact(text: string): unknown {
  const reviver = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value;
  return JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
}

function plain(value: unknown): string {
  return value instanceof Digits ? value.text : String(value);
}

function exact(value: unknown): string {
  if (value instanceof Digits) return value.text;
  if (Array.isArray(value)) return `[${value.map(exact).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  return `{${Object.entries(value)
    .map(([name, each]) => `${JSON.stringify(name)}:${exact(each)}`)
    .join(',')}}`;
}

function exactText(data: unknown): string {
  return exact({ ...ENVELOPE, data });
}

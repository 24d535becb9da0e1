import type { StoreAnswer, StoreRequest } from './store-server.ts';

/** The fields of a Secret by their paths, as field managers own them: `.data.token`, `.type`. */
export type Fields = Map<string, unknown>;

export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly time: string;
  readonly paths: Set<string>;
}

export interface StoredSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly created: string;
  version: number;
  fields: Fields;
  managers: Manager[];
}

export interface SecretObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly unknown[];
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly immutable?: boolean;
}

export function managerOf(secret: StoredSecret, manager: string, operation: Manager['operation']): Manager {
  const found = secret.managers.find((each) => each.manager === manager && each.operation === operation);
  if (found !== undefined) return found;
  const made = { manager, operation, time: new Date().toISOString(), paths: new Set<string>() };
  secret.managers.push(made);
  return made;
}

export function agentOf({ headers }: StoreRequest): string {
  return String(headers['user-agent'] ?? 'unknown').split('/')[0] ?? '';
}

/** `stringData` is merged over `data`. */
export function fieldsOf({
  data,
  stringData,
  type,
  immutable,
  metadata,
}: Omit<SecretObject, 'type'> & { type?: unknown }): Fields {
  const encoded = Object.entries(stringData ?? {}).map(
    ([key, value]) => [key, Buffer.from(value).toString('base64')] as const,
  );
  return new Map<string, unknown>([
    ...[...Object.entries(data ?? {}), ...encoded].map(([key, value]) => [`.data.${key}`, value] as const),
    ...Object.entries(metadata?.labels ?? {}).map(
      ([key, value]) => [`.metadata.labels.${key}`, value] as const,
    ),
    ...Object.entries(metadata?.annotations ?? {}).map(
      ([key, value]) => [`.metadata.annotations.${key}`, value] as const,
    ),
    ...(type === undefined ? [] : [['.type', type] as const]),
    ...(immutable === undefined ? [] : [['.immutable', immutable] as const]),
  ]);
}

export function objectOf({ namespace, name, uid, created, version, fields, managers }: StoredSecret) {
  const under = (prefix: string) => {
    const found = [...fields].filter(([path]) => path.startsWith(prefix));
    return found.length === 0
      ? undefined
      : Object.fromEntries(found.map(([path, value]) => [path.slice(prefix.length), String(value)]));
  };
  return {
    ...{ kind: 'Secret', apiVersion: 'v1' },
    metadata: {
      ...{ name, namespace, uid, resourceVersion: String(version), creationTimestamp: created },
      labels: under('.metadata.labels.'),
      annotations: under('.metadata.annotations.'),
      managedFields: managers.map(({ manager, operation, time, paths }) => ({
        ...{ manager, operation, apiVersion: 'v1', time, fieldsType: 'FieldsV1' },
        fieldsV1: fieldsV1([...paths]),
      })),
    },
    data: under('.data.'),
    ...(fields.get('.immutable') === true && { immutable: true }),
    type: String(fields.get('.type')),
  };
}

function fieldsV1(paths: readonly string[]): object {
  const tree: Record<string, unknown> = {};
  for (const path of paths) {
    const [, top = '', ...rest] = path.split('.');
    const under = (tree[`f:${top}`] ?? {}) as Record<string, unknown>;
    tree[`f:${top}`] = under;
    if (rest.length > 0) under[`f:${rest.join('.')}`] = {};
  }
  return tree;
}

/** Keys and values that no Secret may have. */
export function invalidPart({ data = {} }: SecretObject, name: string): StoreAnswer | null {
  for (const [key, value] of Object.entries(data)) {
    if (!/^[-._a-zA-Z0-9]{1,253}$/.test(key)) {
      return status(
        422,
        'Invalid',
        `Secret "${name}" is invalid: data[${key}]: Invalid value: "${key}": a valid config key must consist of alphanumeric characters, '-', '_' or '.'`,
      );
    }
    if (typeof value !== 'string' || Buffer.from(value, 'base64').toString('base64') !== value) {
      return status(
        400,
        'BadRequest',
        'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
      );
    }
  }
  return null;
}

export function status(code: number, reason: string, message: string, details: object = {}): StoreAnswer {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    details,
    code,
  };
  return { status: code, body };
}

export function notFound(name: string): StoreAnswer {
  return status(404, 'NotFound', `secrets "${name}" not found`, { name, kind: 'secrets' });
}

export function conflict(name: string, text: string): StoreAnswer {
  const message = `Operation cannot be fulfilled on secrets "${name}": ${text}`;
  return status(409, 'Conflict', message, { name, kind: 'secrets' });
}

export function applyConflict(
  contested: readonly { readonly path: string; readonly by: Manager }[],
): StoreAnswer {
  const nameOf = ({ manager, operation, time }: Manager) =>
    operation === 'Apply' ? `"${manager}"` : `"${manager}" using v1 at ${time.replace(/\.\d+Z$/, 'Z')}`;
  const texts = contested.map(({ path, by }) => `conflict with ${nameOf(by)}: ${path}`);
  const count = texts.length === 1 ? '1 conflict' : `${texts.length} conflicts`;
  return status(409, 'Conflict', `Apply failed with ${count}: ${texts.join('\n')}`, {
    causes: contested.map(({ path, by }) => ({
      ...{ reason: 'FieldManagerConflict', message: `conflict with ${nameOf(by)}`, field: path },
    })),
  });
}

/** What an apply must not have. */
export function invalidPatch(
  object: SecretObject,
  { manager, namespace, name }: { manager: string; namespace: string; name: string },
): StoreAnswer | null {
  if (manager === '') {
    const text =
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch';
    return status(422, 'Invalid', text);
  }
  if (manager.length > 128) {
    return status(
      422,
      'Invalid',
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    );
  }
  const { metadata = {} } = object;
  if (object.apiVersion !== 'v1' || object.kind !== 'Secret') {
    return status(
      400,
      'BadRequest',
      `invalid object type: ${object.apiVersion ?? ''}, Kind=${object.kind ?? ''}`,
    );
  }
  if (metadata.managedFields !== undefined) {
    return status(400, 'BadRequest', 'metadata.managedFields must be nil');
  }
  if (metadata.name !== undefined && metadata.name !== name) {
    return status(
      400,
      'BadRequest',
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    return status(
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  return invalidPart(object, name);
}

import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { nearestName } from '../domain/nearest-name.ts';
import { duration, secretReference } from './value-schemas.ts';

/** The placeholder for the consumer's name in a store's place, so that one store serves many. */
const CONSUMER = '{consumer}';

const inFile = z.strictObject({ file: z.string().min(1) });

const address = z
  .url({ protocol: /^https?$/, error: 'must be a URL that starts with https://' })
  .refine((text) => {
    const { username, password, search, hash } = new URL(text);
    return username === '' && password === '' && search === '' && hash === '';
  }, 'must be a base URL, without a user name, a query or a fragment');

/** Names separated by slashes, without `..`. */
const vaultPath = z
  .string()
  .refine(
    (text) => text.split('/').every((each) => each !== '' && each !== '.' && each !== '..'),
    'must be a path such as ci/awx, without a leading or trailing slash',
  );

/** The name of a Kubernetes object (RFC 1123). */
const objectName = z
  .string()
  .refine(
    (text) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(text.replace(CONSUMER, 'x')),
    'is not a valid Kubernetes name: use lowercase letters, digits, dots and dashes',
  );

const key = z
  .string()
  .regex(/^[\w.{}-]{1,253}$/, 'is not a valid key name: use letters, digits, dots, dashes and underscores')
  .default('token');

const command = z.array(z.string().min(1)).min(1, 'must be a program and its arguments');

const login = z.union(
  [
    z.strictObject({ token: secretReference }),
    z.strictObject({
      appRole: z.strictObject({
        roleId: z.string().min(1),
        secretId: secretReference,
        mount: vaultPath.default('approle'),
      }),
    }),
    z.strictObject({
      kubernetes: z.strictObject({
        role: z.string().min(1),
        jwt: inFile.default({ file: '/var/run/secrets/kubernetes.io/serviceaccount/token' }),
        mount: vaultPath.default('kubernetes'),
      }),
    }),
  ],
  { error: 'must have exactly one login method: token, appRole or kubernetes' },
);

/** The `stores` section: where tokens are stored for the programs that use them. */
export const storesSchema = z.record(
  z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'is not a valid store name: use letters, digits, dots and dashes'),
  z.discriminatedUnion(
    'kind',
    [
      z.strictObject({ kind: z.literal('file'), file: z.string().min(1) }),
      z.strictObject({
        kind: z.literal('vault'),
        url: address,
        /** A namespace of Vault Enterprise or OpenBao. */
        namespace: z.string().min(1).optional(),
        /** The mount path of the KV engine, version 2. */
        mount: vaultPath.default('secret'),
        path: vaultPath,
        key,
        login,
        caFile: z.string().min(1).optional(),
      }),
      z.strictObject({
        kind: z.literal('kubernetes'),
        namespace: objectName,
        secret: objectName,
        key,
        /** By default, the pod's service account is used. */
        kubeconfig: z
          .strictObject({ file: z.string().min(1), context: z.string().min(1).optional() })
          .optional(),
      }),
      z.strictObject({
        kind: z.literal('command'),
        /** Receives the value on standard input. */
        write: command,
        /** Prints the value, or nothing if none is stored. */
        read: command,
        timeout: duration({ min: '1s', max: '10m' }).default(30),
      }),
    ],
    { error: 'must have one of these kinds: file, vault, kubernetes, command' },
  ),
);

export type StoreSettings = z.output<typeof storesSchema>[string];

/** The place of a store for a consumer. Two consumers with the same place would overwrite each other. */
export function storeFor(settings: StoreSettings, consumer: string): StoreSettings {
  const named = (text: string) => text.replaceAll(CONSUMER, consumer);
  switch (settings.kind) {
    case 'file':
      return { ...settings, file: named(settings.file) };
    case 'vault':
      return { ...settings, path: named(settings.path), key: named(settings.key) };
    case 'kubernetes':
      return { ...settings, secret: named(settings.secret), key: named(settings.key) };
    case 'command':
      return { ...settings, write: settings.write.map(named), read: settings.read.map(named) };
  }
}

/** Throws `not_found` for an unknown name. */
export function storeSettings(name: string, stores: Readonly<Record<string, StoreSettings>>): StoreSettings {
  const found = Object.hasOwn(stores, name) ? stores[name] : undefined;
  if (found !== undefined) return found;
  const near = nearestName(name, Object.keys(stores));
  throw new TokenctlError('not_found', `The configuration has no store named "${name}"`, {
    hint: near === undefined ? 'Add it to the section `stores`.' : `Did you mean "${near}"?`,
  });
}

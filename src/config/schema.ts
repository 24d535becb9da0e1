import { z } from 'zod';
import { nearestName } from '../domain/nearest-name.ts';
import { parseVerifier } from '../domain/note-key.ts';
import { brokerSchema } from './broker.ts';
import { directoriesSchema } from './directories.ts';
import { type JobKind, jobsSchema, ownerNoticesSchema, schedulerSchema } from './jobs.ts';
import { policySchema } from './policy.ts';
import { signalsSchema } from './signals.ts';
import { storesSchema } from './stores.ts';
import { type DatabaseSetting, databaseSetting, duration, secretReference } from './value-schemas.ts';

/** The allowed names of a context or group: it is a key in the file, and part of a file name. */
export const contextNamePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The formats for exported entries of the audit log. */
export const exportFormats = ['ocsf', 'ecs', 'cef', 'syslog', 'jsonl'] as const;

/** The name of the context from the environment's variables. A file cannot define it. */
export const ENVIRONMENT_CONTEXT = 'environment';
/** The name of the context from `--database-file`. */
export const DATABASE_FILE_CONTEXT = 'database';

const RESERVED_NAMES: readonly string[] = [ENVIRONMENT_CONTEXT, DATABASE_FILE_CONTEXT];

export function isGroupName(name: string): boolean {
  return contextNamePattern.test(name) && !RESERVED_NAMES.includes(name);
}

/** `/api`, `/api/v2`, `/api/gateway/v1` and `/api/controller/v2` at the end of a URL. */
const API_PATH = /\/api(\/(gateway\/|controller\/)?(v\d{1,2})?)?\/*$/;

const baseUrl = z.string().superRefine((value, { addIssue }) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined;
  if (parsed === undefined && /^https?:\/\//i.test(value)) {
    addIssue(unreadableUrl(value));
  } else if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    addIssue('must be a URL that starts with https:// or http://');
  } else if (parsed.username !== '' || parsed.password !== '') {
    addIssue('must not contain a user name or password: use username, password or token');
  } else if (parsed.search !== '' || parsed.hash !== '') {
    addIssue('must be a base URL, without a query or fragment');
  }
});

/** A controller's URL, without the path of its API, which users copy from a browser or another program. */
const url = baseUrl.transform((value) => value.replace(API_PATH, ''));

/** Why a URL is invalid although it starts like one. */
function unreadableUrl(value: string): string {
  const [, port] = /^[^:]+:\/\/[^/?#]*:([^/?#:\]]*)(?:[/?#]|$)/.exec(value) ?? [];
  return port !== undefined && !(/^\d+$/.test(port) && Number(port) <= 65_535)
    ? 'must be a URL, but its port is invalid: ports range from 1 to 65535'
    : 'must be a URL, but its host name is invalid';
}

/** A platform gateway's session cache. `redis` refers to the secret with one or several URLs. */
const sessionCache = z.strictObject({
  redis: secretReference,
  /** KEY_PREFIX in the gateway's settings. */
  keyPrefix: z.string().max(100).default('gateway'),
  caFile: z.string().min(1).optional(),
  certFile: z.string().min(1).optional(),
  keyFile: z.string().min(1).optional(),
  verifyHostname: z.boolean().default(true),
});

/** A proxy in plain text without a password, else where its URL is stored; `none` for a direct connection. */
const plainProxy = baseUrl.refine(
  (text) => /^https?:/i.test(text),
  'must be http://HOST:PORT or https://HOST:PORT',
);
const proxy = z.union(
  [
    z.literal('none'),
    plainProxy,
    secretReference,
    z.strictObject({ url: z.union([plainProxy, secretReference]), caFile: z.string().min(1).optional() }),
  ],
  {
    error:
      'specifies the proxy: `none`, its URL without a password, or { file: PATH } or { env: VARIABLE } that contains the URL; { url: …, caFile: PATH } also sets its CA',
  },
);

export type ProxySettings = z.output<typeof proxy>;

/** The database contexts of a platform's components. */
const componentDatabases = z.strictObject({
  gateway: z.string().min(1).optional(),
  controller: z.string().min(1).optional(),
});

const publicKey = z.string().superRefine((text, { addIssue }) => {
  try {
    parseVerifier(text);
  } catch {
    addIssue('must be a public key, as `tokenctl plan key` prints it: name+id+key');
  }
});

/** The four-eyes rule, for all contexts or for one, whose settings override those for all. */
const approval = z.strictObject({
  required: z.boolean().optional(),
  /** Public keys by the approvers' login names. */
  approvers: z
    .record(z.string().regex(/^[\w.@\\-]{1,64}$/, 'is not a login name'), publicKey)
    .refine((keys) => new Set(Object.values(keys)).size === Object.keys(keys).length, {
      error: 'has the same key twice: each approver needs a separate key',
    })
    .optional(),
  aloneUpTo: z.number().int().min(0, 'must be a number of tokens, 0 or more').optional(),
  validFor: duration({ min: '1m', max: '90d' }).optional(),
  breakGlass: z.boolean().optional(),
});

export type ApprovalSettings = z.output<typeof approval>;

const settings = z
  .strictObject({
    url: url.optional(),
    database: databaseSetting.optional(),
    cache: sessionCache.optional(),
    username: z.string().min(1).optional(),
    token: secretReference.optional(),
    /** The ids of the unrevoked tokens that `login` created for this context. The last one is in use. */
    loginTokens: z.array(z.int().positive()).optional(),
    password: secretReference.optional(),
    caFile: z.string().min(1).optional(),
    proxy: proxy.optional(),
    verifyTls: z.boolean().optional(),
    /** Whether the credential may be sent to another machine over plain HTTP or without verifying the certificate. */
    insecure: z.boolean().optional(),
    /** The component of a platform. By default all that store tokens. */
    component: z.enum(['gateway', 'controller']).optional(),
    /** The context for the database of the same controller, or of each component. Printed commands then contain it. */
    databaseContext: z.union([z.string().min(1), componentDatabases]).optional(),
    approval: approval.optional(),
  })
  .superRefine(
    ({ url: _url, approval: _, database, cache, token, password, username, ...tls }, { addIssue }) => {
      if (token !== undefined && password !== undefined)
        addIssue('has both a token and a password: remove one');
      if (password !== undefined && username === undefined) addIssue('has a password but no username');
      if (cache !== undefined && database === undefined) {
        addIssue({ code: 'custom', path: ['cache'], message: "requires a gateway's database" });
      }
      if (database === undefined) return;
      const beside = Object.entries({ token, password, username, ...tls }).filter(
        ([, value]) => value !== undefined,
      );
      for (const [key] of beside) {
        addIssue({ code: 'custom', path: [key], message: 'requires a url, but this context has a database' });
      }
    },
  );

export const contextSchema = settings.transform((context, { addIssue }): ContextSettings => {
  const { url, database, cache, ...rest } = context;
  if (database !== undefined && url === undefined) {
    return { database, ...(cache && { cache }), ...(rest.approval && { approval: rest.approval }) };
  }
  if (url !== undefined && database === undefined) return { url, ...rest };
  addIssue(
    url === undefined ? 'has neither a url nor a database' : 'has both a url and a database: remove one',
  );
  return z.NEVER;
});

/** A context whose controller is reached over its REST API. */
export type RestContext = Omit<z.output<typeof settings>, 'database' | 'url' | 'cache'> & {
  readonly url: string;
  readonly database?: undefined;
};

/** A context whose controller is reached in its database. */
export interface DatabaseContext {
  readonly url?: undefined;
  readonly database: DatabaseSetting;
  /** A platform gateway's session cache. */
  readonly cache?: z.output<typeof sessionCache>;
  readonly approval?: z.output<typeof approval>;
}

/** A context: one way to reach one controller. */
type ContextSettings = RestContext | DatabaseContext;

const address = z.string().superRefine((text, { addIssue }) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'udp:') {
    addIssue('must not be udp:// because datagram delivery is not confirmed');
  } else if (url === undefined || !['tcp:', 'tls:', 'https:', 'http:'].includes(url.protocol)) {
    addIssue('must be tls://HOST:PORT, tcp://HOST:PORT, https://… or http://…');
  } else if (url.username !== '' || url.password !== '') {
    addIssue('must not contain a user name or password: use token');
  }
});

/** The sink that must accept each intent before the act. */
const required = z
  .strictObject({
    to: address.optional(),
    /** A file to append to, instead of a URL. */
    file: z.string().min(1).optional(),
    format: z.enum(exportFormats).default('jsonl'),
    caFile: z.string().min(1).optional(),
    token: secretReference.optional(),
    timeout: duration({ min: '1s', max: '10m' }).default(5),
  })
  .transform(({ to, file, ...rest }, { addIssue }) => {
    const place = to ?? file;
    if (place !== undefined && (to === undefined || file === undefined)) return { to: place, ...rest };
    addIssue(place === undefined ? 'has neither `to` nor a file' : 'has both `to` and a file: remove one');
    return z.NEVER;
  });

/** The `auditLog` section: the file or database of the log, and its requirements. */
const auditLogSchema = z
  .strictObject({
    file: z.string().min(1).optional(),
    database: databaseSetting.optional(),
    /** The source of the key that signs checkpoints. */
    key: z
      .strictObject({ file: z.string().min(1) })
      .transform(({ file }) => file)
      .optional(),
    requireReason: z.boolean().optional(),
    requireTicket: z.boolean().optional(),
    required: required.optional(),
  })
  .transform(({ file, database, ...rest }, { addIssue }) => {
    // Neither is set if the environment defines no folder for the default file.
    if (database === undefined) return { file, database, ...rest };
    if (file === undefined) return { database, file, ...rest };
    addIssue('has both a file and a database: remove one');
    return z.NEVER;
  });

export type AuditLogSettings = z.output<typeof auditLogSchema>;

/** Groups of contexts: each group's context names, in the order in which commands work in them. */
const groupsSchema = z.record(
  z
    .string()
    .regex(contextNamePattern, 'is not a valid group name: use letters, digits, dots and dashes')
    .refine((name) => !RESERVED_NAMES.includes(name), 'is a reserved name: choose another one'),
  z.array(z.string().min(1)).min(1, 'must have at least one context'),
);

/** All sections except `jobs`, whose kinds belong to other folders. */
const sections = z.strictObject({
  currentContext: z.string().min(1).optional(),
  contexts: z.record(
    z.string().regex(contextNamePattern, 'is not a valid context name: use letters, digits, dots and dashes'),
    contextSchema,
  ),
  groups: groupsSchema.prefault({}),
  auditLog: auditLogSchema,
  policy: policySchema.default({}),
  ownerNotices: ownerNoticesSchema.optional(),
  directories: directoriesSchema.default({}),
  /** The four-eyes rule for all contexts, and the source of an approver's private key. */
  approval: approval.extend({ key: secretReference.optional() }).optional(),
  /** Where tokens are stored for the programs that use them. */
  stores: storesSchema.default({}),
  scheduler: schedulerSchema,
  signals: signalsSchema.optional(),
  /** Tokens for pipelines that have an identity. */
  broker: brokerSchema.optional(),
});

/** The shape of the merged configuration, and of the configuration file. */
export const configurationSchema = (jobKinds: readonly JobKind[]) =>
  sections
    .extend({ jobs: jobsSchema(jobKinds).default({}) })
    .superRefine(checkApprovers)
    .superRefine(checkDatabaseContexts)
    .superRefine(checkBroker)
    .superRefine(checkGroups);

type Sections = z.output<typeof sections>;

function checkApprovers({ contexts, approval: forAll }: Sections, { addIssue }: z.RefinementCtx): void {
  const own = Object.entries(contexts).map(([name, { approval }]) => ({
    path: ['contexts', name, 'approval'],
    approval,
  }));
  for (const { path, approval } of [{ path: ['approval'], approval: forAll }, ...own]) {
    if (approval === undefined) continue;
    const required = approval.required ?? forAll?.required ?? true;
    const approvers = approval.approvers ?? forAll?.approvers ?? {};
    if (!required || Object.keys(approvers).length > 0) continue;
    addIssue({ code: 'custom', path, message: 'names no approvers' });
  }
}

function checkDatabaseContexts({ contexts }: Sections, { addIssue }: z.RefinementCtx): void {
  for (const [name, context] of Object.entries(contexts)) {
    for (const [place, other] of namedDatabases(context)) {
      if (Object.hasOwn(contexts, other) && contexts[other]?.database !== undefined) continue;
      const message = `there is no database context named "${other}"`;
      addIssue({ code: 'custom', path: ['contexts', name, 'databaseContext', ...place], message });
    }
  }
}

function checkBroker({ contexts, broker }: Sections, { addIssue }: z.RefinementCtx): void {
  for (const [name, { context, user }] of Object.entries(broker?.rules ?? {})) {
    const settings = Object.hasOwn(contexts, context) ? contexts[context] : undefined;
    const near = nearestName(context, Object.keys(contexts));
    const [at, message] =
      settings === undefined
        ? [
            'context',
            `there is no context "${context}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
          ]
        : settings.database === undefined
          ? [
              'user',
              user !== undefined &&
                'goes with a database: over REST, tokens are of the account of the context',
            ]
          : ['user', user === undefined && 'is missing: a database does not know whose the tokens are to be'];
    if (message !== false) addIssue({ code: 'custom', path: ['broker', 'rules', name, at], message });
  }
}

function checkGroups({ contexts, groups }: Sections, { addIssue }: z.RefinementCtx): void {
  for (const [group, members] of Object.entries(groups)) {
    if (Object.hasOwn(contexts, group)) {
      addIssue({ code: 'custom', path: ['groups', group], message: 'is also the name of a context' });
    }
    for (const [index, name] of members.entries()) {
      if (Object.hasOwn(contexts, name)) continue;
      const near = nearestName(name, Object.keys(contexts));
      const message = `there is no context named "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
      addIssue({ code: 'custom', path: ['groups', group, index], message });
    }
  }
}

/** The names in a context's `databaseContext`, each with its path there. */
export function namedDatabases(context: ContextSettings): [place: string[], name: string][] {
  if (context.url === undefined) return [];
  const { databaseContext } = context;
  if (typeof databaseContext === 'string') return [[[], databaseContext]];
  return Object.entries(databaseContext ?? {}).map(([component, name = '']) => [[component], name]);
}

/** The settings of a run, after all layers were merged and validated. */
export type Settings = z.output<ReturnType<typeof configurationSchema>>;

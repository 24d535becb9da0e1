import { z } from 'zod';
import type { User } from '../../domain/token.ts';
import type { AuthenticationSettings } from '../../operations/ports/target-parts.ts';
import { refuseAbsent } from '../absent-settings.ts';
import {
  type ActivityDialect,
  type ActivityEntry,
  type Api,
  type Dialect,
  id,
  instant,
  namedUser,
  type Query,
  type Reader,
  readerOf,
  type SettingsDialect,
} from './api.ts';
import { listFilter, within } from './queries.ts';
import { parseJson } from './responses.ts';

/** The kind of identity provider of each authenticator, by id; null for local accounts. */
type ProviderKinds = ReadonlyMap<number, string | null>;

const PROVIDER_KINDS: Readonly<Record<string, string>> = {
  ldap: 'ldap',
  radius: 'enterprise',
  tacacs: 'enterprise',
};
const OTHER_PROVIDER = 'social';

/** The keys are ids of authenticators. */
const authenticatorLinks = z
  .record(z.string(), z.unknown())
  .transform((links) => Object.keys(links).map(Number));

const user = z.object({
  id,
  username: z.string(),
  is_superuser: z.boolean(),
  is_platform_auditor: z.boolean().optional(),
  /** The name of `is_platform_auditor` in the earliest gateways. */
  is_system_auditor: z.boolean().optional(),
  is_active: z.boolean().optional(),
  last_login: instant.nullish(),
  created: instant.nullish(),
  associated_authenticators: authenticatorLinks.catch([]).default([]),
  /** The name of `associated_authenticators` in earlier gateways. */
  authenticators: z.array(z.number()).catch([]).default([]),
});

/** One page holds more authenticators than any gateway has. */
const authenticatorPage = z.object({ results: z.array(z.object({ id, type: z.string() })) });

async function createUserReader(api: Api): Promise<Reader<User>> {
  const kinds = await readProviderKinds(api);
  return (body) => readUser(body, kinds);
}

function readUser(body: unknown, kinds: ProviderKinds = new Map()): User | null {
  const { data } = user.safeParse(body);
  if (data === undefined) return null;
  const { is_platform_auditor: platform, is_system_auditor: system } = data;
  const links = [...data.associated_authenticators, ...data.authenticators];
  const providers = links.map((link) => (kinds.has(link) ? kinds.get(link) : OTHER_PROVIDER));
  return {
    id: data.id,
    username: data.username,
    isActive: data.is_active ?? null,
    isSuperuser: data.is_superuser,
    isSystemAuditor: platform ?? system ?? false,
    externalAccount: providers.find((kind) => kind !== null) ?? null,
    lastLogin: data.last_login ?? null,
    ...(data.created != null && { created: data.created }),
  };
}

/** If the caller may not list authenticators (403, or 404 with any body), every linked user counts as external. */
async function readProviderKinds(api: Api): Promise<ProviderKinds> {
  const response = await api.send({ method: 'GET', path: 'authenticators/?page_size=200' });
  if (response.status === 403 || response.status === 404) return new Map();
  const { data } = authenticatorPage.safeParse(parseJson(response, api, 'the list of authenticators'));
  return new Map(data?.results.map((each) => [each.id, providerKind(each.type)]));
}

/** The controller's name for an authenticator's type, which is the Python path of its plugin. */
function providerKind(type: string): string | null {
  const plugin = type.slice(type.lastIndexOf('.') + 1);
  if (plugin === 'local') return null;
  return PROVIDER_KINDS[plugin] ?? OTHER_PROVIDER;
}

/** The gateway's name for access tokens. */
const TOKEN_TYPE = 'oauth2accesstoken';

/** The controller's names for the object types that both have. */
const OBJECT_TYPES: Readonly<Record<string, string>> = {
  [TOKEN_TYPE]: 'o_auth2_access_token',
  oauth2refreshtoken: 'o_auth2_refresh_token',
  oauth2application: 'o_auth2_application',
  preference: 'setting',
};

const fields = z.record(z.string(), z.unknown()).catch({});

const activityEntry = z
  .object({
    id,
    created: instant,
    operation: z.string(),
    content_type_model: z.string().nullable(),
    object_id: z.string().nullish(),
    changes: z
      .object({ added_fields: fields, removed_fields: fields, changed_fields: fields })
      .partial()
      .nullable()
      .catch(null),
    summary_fields: z.object({ created_by: namedUser.nullish().catch(null) }).default({ created_by: null }),
  })
  .transform((body): ActivityEntry => {
    const { content_type_model: type, summary_fields: summary, changes } = body;
    const objectId = Number(body.object_id ?? Number.NaN);
    const hasObjectId = Number.isSafeInteger(objectId);
    return {
      id: body.id,
      at: body.created,
      operation: body.operation,
      actor: summary.created_by ?? null,
      object: OBJECT_TYPES[type ?? ''] ?? type ?? '',
      changes: {
        ...changes?.added_fields,
        ...changes?.removed_fields,
        ...changes?.changed_fields,
        ...(hasObjectId && { id: objectId }),
      },
      tokenIds: type === TOKEN_TYPE && hasObjectId ? [objectId] : [],
    };
  });

/** An entry keeps its object's type and id, even after a deletion. Changes are in the controller's form. */
const activity: ActivityDialect = {
  path: 'activitystream/',
  queries: ({ actorIds, tokenIds, ...window }) => {
    const common: Query = [
      ...within('created', window),
      ...(tokenIds === undefined ? [] : [['content_type__model', TOKEN_TYPE] as const]),
    ];
    const actors = listFilter('created_by__id', actorIds?.map(String));
    const tokens = listFilter('object_id', tokenIds?.map(String));
    return actors.flatMap((actor) => tokens.map((token) => [...common, ...actor, ...token]));
  },
  latestOf: (userId) => [
    ['created_by__id', String(userId)],
    ['order_by', '-created,-id'],
  ],
  read: readerOf(activityEntry),
};

/** Settings that no gateway has. Its `gateway_access_token_expiration` is for tokens between components. */
const ABSENT = {
  DISABLE_LOCAL_AUTH: null,
  OAUTH2_PROVIDER: null,
  SESSIONS_PER_USER: null,
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: null,
};

/** The settings of all sections. A setting has the same name in each section. */
const allSettings = z
  .object({
    gateway_basic_auth_enabled: z.boolean(),
    ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
    SESSION_COOKIE_AGE: z.number().int(),
    // Only recent gateways limit sessions. The second name is older.
    MAX_EXTRA_SESSIONS_PER_USER: z.number().int().optional(),
    SESSIONS_PER_USER: z.number().int().optional(),
    LOGIN_REDIRECT_OVERRIDE: z.string().nullish(),
  })
  .transform(
    (values): AuthenticationSettings => ({
      AUTH_BASIC_ENABLED: values.gateway_basic_auth_enabled,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: values.ALLOW_OAUTH2_FOR_EXTERNAL_USERS,
      SESSION_COOKIE_AGE: values.SESSION_COOKIE_AGE,
      MAX_EXTRA_SESSIONS_PER_USER: values.MAX_EXTRA_SESSIONS_PER_USER ?? values.SESSIONS_PER_USER ?? null,
      ...ABSENT,
      LOGIN_REDIRECT_OVERRIDE: values.LOGIN_REDIRECT_OVERRIDE ?? '',
    }),
  );

/** A PUT to `all` accepts some of the names, and sets all of them or none. */
const settings: SettingsDialect = {
  path: 'settings/all/',
  method: 'PUT',
  read: readerOf(allSettings),
  toBody: (change, present) => {
    const limit = ['MAX_EXTRA_SESSIONS_PER_USER', 'SESSIONS_PER_USER'].find((name) => name in present);
    refuseAbsent(change, { ...ABSENT, ...(limit === undefined && { MAX_EXTRA_SESSIONS_PER_USER: null }) });
    const {
      AUTH_BASIC_ENABLED: gateway_basic_auth_enabled,
      MAX_EXTRA_SESSIONS_PER_USER: sessions,
      ...others
    } = change;
    const named = Object.entries({
      gateway_basic_auth_enabled,
      ...others,
      ...(limit !== undefined && { [limit]: sessions }),
    });
    return Object.fromEntries(named.filter(([, value]) => (value ?? null) !== null));
  },
};

/** The API of a platform gateway (2.5 and later). */
export const gatewayDialect: Dialect = {
  name: 'gateway',
  showsLastUse: true,
  readUser: (body) => readUser(body),
  createUserReader,
  activity,
  settings,
};

import { z } from 'zod';
import type { User } from '../../domain/token.ts';
import type { ActivitySelector } from '../../operations/ports/target-parts.ts';
import { refuseAbsent } from '../absent-settings.ts';
import {
  type ActivityDialect,
  type ActivityEntry,
  type Dialect,
  id,
  instant,
  namedUser,
  type Query,
  readerOf,
  type SettingsDialect,
} from './api.ts';
import { listFilter, within } from './queries.ts';

const user = z
  .object({
    id,
    username: z.string(),
    is_superuser: z.boolean(),
    is_system_auditor: z.boolean().default(false),
    is_active: z.boolean().optional(),
    external_account: z.string().nullish(),
    last_login: instant.nullish(),
    created: instant.nullish(),
  })
  .transform(
    (body): User => ({
      id: body.id,
      username: body.username,
      isActive: body.is_active ?? null,
      isSuperuser: body.is_superuser,
      isSystemAuditor: body.is_system_auditor,
      externalAccount: body.external_account || null,
      lastLogin: body.last_login ?? null,
      ...(body.created != null && { created: body.created }),
    }),
  );

const readUser = readerOf(user);

const TOKEN_TYPE = 'o_auth2_access_token';
/** How many tokens one query of the activity stream contains: each adds a text search and a filter. */
const TOKENS_PER_QUERY = 40;

const linkedTokens = z.array(z.object({ id })).catch([]);

const activityEntry = z
  .object({
    id,
    timestamp: instant,
    operation: z.string(),
    object1: z.string(),
    changes: z.record(z.string(), z.unknown()).catch({}),
    summary_fields: z
      .object({
        actor: namedUser.nullable().catch(null).default(null),
        o_auth2_access_token: linkedTokens.default([]),
      })
      .default({ actor: null, o_auth2_access_token: [] }),
  })
  .transform(
    (body): ActivityEntry => ({
      id: body.id,
      at: body.timestamp,
      operation: body.operation,
      // The controller shows a deleted user without an id.
      actor: body.summary_fields.actor,
      object: body.object1,
      changes: body.changes,
      tokenIds: [
        ...body.summary_fields.o_auth2_access_token.map((token) => token.id),
        ...tokenIdInChanges(body),
      ],
    }),
  );

const activity: ActivityDialect = {
  path: 'activity_stream/',
  queries: activityQueries,
  latestOf: (userId) => [
    ['actor__id', String(userId)],
    ['order_by', '-timestamp,-id'],
  ],
  read: readerOf(activityEntry),
};

function activityQueries({ actorIds, tokenIds, ...window }: ActivitySelector): Query[] {
  const period = within('timestamp', window);
  const actors = listFilter('actor__id', actorIds?.map(String));
  const tokens = tokenIds === undefined ? [[]] : inGroups([...new Set(tokenIds)]).map(tokenFilter);
  return actors.flatMap((actor) => tokens.map((token) => [...period, ...actor, ...token]));
}

function inGroups(ids: readonly number[]): number[][] {
  const count = Math.ceil(ids.length / TOKENS_PER_QUERY);
  return Array.from({ length: count }, (_, group) =>
    ids.slice(group * TOKENS_PER_QUERY, (group + 1) * TOKENS_PER_QUERY),
  );
}

/** The controller removes the links of a deleted token. Only the text of `changes` still contains its id. */
function tokenFilter(ids: readonly number[]): Query {
  return [
    ['object1', TOKEN_TYPE],
    ['or__o_auth2_access_token__id__in', ids.join(',')],
    ...ids.flatMap((id) => [
      // The controller writes a space after the colon; other programs may not.
      ['or__changes__contains', `"id": ${id}`] as const,
      ['or__changes__contains', `"id":${id}`] as const,
    ]),
  ];
}

function tokenIdInChanges(body: { object1: string; changes: Readonly<Record<string, unknown>> }) {
  const { id: changed } = body.changes;
  return body.object1 === TOKEN_TYPE && typeof changed === 'number' ? [changed] : [];
}

/** A lifetime in seconds. The controller stores a partial object unchanged, and reads a missing key as 0. */
const seconds = z.number().int().nonnegative().default(0);

/**
 * Some versions lack some of these settings. After 24.6.1, ALLOW_OAUTH2_FOR_EXTERNAL_USERS is missing [seen
 * on devel of 2024-10].
 */
const settingsSection = z.object({
  AUTH_BASIC_ENABLED: z.boolean(),
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean().nullable().default(null),
  SESSION_COOKIE_AGE: z.number().int(),
  SESSIONS_PER_USER: z.number().int(),
  DISABLE_LOCAL_AUTH: z.boolean(),
  OAUTH2_PROVIDER: z.object({
    ACCESS_TOKEN_EXPIRE_SECONDS: seconds,
    REFRESH_TOKEN_EXPIRE_SECONDS: seconds,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: seconds,
  }),
  LOGIN_REDIRECT_OVERRIDE: z
    .string()
    .nullable()
    .transform((text) => text ?? ''),
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
});

/** One section of the controller's settings has the names and values that tokenctl uses. */
const settings: SettingsDialect = {
  path: 'settings/authentication/',
  method: 'PATCH',
  read: readerOf(settingsSection.transform((data) => ({ ...data, MAX_EXTRA_SESSIONS_PER_USER: null }))),
  toBody: (change) => {
    refuseAbsent(change, { MAX_EXTRA_SESSIONS_PER_USER: null });
    return change;
  },
};

/** The API of a controller (24.6), standalone or behind a platform gateway. */
export const controllerDialect: Dialect = {
  name: 'controller',
  showsLastUse: false,
  readUser,
  createUserReader: () => Promise.resolve(readUser),
  activity,
  settings,
};

import type { Layout } from '../layout.ts';
import { TABLES } from '../tables.ts';
import { gatewayChanges, insertEntries } from './entries.ts';

/** A controller's changes of an access token `t`, its application's name in `t.application`: JSON as it spaces it. */
const CONTROLLER_FIELDS = `'{"description": ' || to_json(t.description::text)
    || ', "application": ' || coalesce(to_json(t.application::text)::text, 'null')
    || ', "scope": ' || to_json(t.scope::text) || ', "id": ' || t.id || ', "token": "************"}'`;

/** A gateway's fields of an access token `t`: it keeps values as strings, and masks tokens so. */
const GATEWAY_FIELDS = `jsonb_build_object('id', t.id::text, 'user', t.user_id::text,
    'application', t.application_id::text, 'scope', t.scope, 'description', t.description,
    'created', t.created, 'modified', t.modified, 'expires', t.expires,
    'source_refresh_token', t.source_refresh_token_id::text, 'token', '$encrypted$')`;

/** The same of a refresh token `t`. */
const GATEWAY_REFRESH_FIELDS = `jsonb_build_object('id', t.id::text, 'user', t.user_id::text,
    'application', t.application_id::text, 'access_token', t.access_token_id::text, 'revoked', t.revoked,
    'created', t.created, 'modified', t.modified, 'token', '$encrypted$')`;

/** SQL that notes the making of the access token in `token`, as insertToken has it. */
export function noteMadeToken(layout: Layout): string {
  return insertEntries(layout, {
    operation: 'create',
    about: 'access_token',
    id: 't.id',
    changes: layout === 'gateway' ? gatewayChanges('added_fields', GATEWAY_FIELDS) : CONTROLLER_FIELDS,
    from: 'FROM (SELECT token.*, token.created AS modified, NULL::text AS application FROM token) t RETURNING id',
  });
}

/**
 * SQL that notes the end of the access tokens in `taken`, before they go. A gateway tells all of a token, which
 * is read from its row: `taken` need not carry along what only an entry wants.
 */
export function noteEndedTokens(layout: Layout): string {
  const isGateway = layout === 'gateway';
  return insertEntries(layout, {
    operation: 'delete',
    about: 'access_token',
    id: 't.id',
    changes: isGateway ? gatewayChanges('removed_fields', GATEWAY_FIELDS) : CONTROLLER_FIELDS,
    from: isGateway
      ? `FROM ${TABLES.gateway.accessTokens} t WHERE t.id = ANY(ARRAY(SELECT k.id FROM taken k)) ORDER BY t.id`
      : 'FROM taken t ORDER BY t.id',
  });
}

/**
 * SQL of a further part of a statement, which notes the revocation of refresh tokens. Only a gateway does.
 *
 * @param from Rows `t` with the `id` of a refresh token and the `access_token_id` that it had.
 */
export function alsoNoteRevoked(layout: Layout, from: string): string {
  if (layout !== 'gateway') return '';
  const changed = `jsonb_build_object('revoked', jsonb_build_array(NULL, now()))
      || CASE WHEN t.access_token_id IS NULL THEN '{}'
        ELSE jsonb_build_object('access_token', jsonb_build_array(t.access_token_id::text, NULL)) END`;
  return `, refresh_entries AS (
      ${insertEntries(layout, {
        operation: 'update',
        about: 'refresh_token',
        id: 't.id',
        changes: gatewayChanges('changed_fields', changed),
        from: `FROM (${from}) t ORDER BY t.id`,
      })}
    )`;
}

/** The same for the refresh tokens in `meant` that are deleted. */
export function alsoNoteDeleted(layout: Layout): string {
  if (layout !== 'gateway') return '';
  return `, refresh_entries AS (
      ${insertEntries(layout, {
        operation: 'delete',
        about: 'refresh_token',
        id: 't.id',
        changes: gatewayChanges('removed_fields', GATEWAY_REFRESH_FIELDS),
        from: `FROM ${TABLES.gateway.refreshTokens} t WHERE t.id = ANY(ARRAY(SELECT m.id FROM meant m)) ORDER BY t.id`,
      })}
    )`;
}
